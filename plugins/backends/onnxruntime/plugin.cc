#include "atoll/core/plugin.h"

#include <string>

#include "atoll/core/file_check.h"
#include "atoll/runtime/shared_object.h"
#include "backends/common/own_file.h"
#include "backends/onnxruntime/onnx_engine.h"

namespace atl::ort {
namespace {

constexpr OptionTable kOptions{
    option_int("intra_op_threads", 0)
        .range(0, 1024)
        .help("Threads that work on one operator, for models that do not say; 0: one a CPU that the process "
              "may use (affinity, container quota)."),
    option_int("inter_op_threads", 0)
        .range(0, 1024)
        .help("Threads that run operators side by side in parallel execution mode, for models that do not "
              "say; 0: one a CPU."),
    option_bool("allow_spinning", false)
        .help("Idle threads of a session spin briefly: faster wake-up for more CPU."),
    option_bytes("scratch_keep", "64MiB")
        .at_least("0")
        .help("Gather buffer that an instance keeps between batches; larger buffers are freed after "
              "their batch."),
    option_string("library", "")
        .help(
            "File of the ONNX Runtime library, such as one with the CUDA provider; empty: that of the user's "
            "Python package onnxruntime, or else that of the installation."),
    option_string_list("cuda_libraries", {})
        .help("Libraries that the CUDA provider needs: files, or folders in which CUDA's libraries "
              "are looked up."),
    option_string("log_level", "warning")
        .choices("verbose|info|warning|error")
        .help("Least severe message of ONNX Runtime that reaches the log."),
};

class OnnxRuntime final : public Plugin {
 public:
  explicit OnnxRuntime(Host& host) : engine_(host) {}

  Status start() override { return engine_.start(LibraryPlaces::of_process(backends::own_file().string())); }
  void stop() override { engine_.stop(); }
  Backend& backend() noexcept { return engine_; }
  MetricSource& metrics() noexcept { return engine_; }
  EncryptedModels& encrypted_models() noexcept { return engine_; }

 private:
  OnnxEngine engine_;
};

void check_options(OptionCheck& check) {
  const std::string& library = check.options().get_string("library");
  if (!library.empty() && check.passes("library", check_readable_file(library)))
    check.passes("library", runtime::inspect_shared_object(library));
}

}  // namespace

ATOLL_PLUGIN(OnnxRuntime, {.name = "backends/onnxruntime",
                           .version = "1.0.0",
                           .license = "Apache-2.0",
                           .help = "Runs ONNX models on CPUs and GPUs with ONNX Runtime.",
                           .provides = {provide<Backend, &OnnxRuntime::backend>(),
                                        provide<MetricSource, &OnnxRuntime::metrics>(),
                                        provide<EncryptedModels, &OnnxRuntime::encrypted_models>()},
                           .needs = {many<Memory>(), optional<Cuda>(), optional<ModelFiles>()},
                           .options = kOptions,
                           .check = &check_options});

}  // namespace atl::ort
