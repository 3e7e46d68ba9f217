// The plainest plugin there can be.
#include "atoll/core/plugin.h"

namespace {
class Good final : public atl::Plugin {
 public:
  explicit Good(atl::Host&) {}
};
}  // namespace

ATOLL_PLUGIN(Good,
             {.name = "lint/good", .version = "1.0.0", .license = "Apache-2.0", .help = "Does nothing."});
