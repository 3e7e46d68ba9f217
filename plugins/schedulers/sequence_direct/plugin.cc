/// schedulers/sequence_direct.
#include "atoll/plugin.h"

#include "schedulers/sequence_direct/direct_provider.h"

namespace atl::schedulers {
namespace {

class DirectSchedulerPlugin final : public Plugin {
 public:
  explicit DirectSchedulerPlugin(Host& host) : provider_(sequence_provider_settings(host)) {}
  DirectProvider& provider() noexcept { return provider_; }

 private:
  DirectProvider provider_;
};

}  // namespace

ATOLL_PLUGIN(
    DirectSchedulerPlugin,
    {.name = "schedulers/sequence_direct",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help =
         "Executes requests of sequences, each sequence in a row of its own of the batch, as sequence_batching with direct says.",
     .provides = {provide<SchedulerProvider, &DirectSchedulerPlugin::provider>(),
                  provide<MetricSource, &DirectSchedulerPlugin::provider>()},
     .options = kSequenceOptions});

}  // namespace atl::schedulers
