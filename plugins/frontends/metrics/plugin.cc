#include "atoll/plugin.h"

#include "atoll/memory.h"
#include "atoll/metrics.h"
#include "frontend.h"
#include "option_table.h"

namespace {

using atl::Memory;
using atl::MetricSource;
using atl::ModelCatalog;
using atl::frontends::metrics::MetricsFrontend;

constexpr atoll_need_v1 kNeeds[] = {{ModelCatalog::kInterfaceId.data(), 0, ATOLL_NEED_OPTIONAL},
                                    {MetricSource::kInterfaceId.data(), 0, ATOLL_NEED_MANY},
                                    {Memory::kInterfaceId.data(), 0, ATOLL_NEED_MANY}};

}  // namespace

ATOLL_PLUGIN(MetricsFrontend, {.name = "frontends/metrics",
                               .version = "0.1.0",
                               .license = "Apache-2.0",
                               .help = "Serves metrics in Prometheus' text format over HTTP.",
                               .needs = kNeeds,
                               .options = atl::frontends::metrics::kOptions});
