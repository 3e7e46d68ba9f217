/// backends/openvino: models of OpenVINO, ONNX, TensorFlow, TensorFlow Lite and PaddlePaddle, by OpenVINO.
#include "atoll/core/plugin.h"

#include <string>

#include "atoll/core/usable_cpus.h"
#include "backends/common/own_file.h"
#include "backends/openvino/openvino_backend.h"

namespace atl::openvino {
namespace {

constexpr OptionTable kOptions{
    option_int("threads", 0)
        .range(0, 1024)
        .help(
            "Threads that the runs of a model share, for models that do not say; 0: one a CPU that the process "
            "may use (affinity, container quota)."),
    option_string("library", "")
        .help("OpenVINO's libopenvino_c.so, or the folder that it lies in; empty: that of the installation "
              "(lib/atoll/engines/openvino), or else that of the user's Python package openvino."),
    option_string("cache_dir", "")
        .help(
            "Folder in which OpenVINO keeps compiled models, so that they load faster; empty: none. Trust it as "
            "you trust the models."),
    option_int("shapes_kept", 256)
        .range(1, 1'000'000)
        .help(
            "Different input shapes with which a model is run before it is compiled again, because OpenVINO keeps "
            "memory for each."),
    option_bool("cpu_extensions", false)
        .help(
            "Models may bring libraries with operations of their own (CPU_EXTENSION_PATH), which are code that "
            "runs in the server."),
    option_bool("tensorflow_models", false)
        .help(
            "Serve models of the platforms tensorflow_savedmodel and tensorflow_graphdef whose backend is not in "
            "the manifest."),
};

class OpenVinoPlugin final : public Plugin {
 public:
  explicit OpenVinoPlugin(Host& host) : host_(host), backend_(host) {}

  Status init() override {
    const Options& options = host_.options();
    const int64_t threads = options.get_int("threads");
    OvBackendSettings settings;
    settings.places = OvPlaces::of_process(options.get_string("library"), backends::own_file().string());
    settings.defaults.threads = threads == 0 ? usable_cpus() : static_cast<uint32_t>(threads);
    settings.defaults.cache_directory = options.get_string("cache_dir");
    settings.defaults.allows_extensions = options.get_bool("cpu_extensions");
    settings.defaults.shapes_kept = static_cast<uint32_t>(options.get_int("shapes_kept"));
    settings.serves_tensorflow = options.get_bool("tensorflow_models");
    backend_.set(std::move(settings));
    return {};
  }
  Backend& backend() noexcept { return backend_; }

 private:
  Host& host_;
  OpenVinoBackend backend_;
};

}  // namespace

ATOLL_PLUGIN(OpenVinoPlugin,
             {.name = "backends/openvino",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Runs models of OpenVINO, ONNX, TensorFlow, TensorFlow Lite and PaddlePaddle "
                      "on CPUs with OpenVINO.",
              // OpenVINO stays in the process; so does what the plugin knows of it.
              .flags = ATOLL_PLUGIN_RESIDENT,
              .provides = {provide<Backend, &OpenVinoPlugin::backend>().minor(Backend::kAnyNameMinor)},
              .options = kOptions});

}  // namespace atl::openvino
