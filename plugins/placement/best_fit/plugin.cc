/// placement/best_fit: leases go where they leave the least room.
#include "atoll/core/plugin.h"

#include "placement/best_fit/best_fit.h"

namespace atl::placement {
namespace {

class BestFitPlugin final : public Plugin {
 public:
  explicit BestFitPlugin(Host&) {}
  Placement& placement() noexcept { return placement_; }

 private:
  BestFit placement_;
};

}  // namespace

ATOLL_PLUGIN(BestFitPlugin,
             {.name = "placement/best_fit",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Gives a lease the instance of its pool that has the least quota left after it.",
              .provides = {provide<Placement, &BestFitPlugin::placement>()}});

}  // namespace atl::placement
