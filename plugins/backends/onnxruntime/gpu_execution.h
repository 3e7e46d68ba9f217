/// What an instance on a GPU has beside one on the CPU: copies to and from the device, memory there, and the binding of
/// outputs whose shapes are not known before a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "atoll/gpu/cuda.h"
#include "atoll/request/request.h"
#include "backends/onnxruntime/gpu_source.h"
#include "backends/onnxruntime/ort_api.h"
#include "backends/onnxruntime/scratch.h"

namespace atl::ort {

/// Of one instance, whose thread calls everything but loss(). Between begin() and end() it has a stream, on which copies
/// are begun; what ONNX Runtime is to use has to be waited for, because its work is on a stream of its own.
class GpuExecution {
 public:
  /// Kernels read several elements at a time, so a tensor that begins elsewhere is copied first.
  static constexpr uint64_t kAlignment = Scratch::kAlignment;

  /// \param source   outlives it
  /// \param outputs  of the model
  static Result<std::unique_ptr<GpuExecution>> make(GpuSource& source, int32_t device, OrtSession& session,
                                                    size_t outputs, uint64_t keep_bytes) noexcept;
  ~GpuExecution() { end(); }

  int32_t device() const noexcept { return device_; }
  const OrtMemoryInfo* memory_info() const noexcept { return memory_info_.get(); }

  /// Errors: UNAVAILABLE the device is lost, or nobody provides it any more; those of Cuda::acquire_stream()
  Status begin() noexcept;
  /// Waits for what is not done yet, whatever becomes of it, and gives memory back.
  void end() noexcept;

  /// Why nothing can run on the device any more; OK: it can. [any]
  Status loss() const noexcept;
  /// What a failure was about: if the device has been lost by it, that. \param failure  of ONNX Runtime
  Status explain(Status failure) noexcept;

  /// At least size_bytes on the device, until end(). Errors: those of Scratch::reserve()
  Result<std::byte*> reserve(uint64_t size_bytes) noexcept { return scratch_.reserve(size_bytes); }
  /// Whether a tensor can be used where it is.
  bool is_usable(const Buffer& buffer) const noexcept;
  /// Begins to copy all of `from`, which is ready, to the beginning of `to`, which is as large; both stay until wait().
  /// Errors: those of Cuda::report()
  Status copy(const Buffer& to, const Buffer& from) noexcept;
  /// Until all copies are done. Errors: as copy()
  Status wait() noexcept;
  /// Texts are taken apart by the CPU: those that are on a device are copied to the request's arena.
  Status bring_texts(Request& request) noexcept;

  /// Whether the output went to memory of a GPU the last time. \param output  its position among the model's
  bool is_expected(size_t output) const noexcept { return expected_[output]; }
  void note_place(size_t output, MemoryKind kind) noexcept { expected_[output] = kind == MemoryKind::kGpu; }

  /// As OrtApi::Run(); an output without a value whose name is among `on_device` is made on the device.
  struct Run {
    std::vector<const char*>& input_names;
    std::vector<const OrtValue*>& input_values;
    std::vector<const char*>& output_names;
    std::vector<OrtValue*>& output_values;  ///< null: to be made
    const std::vector<bool>& on_device;     ///< as output_names
  };
  Status run_bound(OrtSession& session, const OrtRunOptions* options, const Run& run) noexcept;

 private:
  GpuExecution(GpuSource& source, int32_t device, size_t outputs, uint64_t keep_bytes) noexcept;
  Status copy_between_devices(const Buffer& to, const Buffer& from) noexcept;
  Status take_values(const Run& run) noexcept;

  GpuSource& source_;
  const int32_t device_;
  Handle<OrtMemoryInfo> memory_info_;
  Handle<OrtMemoryInfo> host_info_;
  Handle<OrtIoBinding> binding_;
  Scratch scratch_;
  std::vector<bool> expected_;
  Followed<Cuda>::Hold cuda_;  ///< while there is a stream
  CudaStream stream_ = nullptr;
  bool is_copying_ = false;
};

/// Whether a value is in memory of a GPU.
bool is_on_gpu(const OrtValue& value) noexcept;

}  // namespace atl::ort
