/// placement/spread: leases go where most room is.
#include "atoll/core/plugin.h"

#include "placement/spread/spread.h"

namespace atl::placement {
namespace {

class SpreadPlugin final : public Plugin {
 public:
  explicit SpreadPlugin(Host&) {}
  Placement& placement() noexcept { return placement_; }

 private:
  Spread placement_;
};

}  // namespace

ATOLL_PLUGIN(SpreadPlugin, {.name = "placement/spread",
                            .version = "1.0.0",
                            .license = "Apache-2.0",
                            .help = "Gives a lease the instance of its pool that has the most quota left.",
                            .provides = {provide<Placement, &SpreadPlugin::placement>()}});

}  // namespace atl::placement
