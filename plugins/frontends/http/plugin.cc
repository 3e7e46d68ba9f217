#include "atoll/core/plugin.h"

#include "atoll/core/startup.h"
#include "atoll/frontend/access.h"
#include "atoll/frontend/audit.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/frontend/listeners.h"
#include "atoll/models/model_demand.h"
#include "frontends/http/frontend.h"
#include "frontends/http/option_table.h"

namespace atl::frontends::http {

ATOLL_PLUGIN(HttpFrontend,
             {.name = "frontends/http",
              .version = "0.1.0",
              .license = "Apache-2.0",
              .help = "Serves the KServe V2 protocol and its extensions over HTTP.",
              // Who was given something to call when a load ends may still be returning from it.
              .flags = ATOLL_PLUGIN_RESIDENT,
              .provides = {provide<MetricSource>()},
              .needs = {need<ModelCatalog>().minor(3), optional<ModelControl>(), optional<ModelDemand>(),
                        optional<RemoteModels>(), optional<ModelRouter>(), optional<SharedMemory>(),
                        optional<Tracing>(), optional<LogControl>(), optional<RequestMemory>(),
                        optional<Access>(), optional<Audit>(), optional<Listeners>(), optional<Startup>(),
                        many<Memory>(), many<HttpRoutes>()},
              .options = kOptions,
              .check = &check_options});

}  // namespace atl::frontends::http
