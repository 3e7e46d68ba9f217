/// GPUs for plugins that call the CUDA driver themselves: "atoll.cuda/1".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/gpu/cuda_driver.h"

namespace atl {

struct CudaDeviceInfo {
  int32_t ordinal = 0;     ///< the driver's; what Buffer::device_id and InstanceSpec::device_id say
  std::string name;        ///< "NVIDIA H100 80GB HBM3"
  std::string uuid;        ///< "GPU-8f1c0e5d-…", of a part of a GPU that part's
  std::string pci_id;      ///< "0000:3b:00.0"
  int32_t capability = 0;  ///< 10 · major + minor
  uint64_t memory_bytes = 0;
};

/// What is to be done when a device has come to an event. Run exactly once.
struct CudaDone {
  /// \param outcome  UNAVAILABLE the device is lost, or its provider ends; INTERNAL another failure. The
  /// work before the event is not to be relied on then
  void (*run)(void* argument, Status outcome) = nullptr;
  void* argument = nullptr;
};

/// One driver, and the devices of it that may be used. A device costs nothing before it is used for the first
/// time. Every result of the driver goes through report(), so that a device whose context is broken is known to
/// be lost, to all at once: no call is made for it from then on, also none that frees. [any]
class Cuda {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.cuda/1";

  /// Ascending by ordinal, those that are lost too; stays as it is. Empty: see absence().
  virtual std::span<const CudaDeviceInfo> devices() const noexcept = 0;
  /// Why there are no devices, in one line; OK: there are.
  virtual Status absence() const noexcept = 0;
  /// Not to be called through where devices() is empty.
  virtual const CudaDriver& driver() const noexcept = 0;

  /// Makes the device's context, which all plugins share, the calling thread's current one, and the context
  /// itself where this is the first time; that takes long. It stays current until somebody changes it.
  /// Errors: INVALID_ARGUMENT it is none of devices(); UNAVAILABLE the device is lost, or taken by another
  /// process; RESOURCE_EXHAUSTED no memory for a context.
  virtual Status ensure_current(int32_t device) noexcept = 0;
  /// Errors: as ensure_current(). What it was made by is what ensure_current() made current.
  virtual Result<CudaContext> context(int32_t device) noexcept = 0;

  /// OK, or why the device is lost: UNAVAILABLE. INVALID_ARGUMENT it is none of devices().
  virtual Status lost(int32_t device) const noexcept = 0;
  /// A result of a call as a Status, which names the device, the call and the code: RESOURCE_EXHAUSTED for memory,
  /// UNAVAILABLE for a device that is lost by this or was already, else INTERNAL. \param call  "cuMemAlloc"
  virtual Status report(int32_t device, const char* call, CudaResult result) noexcept = 0;

  /// A stream that does not wait for any other and has nothing to do; the device is current after it.
  /// Errors: as ensure_current(), and report().
  virtual Result<CudaStream> acquire_stream(int32_t device) noexcept = 0;
  /// \param stream  of acquire_stream(), with nothing to do, unless the device is lost
  virtual void release_stream(int32_t device, CudaStream stream) noexcept = 0;
  /// An event without timing, whose waiters sleep; the device is current after it. Errors: as acquire_stream().
  virtual Result<CudaEvent> acquire_event(int32_t device) noexcept = 0;
  /// \param event  of acquire_event(), which nobody waits for any more
  virtual void release_event(int32_t device, CudaEvent event) noexcept = 0;
  /// Runs `done` on the device's completion thread once the device has come to the recorded event, after those
  /// that were posted before. It may call the driver; the device is current. What it does, later ones wait for.
  /// Errors, after which it does not run: RESOURCE_EXHAUSTED no thread; INVALID_ARGUMENT as ensure_current().
  virtual Status post_when_done(int32_t device, CudaEvent event, CudaDone done) noexcept = 0;

  /// Calls the driver for a device and reports: `cuda.call<&CudaDriver::cuMemFree>(device, address)`. Calls nothing
  /// where the device is lost. Errors: as report().
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

/// For the code of memory and addresses: a device's address as tensors have it.
inline void* to_pointer(CudaAddress address) noexcept { return reinterpret_cast<void*>(address); }
inline CudaAddress to_address(const void* pointer) noexcept {
  return static_cast<CudaAddress>(reinterpret_cast<uintptr_t>(pointer));
}

}  // namespace atl
