/// backends/triton: models whose backend is a shared object made for Triton.
#include "atoll/plugin.h"

#include "atoll/triton/host.h"
#include "backends/triton/server_link.h"
#include "backends/triton/triton_backend.h"

namespace atl::triton {
namespace {

TritonOptions options_from(const Options& options) {
  return {options.get_strings("directories"), options.get_map("settings"),
          options.get_bool("libraries_in_models")};
}

class TritonBackendPlugin final : public Plugin, public MetricSource {
 public:
  explicit TritonBackendPlugin(Host& host)
      : log_scope_(host.log()),
        server_(host),
        backends_(host.log(), host.options().get_bool("unload")),
        backend_(options_from(host.options()), backends_, &server_) {}

  Status start() override { return server_.open(); }
  void stop() override {
    // What backends do at their end may still ask the server.
    backends_.close();
    server_.close();
  }
  void collect(MetricSink& sink) const noexcept override { collect_metrics(sink); }
  Backend& backend() noexcept { return backend_; }

 private:
  LogScope log_scope_;
  ServerLink server_;
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
    option_bool("libraries_in_models", true)
        .help("Whether a model's own folders may hold its backend's shared object, which the server then "
              "runs."),
    option_bool("unload", true)
        .help("Whether backends' shared objects are closed when the plugin ends; if not, they stay mapped."),
};

}  // namespace

ATOLL_PLUGIN(TritonBackendPlugin,
             {.name = "backends/triton",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Runs models by backends made for Triton.",
              .provides = {provide<Backend, &TritonBackendPlugin::backend>().minor(Backend::kAnyNameMinor),
                           provide<MetricSource>()},
              .needs = {optional<TRITONSERVER_Server>()},
              .options = kOptions});

}  // namespace atl::triton
