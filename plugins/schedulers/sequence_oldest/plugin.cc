/// schedulers/sequence_oldest.
#include "atoll/core/plugin.h"

#include "schedulers/sequence_oldest/oldest_provider.h"

namespace atl::schedulers {
namespace {

using OldestSchedulerPlugin = SequencePlugin<OldestProvider>;

}  // namespace

ATOLL_PLUGIN(
    OldestSchedulerPlugin,
    {.name = "schedulers/sequence_oldest",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Executes requests of sequences, batched across sequences, as sequence_batching with oldest "
             "says.",
     .provides = {provide<SchedulerProvider, &OldestSchedulerPlugin::provider>().minor(
                      SchedulerProvider::kOperatedMinor),
                  provide<MetricSource, &OldestSchedulerPlugin::provider>(),
                  provide<QueueMetrics, &OldestSchedulerPlugin::provider>()},
     .needs = {many<Memory>()},
     .options = kSequenceOptions});

}  // namespace atl::schedulers
