/// schedulers/sequence_direct.
#include "atoll/core/plugin.h"

#include "schedulers/sequence_direct/direct_provider.h"

namespace atl::schedulers {
namespace {

using DirectSchedulerPlugin = SequencePlugin<DirectProvider>;

}  // namespace

ATOLL_PLUGIN(
    DirectSchedulerPlugin,
    {.name = "schedulers/sequence_direct",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Executes requests of sequences, each sequence in a row of its own of the batches of an "
             "instance, as sequence_batching with direct says.",
     .provides = {provide<SchedulerProvider, &DirectSchedulerPlugin::provider>().minor(
                      SchedulerProvider::kOperatedMinor),
                  provide<MetricSource, &DirectSchedulerPlugin::provider>(),
                  provide<QueueMetrics, &DirectSchedulerPlugin::provider>()},
     .needs = {many<Memory>()},
     .options = kSequenceOptions});

}  // namespace atl::schedulers
