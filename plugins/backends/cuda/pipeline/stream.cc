#include "backends/cuda/pipeline/stream.h"

#include "atoll/memory/memory.h"

namespace atl::cuda_backend {
namespace {

constexpr int kAttempts = 3;
constexpr float kNanosecondsPerMillisecond = 1e6F;

}  // namespace

bool make_current(Cuda& cuda, int32_t device) noexcept {
  for (int attempt = 0; attempt < kAttempts && cuda.lost(device).ok(); ++attempt) {
    if (cuda.ensure_current(device).ok()) return true;
  }
  return false;
}

Result<TimedEvent> TimedEvent::make(Cuda& cuda, int32_t device, bool spins) noexcept {
  TimedEvent made;
  ATOLL_RETURN_IF_ERROR(
      cuda.call<&CudaDriver::cuEventCreate>(device, &made.event_, spins ? 0U : kCudaEventBlockingSync));
  made.cuda_ = &cuda;
  made.device_ = device;
  return made;
}

TimedEvent::~TimedEvent() {
  if (event_ == nullptr || cuda_ == nullptr) return;
  if (make_current(*cuda_, device_)) (void)cuda_->call<&CudaDriver::cuEventDestroy>(device_, event_).ok();
}

Result<int64_t> TimedEvent::nanoseconds_until(const TimedEvent& later) const noexcept {
  float milliseconds = 0;
  ATOLL_RETURN_IF_ERROR(
      cuda_->call<&CudaDriver::cuEventElapsedTime>(device_, &milliseconds, event_, later.event_));
  return static_cast<int64_t>(milliseconds * kNanosecondsPerMillisecond);
}

Result<Stream> Stream::make(Cuda& cuda, int32_t device, int32_t priority) noexcept {
  Stream made;
  ATOLL_RETURN_IF_ERROR(cuda.call<&CudaDriver::cuStreamCreateWithPriority>(device, &made.stream_,
                                                                           kCudaStreamNonBlocking, priority));
  made.cuda_ = &cuda;
  made.device_ = device;
  return made;
}

Stream::~Stream() {
  if (stream_ == nullptr || cuda_ == nullptr) return;
  if (make_current(*cuda_, device_)) (void)cuda_->call<&CudaDriver::cuStreamDestroy>(device_, stream_).ok();
}

Status Stream::record(CudaEvent event) const noexcept {
  return cuda_->call<&CudaDriver::cuEventRecord>(device_, event, stream_);
}

Status Stream::wait_for(CudaEvent event) const noexcept {
  return cuda_->call<&CudaDriver::cuStreamWaitEvent>(device_, stream_, event, 0);
}

Status Stream::copy(const Buffer& to, const Buffer& from) const noexcept {
  if (from.size_bytes == 0) return {};
  const CudaAddress target = to_address(to.data), source = to_address(from.data);
  const bool is_peer =
      to.kind == MemoryKind::kGpu && from.kind == MemoryKind::kGpu && to.device_id != from.device_id;
  if (!is_peer) {
    return cuda_->call<&CudaDriver::cuMemcpyAsync>(device_, target, source, from.size_bytes, stream_);
  }
  Result<CudaContext> there = cuda_->context(to.device_id);
  if (!there.ok()) return std::move(there).status();
  Result<CudaContext> here = cuda_->context(from.device_id);
  if (!here.ok()) return std::move(here).status();
  return cuda_->call<&CudaDriver::cuMemcpyPeerAsync>(device_, target, *there, source, *here, from.size_bytes,
                                                     stream_);
}

Status Stream::wait_until_ready(const Buffer& buffer) const noexcept {
  if (buffer.ready_after == nullptr) return {};
  void* const event = buffer.ready_after->native_handle();
  return event == nullptr ? buffer.ready_after->wait() : wait_for(static_cast<CudaEvent>(event));
}

Status Stream::synchronize() const noexcept {
  Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    status = cuda_->call<&CudaDriver::cuStreamSynchronize>(device_, stream_);
    if (status.ok() || !cuda_->lost(device_).ok()) break;
  }
  return status;
}

}  // namespace atl::cuda_backend
