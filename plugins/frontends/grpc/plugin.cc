#include "atoll/core/plugin.h"

#include "atoll/core/startup.h"
#include "atoll/frontend/access.h"
#include "atoll/frontend/audit.h"
#include "atoll/frontend/grpc_calls.h"
#include "atoll/frontend/listeners.h"
#include "atoll/models/model_demand.h"
#include "frontends/grpc/frontend.h"
#include "frontends/grpc/option_table.h"

namespace atl::frontends::grpc_frontend {

ATOLL_PLUGIN(GrpcFrontend,
             {.name = "frontends/grpc",
              .version = "0.1.0",
              .license = "Apache-2.0",
              .help = "Serves the KServe V2 protocol and its extensions over gRPC.",
              .flags = ATOLL_PLUGIN_RESIDENT,
              .needs = {need<ModelCatalog>().minor(3), optional<ModelControl>(), optional<ModelDemand>(),
                        optional<RemoteModels>(), optional<ModelRouter>(), optional<SharedMemory>(),
                        optional<Tracing>(), optional<LogControl>(), optional<RequestMemory>(),
                        optional<Access>(), optional<Audit>(), optional<Listeners>(), optional<Startup>(),
                        many<Memory>(), many<GrpcCalls>()},
              .options = kOptions,
              .check = &check_grpc_options});

}  // namespace atl::frontends::grpc_frontend
