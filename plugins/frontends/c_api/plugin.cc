#include "atoll/core/plugin.h"

#include "atoll/models/model_demand.h"
#include "frontends/c_api/frontend.h"
#include "frontends/c_api/option_table.h"

namespace atl::frontends::c_api {

// Resident: a thread that has ended somebody's load is still in this code when the caller goes on.
ATOLL_PLUGIN(CApiFrontend,
             {.name = "frontends/c_api",
              .version = "0.1.0",
              .license = "Apache-2.0",
              .help = "The server as Triton's C API sees it, for backends that ask other models.",
              .flags = ATOLL_PLUGIN_RESIDENT,
              .provides = {provide<TRITONSERVER_Server, &CApiFrontend::server>()},
              .needs = {need<ModelCatalog>(), optional<ModelControl>(), optional<ModelDemand>(),
                        optional<ModelRouter>(), optional<MetricsPage>(), optional<RepositoryPaths>(),
                        optional<RepositoryPoll>()},
              .options = kOptions});

}  // namespace atl::frontends::c_api
