/// backends/tensorflow: SavedModels and GraphDefs on the CPU, by TensorFlow.
#include "atoll/core/plugin.h"

#include <string>
#include <vector>

#include "atoll/core/file_check.h"
#include "atoll/core/usable_cpus.h"
#include "backends/common/own_file.h"
#include "backends/tensorflow/library/tf_library.h"
#include "backends/tensorflow/tf_backend.h"

namespace atl::tensorflow {
namespace {

constexpr OptionTable kOptions{
    option_int("intra_op_threads", 0)
        .range(0, 1024)
        .help("Threads that work on one operation, for models that do not say; 0: one a CPU that the process "
              "may use (affinity, container quota)."),
    option_int("inter_op_threads", -1)
        .range(-1, 1024)
        .help(
            "Threads that run operations side by side, for models that do not say; -1: none, the thread of the "
            "instance runs them, which is faster for small models; 0: one a CPU."),
    option_bool("gpu_instances_on_cpu", false)
        .help("Instances of KIND_GPU run on the CPU. Else a model that has some fails to load."),
    option_string("library", "")
        .help(
            "File libtensorflow_cc.so.2, with libtensorflow_framework.so.2 beside it; empty: that of the user's "
            "Python package tensorflow, or else that of the installation (lib/atoll/engines/tensorflow)."),
};

class TensorFlowPlugin final : public Plugin {
 public:
  explicit TensorFlowPlugin(Host& host) : host_(host), backend_(host.clock(), host.log()) {}

  Status init() override {
    const Options& options = host_.options();
    const std::string& library = options.get_string("library");
    const auto threads = static_cast<int>(options.get_int("intra_op_threads"));
    quiet_tensorflow();
    backend_.open(
        library.empty() ? library_files(backends::own_file().string()) : std::vector<std::string>{library},
        {.intra_op_threads = threads == 0 ? static_cast<int>(usable_cpus()) : threads,
         .inter_op_threads = static_cast<int>(options.get_int("inter_op_threads")),
         .gpu_instances_on_cpu = options.get_bool("gpu_instances_on_cpu")});
    return {};
  }
  Backend& backend() noexcept { return backend_; }

 private:
  Host& host_;
  TfBackend backend_;
};

void check_options(OptionCheck& check) {
  const std::string& library = check.options().get_string("library");
  if (!library.empty()) check.passes("library", check_readable_file(library));
}

}  // namespace

ATOLL_PLUGIN(TensorFlowPlugin,
             {.name = "backends/tensorflow",
              .version = "1.0.0",
              .license = "Apache-2.0",
              .help = "Runs SavedModels and GraphDefs on CPUs with TensorFlow.",
              // TensorFlow stays in the process, and frees texts by a function of the plugin.
              .flags = ATOLL_PLUGIN_RESIDENT,
              .provides = {provide<Backend, &TensorFlowPlugin::backend>()},
              .options = kOptions,
              .check = &check_options});

}  // namespace atl::tensorflow
