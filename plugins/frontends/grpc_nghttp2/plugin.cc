#include "atoll/core/plugin.h"

#include "atoll/core/startup.h"
#include "atoll/frontend/access.h"
#include "atoll/frontend/audit.h"
#include "atoll/frontend/grpc_calls.h"
#include "atoll/frontend/listeners.h"
#include "atoll/models/model_demand.h"
#include "frontends/grpc_nghttp2/frontend.h"
#include "frontends/grpc_nghttp2/option_table.h"

namespace atl::frontends::grpc_nghttp2 {

namespace {

void check_options(OptionCheck& check) {
  check_grpc_options(check);
  Result<GrpcSettings> settings = read_grpc_settings(check.options());
  check.passes({}, check_ciphers(TlsRules::read(check.options())));
  std::string digest;
  if (settings.ok() && settings->tls.use_ssl) {
    check.whole(read_certificates(tls_setup(settings.value(), check.options()), &digest));
  }
}

}  // namespace

ATOLL_PLUGIN(Nghttp2Frontend,
             {.name = "frontends/grpc_nghttp2",
              .version = "0.1.0",
              .license = "Apache-2.0",
              .help = "Serves the KServe V2 protocol over gRPC, with nghttp2 in place of the gRPC library.",
              // Who was given something to call when a load ends may still be returning from it.
              .flags = ATOLL_PLUGIN_RESIDENT,
              .provides = {provide<MetricSource>()},
              .needs = {need<ModelCatalog>().minor(3), optional<ModelControl>(), optional<ModelDemand>(),
                        optional<RemoteModels>(), optional<ModelRouter>(), optional<SharedMemory>(),
                        optional<Tracing>(), optional<LogControl>(), optional<RequestMemory>(),
                        optional<Access>(), optional<Audit>(), optional<Listeners>(), optional<Startup>(),
                        many<Memory>(), many<GrpcCalls>()},
              .options = kOptions,
              .check = &check_options});

}  // namespace atl::frontends::grpc_nghttp2
