#include "atoll/core/plugin.h"

#include "atoll/core/metrics.h"
#include "atoll/core/startup.h"
#include "atoll/frontend/access.h"
#include "atoll/frontend/audit.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/frontend/listeners.h"
#include "atoll/memory/memory.h"
#include "frontends/metrics/frontend.h"
#include "frontends/metrics/option_table.h"

namespace atl::frontends::metrics {

ATOLL_PLUGIN(MetricsFrontend,
             {.name = "frontends/metrics",
              .version = "0.1.0",
              .license = "Apache-2.0",
              .help = "Serves metrics for Prometheus over HTTP.",
              .provides = {provide<MetricsPage>(), provide<HttpRoutes, &MetricsFrontend::routes>()},
              .needs = {optional<ModelCatalog>().minor(4), optional<Access>(), optional<Audit>(),
                        optional<Listeners>(), optional<Startup>(), many<MetricSource>(), many<Memory>()},
              .options = kOptions,
              .check = &check_options});

}  // namespace atl::frontends::metrics
