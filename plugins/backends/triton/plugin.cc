/// backends/triton: models whose backend is a shared object made for Triton.
#include "atoll/core/plugin.h"

#include "atoll/core/events.h"
#include "atoll/lib/backend_settings.h"
#include "atoll/triton/host.h"
#include "backends/triton/host_server.h"
#include "backends/triton/load_calls.h"
#include "backends/triton/triton_backend.h"

namespace atl::triton {
namespace {

using ServerState = ServerStateChanged::State;

TritonOptions options_from(const Options& options) {
  return {options.get_strings("directories"), options.get_map("settings"),
          options.get_bool("libraries_in_models")};
}

void check_options(OptionCheck& check) { check_backend_settings(check, "settings"); }

class TritonBackendPlugin final : public Plugin, public MetricSource {
 public:
  explicit TritonBackendPlugin(Host& host)
      : host_(host),
        log_scope_(host.log()),
        server_(std::make_shared<HostServer>(host)),
        around_(std::make_shared<ForeignContext>(host.log(), server_)),
        calls_(host.clock(), host.executors(), host.options().get_duration_ns("load_timeout")),
        backends_(around_, calls_, host.options().get_bool("unload")),
        backend_(options_from(host.options()), backends_) {}
  ~TritonBackendPlugin() override { around_->log.give_back(); }

  Status start() override {
    Status status = open();
    if (!status.ok()) close();
    return status;
  }
  void drain(int64_t /*deadline_ns*/) override { server_->let_go(); }
  void stop() override {
    backends_.close();
    close();
  }
  void collect(MetricSink& sink) const noexcept override { metrics_.collect(sink); }
  Backend& backend() noexcept { return backend_; }

 private:
  struct OnServerState {
    LoadCalls& calls;
    void operator()(const ServerStateChanged& event) const {
      if (event.state == ServerState::kDraining) calls.hurry();
    }
  };

  Status open() {
    ATOLL_RETURN_IF_ERROR(calls_.open());
    ATOLL_RETURN_IF_ERROR(around_->memory.open(host_));
    ATOLL_RETURN_IF_ERROR(server_->open());
    return server_state_changed_.open(host_.events());
  }
  void close() {
    server_state_changed_.reset();
    server_->close();
    calls_.close();
    around_->memory.close();
  }

  Host& host_;
  LogScope log_scope_;
  MetricScope metrics_;
  std::shared_ptr<HostServer> server_;
  std::shared_ptr<ForeignContext> around_;
  LoadCalls calls_;
  Subscription<ServerStateChanged, OnServerState> server_state_changed_{OnServerState{calls_}};
  BackendStore backends_;
  TritonBackend backend_;
};

constexpr OptionTable kOptions{
    option_string_list("directories")
        .help(
            "Folders with a folder for each backend, where libtriton_<backend>.so or model.py is looked for "
            "if the model's own folders have no library."),
    option_string_map("settings")
        .help(
            "Settings of backends, \"<backend>.<setting>\" = \"<value>\"; a key without a dot goes to all."),
    option_duration("load_timeout", "30m")
        .range("0s", "24h")
        .help("How long a backend may take for each of the calls that initialise it, a model or an instance; "
              "then the load fails, and the call is left behind with its thread. 0s: for ever."),
    option_bool("libraries_in_models", true)
        .help("Whether a model's own folders may hold its backend's shared object, which the server then "
              "runs."),
    option_bool("unload", true)
        .help("Whether backends' shared objects are closed when the plugin ends; if not, they stay mapped."),
};

}  // namespace

ATOLL_PLUGIN(
    TritonBackendPlugin,
    {.name = "backends/triton",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Runs models by backends made for Triton.",
     .provides = {provide<Backend, &TritonBackendPlugin::backend>().minor(Backend::kUnreadyReasonMinor),
                  provide<MetricSource>()},
     .needs = {optional<TRITONSERVER_Server>(), many<Memory>()},
     .options = kOptions,
     .check = &check_options});

}  // namespace atl::triton
