#include "backends/onnxruntime/gpu_source.h"

#include <utility>

#include "backends/onnxruntime/gpu_settings.h"
#include "backends/onnxruntime/library/library_use.h"
#include "backends/onnxruntime/ort_api.h"

namespace atl::ort {

GpuSource::GpuSource(Host& host, std::vector<std::string> libraries)
    : host_(host),
      libraries_(std::move(libraries)),
      cuda_(host, {}, [this] { look(); }),
      device_memory_(host, MemoryKind::kGpu),
      pinned_memory_(host, MemoryKind::kCpuPinned) {}

Status GpuSource::open() noexcept {
  look();  // where nobody provides GPUs there is no change to be told of
  ATOLL_RETURN_IF_ERROR(cuda_.open());
  ATOLL_RETURN_IF_ERROR(device_memory_.open());
  return pinned_memory_.open();
}

void GpuSource::close() noexcept {
  pinned_memory_.close();
  device_memory_.close();
  cuda_.close();
}

Status GpuSource::usable() const noexcept {
  std::lock_guard lock(mutex_);
  return usable_.clone();
}

/// Called after each change of who provides GPUs.
void GpuSource::look() noexcept {
  std::lock_guard looking(looking_);
  Status found = probe();
  std::lock_guard lock(mutex_);
  usable_ = std::move(found);
}

Status GpuSource::probe() noexcept {
  const Followed<Cuda>::Hold cuda = cuda_.hold();
  if (!cuda) return make_status(Code::kUnavailable, "no plugin provides GPUs");
  if (cuda->devices().empty()) return cuda->absence();
  if (is_loaded_) return {};
  ATOLL_RETURN_IF_ERROR(runtime_usable());
  keep_library_open();
  Status status = open_libraries(libraries_);
  if (status.ok()) status = load_cuda_provider(cuda->devices().front().ordinal);
  if (status.ok()) {
    is_loaded_ = true;
    host_.log().info("models can run on GPUs: ONNX Runtime's CUDA provider is loaded");
  } else {
    host_.log().warning("models run on the CPU, though there are GPUs: ", status.message());
  }
  return status;
}

}  // namespace atl::ort
