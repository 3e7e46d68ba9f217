/// The GPUs of one driver: "atoll.cuda/1".
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/gpu/cuda.h"
#include "memory/cuda/driver_library.h"

namespace atl::memory {

/// Which devices are used.
struct DeviceChoice {
  std::optional<std::vector<int32_t>> ordinals;  ///< ascending; nothing: all
  int32_t min_capability = 0;                    ///< 10 · major + minor
};

class Devices final : public Cuda {
 public:
  explicit Devices(Host& host) noexcept : host_(host) {}
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  virtual ~Devices() { close(); }

  /// Starts the driver and looks what is there. Says in the log what is used, and why something is not; that there is
  /// nothing is no failure. Once, before everything else. [control]
  void open(const Result<DriverEntry>& entry, const DeviceChoice& choice) noexcept;
  /// Gives everything back that the driver gave; nobody uses it any more. [control]
  void close() noexcept;

  std::span<const CudaDeviceInfo> devices() const noexcept override { return infos_; }
  Status absence() const noexcept override { return absence_.clone(); }
  const CudaDriver& driver() const noexcept override { return driver_.functions; }
  Status ensure_current(int32_t device) noexcept override;
  Result<CudaContext> context(int32_t device) noexcept override;
  Status lost(int32_t device) const noexcept override;
  Status report(int32_t device, const char* call, CudaResult result) noexcept override;
  Result<CudaStream> acquire_stream(int32_t device) noexcept override;
  void release_stream(int32_t device, CudaStream stream) noexcept override;
  Result<CudaEvent> acquire_event(int32_t device) noexcept override;
  void release_event(int32_t device, CudaEvent event) noexcept override;
  Status post_when_done(int32_t device, CudaEvent event, CudaDone done) noexcept override;

  /// Whether memory can be mapped by hand there. \param device  one of devices()
  bool has_virtual_memory(int32_t device) const noexcept { return find(device)->has_virtual_memory; }
  /// Logs what a function cannot return.
  void log_failure(const Status& status) noexcept;

 private:
  struct Device {
    int32_t ordinal = 0;
    CudaDevice handle = 0;
    bool has_virtual_memory = false;
    std::atomic<bool> is_lost{false};
    mutable std::mutex mutex;  ///< for what follows
    Status loss;
    CudaContext context = nullptr;
    std::vector<CudaStream> streams;
    std::vector<CudaEvent> events;
    SerialExecutorPtr completions;
  };
  struct Completion;

  Status add(int32_t ordinal, const DeviceChoice& choice) noexcept;
  Status describe(Device* device, CudaDeviceInfo* info) noexcept;
  Status check_use(const CudaDeviceInfo& info, const DeviceChoice& choice, Device* device) noexcept;
  Status attribute(CudaDevice handle, CudaDeviceAttribute which, int32_t* value) noexcept;
  Device* find(int32_t device) const noexcept;
  void close(Device& device) noexcept;

  Host& host_;
  BoundDriver driver_;
  Status absence_;
  std::vector<CudaDeviceInfo> infos_;
  std::vector<std::unique_ptr<Device>> devices_;  ///< as infos_
};

}  // namespace atl::memory
