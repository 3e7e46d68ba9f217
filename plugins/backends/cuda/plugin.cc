/// backends/cuda: custom kernels on GPUs.
#include "atoll/core/plugin.h"

#include <memory>

#include "atoll/backend/backend.h"
#include "backends/cuda/code/nvrtc.h"
#include "backends/cuda/cuda_backend.h"

namespace atl::cuda_backend {
namespace {

constexpr OptionTable kOptions{
    option_string("nvrtc", kNvrtcLibraries.data())
        .help(
            "NVIDIA's runtime compiler, for models that bring source: names that the loader looks for, or paths, by "
            "commas; the first that can be opened is used."),
};

class CudaBackendPlugin final : public Plugin {
 public:
  explicit CudaBackendPlugin(Host& host)
      : host_(host),
        device_memory_(host, memory_finder(host, MemoryKind::kGpu)),
        pinned_memory_(host, memory_finder(host, MemoryKind::kCpuPinned)) {}
  Backend& backend() noexcept { return backend_; }

  Status start() override {
    Result<Service<Cuda>> cuda = host_.registry().find<Cuda>();
    if (!cuda.ok()) return std::move(cuda).status();
    cuda_ = std::move(cuda).value();
    ATOLL_RETURN_IF_ERROR(device_memory_.open());
    ATOLL_RETURN_IF_ERROR(pinned_memory_.open());
    CudaBackendContext context;
    context.cuda = cuda_.get();
    context.clock = &host_.clock();
    context.log = &host_.log();
    context.device_memory = &device_memory_;
    context.pinned_memory = &pinned_memory_;
    context.nvrtc_libraries = host_.options().get_string("nvrtc");
    backend_.open(context);
    return {};
  }
  void stop() override {
    pinned_memory_.close();
    device_memory_.close();
    cuda_.reset();
  }

 private:
  Host& host_;
  Service<Cuda> cuda_;
  Followed<Memory> device_memory_, pinned_memory_;
  CudaBackend backend_;
};

}  // namespace

ATOLL_PLUGIN(
    CudaBackendPlugin,
    {.name = "backends/cuda",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Runs models made of CUDA kernels on GPUs.",
     .provides = {provide<Backend, &CudaBackendPlugin::backend>().minor(Backend::kUnreadyReasonMinor)},
     .needs = {need<Cuda>(), many<Memory>()},
     .options = kOptions});

}  // namespace atl::cuda_backend
