/// schedulers/sequence_oldest.
#include "atoll/plugin.h"

#include "schedulers/sequence_oldest/oldest_provider.h"

namespace atl::schedulers {
namespace {

class OldestSchedulerPlugin final : public Plugin {
 public:
  explicit OldestSchedulerPlugin(Host& host) : provider_(sequence_provider_settings(host)) {}
  OldestProvider& provider() noexcept { return provider_; }

 private:
  OldestProvider provider_;
};

}  // namespace

ATOLL_PLUGIN(
    OldestSchedulerPlugin,
    {.name = "schedulers/sequence_oldest",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help =
         "Executes requests of sequences, batched across sequences, as sequence_batching with oldest says.",
     .provides = {provide<SchedulerProvider, &OldestSchedulerPlugin::provider>(),
                  provide<MetricSource, &OldestSchedulerPlugin::provider>()},
     .options = kSequenceOptions});

}  // namespace atl::schedulers
