/// placement/first_fit: leases go to the first instance that has room.
#include "atoll/core/plugin.h"

#include "placement/first_fit/first_fit.h"

namespace atl::placement {
namespace {

class FirstFitPlugin final : public Plugin {
 public:
  explicit FirstFitPlugin(Host&) {}
  Placement& placement() noexcept { return placement_; }

 private:
  FirstFit placement_;
};

}  // namespace

ATOLL_PLUGIN(FirstFitPlugin, {.name = "placement/first_fit",
                              .version = "1.0.0",
                              .license = "Apache-2.0",
                              .help = "Gives a lease the first instance of its pool that has room for it.",
                              .provides = {provide<Placement, &FirstFitPlugin::placement>()}});

}  // namespace atl::placement
