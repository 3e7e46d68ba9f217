#include "backends/onnxruntime/gpu_execution.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "atoll/memory/memory.h"

namespace atl::ort {
namespace {

Status nobody_provides(int32_t device) {
  return make_status(Code::kUnavailable, "GPU ", device, " is gone: no plugin provides it any more");
}

bool is_text_on_gpu(const InputTensor& input) {
  return input.datatype == DataType::kBytes && std::ranges::any_of(input.buffers, [](const Buffer& buffer) {
           return buffer.kind == MemoryKind::kGpu;
         });
}

}  // namespace

GpuExecution::GpuExecution(GpuSource& source, int32_t device, size_t outputs, uint64_t keep_bytes) noexcept
    : source_(source),
      device_(device),
      scratch_(&source.device_memory(), keep_bytes, device),
      expected_(outputs, false) {}

Result<std::unique_ptr<GpuExecution>> GpuExecution::make(GpuSource& source, int32_t device,
                                                         OrtSession& session, size_t outputs,
                                                         uint64_t keep_bytes) noexcept {
  std::unique_ptr<GpuExecution> made(new GpuExecution(source, device, outputs, keep_bytes));
  ATOLL_RETURN_IF_ERROR(ort::make(made->memory_info_, api().CreateMemoryInfo, "Cuda", OrtArenaAllocator,
                                  device, OrtMemTypeDefault));
  ATOLL_RETURN_IF_ERROR(
      ort::make(made->host_info_, api().CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault));
  ATOLL_RETURN_IF_ERROR(ort::make(made->binding_, api().CreateIoBinding, &session));
  return made;
}

Status GpuExecution::begin() noexcept {
  cuda_ = source_.cuda();
  if (!cuda_) return nobody_provides(device_);
  Result<CudaStream> stream = cuda_->acquire_stream(device_);
  if (!stream.ok()) {
    cuda_.reset();
    return std::move(stream).status();
  }
  stream_ = *stream;
  return {};
}

void GpuExecution::end() noexcept {
  if (!cuda_) return;
  (void)wait().ok();  // that of a lost device fails, and nothing runs there any more
  is_copying_ = false;
  scratch_.done();
  cuda_->release_stream(device_, stream_);
  stream_ = nullptr;
  cuda_.reset();
}

Status GpuExecution::loss() const noexcept {
  const Followed<Cuda>::Hold cuda = source_.cuda();
  return cuda ? cuda->lost(device_) : nobody_provides(device_);
}

Status GpuExecution::explain(Status failure) noexcept {
  // ONNX Runtime tells nobody of its driver's errors. One that lasts is the answer to this call, too.
  Status device = cuda_->call<&CudaDriver::cuStreamSynchronize>(device_, stream_);
  is_copying_ = !device.ok();
  return device.code() == Code::kUnavailable ? std::move(device) : std::move(failure);
}

bool GpuExecution::is_usable(const Buffer& buffer) const noexcept {
  return buffer.kind == MemoryKind::kGpu && buffer.device_id == device_ &&
         to_address(buffer.data) % kAlignment == 0;
}

Status GpuExecution::copy(const Buffer& to, const Buffer& from) noexcept {
  if (from.size_bytes == 0) return {};
  if (to.kind != MemoryKind::kGpu && from.kind != MemoryKind::kGpu) {
    std::memcpy(to.data, from.data, from.size_bytes);
    return {};
  }
  is_copying_ = true;
  if (to.kind == from.kind && to.device_id != from.device_id) return copy_between_devices(to, from);
  // A stream copies to and from any device, by the address.
  return cuda_->call<&CudaDriver::cuMemcpyAsync>(device_, to_address(to.data), to_address(from.data),
                                                 from.size_bytes, stream_);
}

Status GpuExecution::copy_between_devices(const Buffer& to, const Buffer& from) noexcept {
  Result<CudaContext> there = cuda_->context(to.device_id);
  if (!there.ok()) return std::move(there).status();
  Result<CudaContext> here = cuda_->context(from.device_id);
  if (!here.ok()) return std::move(here).status();
  ATOLL_RETURN_IF_ERROR(cuda_->ensure_current(device_));
  return cuda_->call<&CudaDriver::cuMemcpyPeerAsync>(device_, to_address(to.data), *there,
                                                     to_address(from.data), *here, from.size_bytes, stream_);
}

Status GpuExecution::wait() noexcept {
  if (!is_copying_) return {};
  Status done = cuda_->call<&CudaDriver::cuStreamSynchronize>(device_, stream_);
  is_copying_ = !done.ok();  // end() tries once more, for what is in flight uses buffers of others
  return done;
}

Status GpuExecution::bring_texts(Request& request) noexcept {
  for (InputTensor& input : request.inputs) {
    if (!is_text_on_gpu(input)) continue;
    uint64_t size_bytes = 0;
    for (const Buffer& buffer : input.buffers) size_bytes += buffer.size_bytes;
    Buffer whole;
    whole.data = request.arena().allocate(size_bytes, 1);
    whole.size_bytes = size_bytes;
    auto* to = static_cast<std::byte*>(whole.data);
    for (const Buffer& from : input.buffers) {
      ATOLL_RETURN_IF_ERROR(wait_until_ready(from));
      ATOLL_RETURN_IF_ERROR(copy(Buffer{to, from.size_bytes}, from));
      to += from.size_bytes;
    }
    ATOLL_RETURN_IF_ERROR(wait());
    input.buffers = request.arena().copy(std::span<const Buffer>(&whole, 1));
  }
  return {};
}

Status GpuExecution::run_bound(OrtSession& session, const OrtRunOptions* options, const Run& run) noexcept {
  const OrtApi& ort = api();
  OrtIoBinding* binding = binding_.get();
  Status status;
  for (size_t i = 0; status.ok() && i < run.input_names.size(); ++i) {
    status = check(ort.BindInput(binding, run.input_names[i], run.input_values[i]));
  }
  for (size_t i = 0; status.ok() && i < run.output_names.size(); ++i) {
    const OrtMemoryInfo* place = run.on_device[i] ? memory_info_.get() : host_info_.get();
    status = check(run.output_values[i] != nullptr
                       ? ort.BindOutput(binding, run.output_names[i], run.output_values[i])
                       : ort.BindOutputToDevice(binding, run.output_names[i], place));
  }
  if (status.ok()) status = check(ort.RunWithBinding(&session, options, binding));
  if (status.ok()) status = take_values(run);
  // Not kept beyond the run: the buffers are the requests'.
  ort.ClearBoundInputs(binding);
  ort.ClearBoundOutputs(binding);
  return status;
}

Status GpuExecution::take_values(const Run& run) noexcept {
  OrtAllocator* allocator = nullptr;
  ATOLL_RETURN_IF_ERROR(check(api().GetAllocatorWithDefaultOptions(&allocator)));
  OrtValue** values = nullptr;
  size_t count = 0;
  ATOLL_RETURN_IF_ERROR(check(api().GetBoundOutputValues(binding_.get(), allocator, &values, &count)));
  for (size_t i = 0; i < count; ++i) {
    Handle<OrtValue> value(values[i]);
    if (i < run.output_values.size() && run.output_values[i] == nullptr)
      run.output_values[i] = value.release();
  }
  allocator->Free(allocator, values);
  if (count == run.output_values.size()) return {};
  return internal_error("found ", count, " outputs of the model, expected ", run.output_values.size());
}

bool is_on_gpu(const OrtValue& value) noexcept {
  const OrtMemoryInfo* info = nullptr;
  if (!check(api().GetTensorMemoryInfo(&value, &info)).ok()) return false;
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  api().MemoryInfoGetDeviceType(info, &type);
  return type == OrtMemoryInfoDeviceType_GPU;
}

}  // namespace atl::ort
