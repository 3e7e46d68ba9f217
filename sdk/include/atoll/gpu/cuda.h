/// GPUs for plugins that call the CUDA driver themselves: devices, contexts, streams, events, and
/// the place where failures are reported. Service "atoll.cuda/1", provided by memory/cuda.
///
///     Result<CudaStream> stream = cuda->acquire_stream(device);  // the device is current afterwards
///     if (!stream.ok()) return std::move(stream).status();
///     Status done = cuda->call<&CudaDriver::cuMemcpyAsync>(device, to, from, bytes, *stream);
///     if (done.ok()) done = cuda->call<&CudaDriver::cuStreamSynchronize>(device, *stream);
///     cuda->release_stream(device, *stream);
///
/// A device is named by its ordinal, the number that the driver counts it by. Plugins that only
/// copy tensors use DeviceMemory (device_memory.h) instead.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/gpu/cuda_driver.h"

namespace atl {

/// One device, as the driver describes it when the server starts.
struct CudaDeviceInfo {
  /// The driver's number of the device. Buffer::device_id and InstanceSpec::device_id hold it.
  int32_t ordinal = 0;
  /// "NVIDIA H100 80GB HBM3"
  std::string name;
  /// "GPU-8f1c0e5d-…". For a part of a GPU (MIG) it is the part's own number, which begins with
  /// "GPU-" here too.
  std::string uuid;
  /// "0000:3b:00.0"
  std::string pci_id;
  /// The compute capability, as 10 · major + minor: 90 for 9.0.
  int32_t capability = 0;
  /// All of the device's memory, used or not.
  uint64_t memory_bytes = 0;
};

/// What is to be done when a device has come to an event. Whoever takes this struct calls `run`
/// exactly once, also where the device is lost and where the provider ends.
struct CudaDone {
  /// \param argument  the member below, which `run` owns from here on
  /// \param outcome  success, or why the work before the event is not to be relied on: UNAVAILABLE
  /// if the device is lost or its provider ends, INTERNAL for another failure
  void (*run)(void* argument, Status outcome) = nullptr;
  void* argument = nullptr;
};

/// One driver, and those of its devices that may be used. A device costs nothing before it is used
/// for the first time.
///
/// Every result of the driver goes through report(), or through call(), which does so. Some
/// failures persist: what one kernel did wrong is the answer to every later call. The first such
/// failure marks the device lost, for all plugins at once. From then on no call is made for that
/// device, also none that frees, until the server is started anew. [any]
class Cuda {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.cuda/1";

  /// The devices in ascending order of their ordinals, those that are lost included. The list stays
  /// as it is while the service is held. Empty: see absence().
  virtual std::span<const CudaDeviceInfo> devices() const noexcept = 0;
  /// Why there are no devices, in one line: no driver, one that is too old, no GPU that may be
  /// used. Success where there are devices.
  virtual Status absence() const noexcept = 0;
  /// The driver's functions. Must not be called through where devices() is empty. Use call() unless
  /// the driver's own result is needed.
  virtual const CudaDriver& driver() const noexcept = 0;

  /// Makes the device's primary context, which all plugins share, the current one of the calling
  /// thread. The context stays current until somebody changes it. The first call for a device makes
  /// the context itself, which takes long and takes memory of the device.
  /// Errors: INVALID_ARGUMENT if the device is none of devices(); UNAVAILABLE if the device is
  /// lost, or taken by another process; RESOURCE_EXHAUSTED if there is no memory for a context.
  virtual Status ensure_current(int32_t device) noexcept = 0;
  /// The device's primary context, without making it current: for cuMemcpyPeerAsync, which takes
  /// the contexts of both sides. Makes the context, as ensure_current() does, but leaves the
  /// calling thread's current one alone. The context is the provider's, which gives it back at its
  /// end.
  /// Errors: as ensure_current().
  virtual Result<CudaContext> context(int32_t device) noexcept = 0;

  /// Success, or why the device cannot be used: UNAVAILABLE if the device is lost, with the
  /// failure that made it so; INVALID_ARGUMENT if it is none of devices(). Costs one atomic load where
  /// all is well.
  virtual Status lost(int32_t device) const noexcept = 0;
  /// Turns the result of a call into a Status, which names the device, the call and the code, and
  /// marks the device lost if the code says so (cuda_result.h). SUCCESS gives success. NOT_READY is
  /// a failure here, so whoever polls looks at it before.
  /// \param call  "cuMemAlloc"
  /// Errors: RESOURCE_EXHAUSTED for memory; UNAVAILABLE if the device is lost by this or was
  /// before, or the driver cannot be used; INTERNAL for all other codes.
  virtual Status report(int32_t device, const char* call, CudaResult result) noexcept = 0;

  /// A stream that has nothing to do and does not wait for the legacy default stream. Streams are
  /// used again; the caller has this one alone until release_stream(). The device is current
  /// afterwards.
  /// Errors: as ensure_current(), and report().
  virtual Result<CudaStream> acquire_stream(int32_t device) noexcept = 0;
  /// Gives a stream back for others to use.
  /// \param stream  of acquire_stream() with the same device; all its work has ended, unless the
  /// device is lost
  virtual void release_stream(int32_t device, CudaStream stream) noexcept = 0;
  /// An event without timing; a thread that waits for it sleeps instead of spinning. The caller has
  /// it alone until release_event(). The device is current afterwards.
  /// Errors: as acquire_stream().
  virtual Result<CudaEvent> acquire_event(int32_t device) noexcept = 0;
  /// Gives an event back for others to use.
  /// \param event  of acquire_event() with the same device, which nobody waits for any more
  virtual void release_event(int32_t device, CudaEvent event) noexcept = 0;
  /// Runs `done` once the device has come to the event, without a thread of the caller's that
  /// waits. Each device has one completion thread, which waits for the events in the order in which
  /// they were posted. `done` runs on that thread, with the device current, and may call the
  /// driver; later events wait until it returns.
  /// \param event  recorded in a stream already
  /// Errors, after which `done` does not run: RESOURCE_EXHAUSTED if there is no thread;
  /// INVALID_ARGUMENT as for ensure_current().
  virtual Status post_when_done(int32_t device, CudaEvent event, CudaDone done) noexcept = 0;

  /// Calls the driver for a device and reports the result:
  /// `cuda.call<&CudaDriver::cuMemFree>(device, address)`. Calls nothing where the device is lost.
  /// Does not make the device current: the caller has done that on this thread before, by
  /// ensure_current() or acquire_stream().
  /// Errors: as report().
  template <auto kFunction, class... Arguments>
  Status call(int32_t device, Arguments&&... arguments) noexcept {
    ATOLL_RETURN_IF_ERROR(lost(device));
    const CudaResult result = (driver().*kFunction)(std::forward<Arguments>(arguments)...);
    if (result == CudaResult::SUCCESS) return {};
    return report(device, cuda_symbol_name<kFunction>(), result);
  }

 protected:
  ~Cuda() = default;
};

/// A device's address, as tensors and buffers have it. The CPU must not follow the pointer.
inline void* to_pointer(CudaAddress address) noexcept { return reinterpret_cast<void*>(address); }
/// The same address, as the driver's functions take it.
inline CudaAddress to_address(const void* pointer) noexcept {
  return static_cast<CudaAddress>(reinterpret_cast<uintptr_t>(pointer));
}

}  // namespace atl
