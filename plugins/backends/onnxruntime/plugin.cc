#include "atoll/core/plugin.h"

#include <memory>
#include <optional>

#include "atoll/backend/backend.h"
#include "atoll/core/file_check.h"
#include "atoll/core/usable_cpus.h"
#include "backends/onnxruntime/environment.h"
#include "backends/onnxruntime/gpu_source.h"
#include "backends/onnxruntime/onnx_backend.h"
#include "backends/onnxruntime/scratch.h"

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
        .help("File of another ONNX Runtime library, such as one with the CUDA provider; empty: the "
              "server's own."),
    option_string_list("cuda_libraries", {})
        .help("Libraries that the CUDA provider needs: files, or folders in which CUDA's libraries "
              "are looked up."),
    option_string("log_level", "warning")
        .choices("verbose|info|warning|error")
        .help("Least severe message of ONNX Runtime that reaches the log."),
};

class OnnxRuntime final : public Plugin {
 public:
  explicit OnnxRuntime(Host& host) : host_(host) {}

  Status start() override {
    const Options& options = host_.options();
    ATOLL_RETURN_IF_ERROR(use_library(options.get_string("library")));
    auto environment = Environment::open(host_.log(), severity_from_text(options.get_string("log_level")),
                                         host_.executors());
    if (!environment.ok()) return std::move(environment).status();
    environment_ = std::move(environment).value();
    gpus_.emplace(host_, options.get_strings("cuda_libraries"));
    Status status = scratch_.open();
    if (status.ok()) status = gpus_->open();
    if (!status.ok()) {
      stop();
      return status;
    }
    BackendContext context;
    context.environment = environment_.get();
    context.clock = &host_.clock();
    context.scratch = &scratch_;
    context.gpus = &*gpus_;
    context.scratch_keep_bytes = options.get_bytes("scratch_keep");
    SessionDefaults defaults;
    defaults.cpus = usable_cpus();
    defaults.intra_op_threads = options.get_int("intra_op_threads");
    defaults.inter_op_threads = options.get_int("inter_op_threads");
    defaults.allow_spinning = options.get_bool("allow_spinning");
    backend_.open(context, defaults);
    return {};
  }
  void stop() override {
    gpus_.reset();
    scratch_.close();
    environment_.reset();
  }
  Backend& backend() noexcept { return backend_; }

 private:
  Host& host_;
  std::unique_ptr<Environment> environment_;
  ScratchSource scratch_{host_};
  std::optional<GpuSource> gpus_;
  OnnxBackend backend_;
};

void check_options(OptionCheck& check) {
  const std::string& library = check.options().get_string("library");
  if (!library.empty()) check.passes("library", check_readable_file(library));
}

}  // namespace

ATOLL_PLUGIN(OnnxRuntime, {.name = "backends/onnxruntime",
                           .version = "1.0.0",
                           .license = "Apache-2.0",
                           .help = "Runs ONNX models on CPUs and GPUs with ONNX Runtime.",
                           .provides = {provide<Backend, &OnnxRuntime::backend>()},
                           .needs = {many<Memory>(), optional<Cuda>()},
                           .options = kOptions,
                           .check = &check_options});

}  // namespace atl::ort
