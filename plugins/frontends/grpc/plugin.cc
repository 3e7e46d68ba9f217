#include "atoll/plugin.h"

#include "atoll/model_demand.h"
#include "frontend.h"
#include "option_table.h"

namespace {

using atl::LogControl;
using atl::ModelCatalog;
using atl::ModelControl;
using atl::ModelDemand;
using atl::ModelRouter;
using atl::SharedMemory;
using atl::Tracing;
using atl::frontends::grpc_frontend::GrpcFrontend;

constexpr atoll_need_v1 kNeeds[] = {{ModelCatalog::kInterfaceId.data(), 0, 0},
                                    {ModelControl::kInterfaceId.data(), 0, ATOLL_NEED_OPTIONAL},
                                    {ModelDemand::kInterfaceId.data(), 0, ATOLL_NEED_OPTIONAL},
                                    {ModelRouter::kInterfaceId.data(), 0, ATOLL_NEED_OPTIONAL},
                                    {SharedMemory::kInterfaceId.data(), 0, ATOLL_NEED_OPTIONAL},
                                    {Tracing::kInterfaceId.data(), 0, ATOLL_NEED_OPTIONAL},
                                    {LogControl::kInterfaceId.data(), 0, ATOLL_NEED_OPTIONAL}};

}  // namespace

ATOLL_PLUGIN(GrpcFrontend, {.name = "frontends/grpc",
                            .version = "0.1.0",
                            .license = "Apache-2.0",
                            .help = "Serves the KServe V2 protocol and its extensions over gRPC.",
                            .flags = ATOLL_PLUGIN_RESIDENT,
                            .needs = kNeeds,
                            .options = atl::frontends::grpc_frontend::kOptions});
