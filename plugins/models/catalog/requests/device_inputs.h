/// Inputs in device memory, for instances that work on the CPU.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/gpu/device_memory.h"
#include "atoll/memory/request_memory.h"

namespace atl::models {

/// The one place where inputs come from devices to the CPU, so that backends which know no devices need not
/// know that there are any. Instances of KIND_GPU get their inputs as they are. The address must stay the
/// same between open() and close().
class DeviceInputs {
 public:
  explicit DeviceInputs(Host& host) : devices_(host), request_memory_(host) {}

  Status open() noexcept;  ///< [control] Errors: as Followed::open()
  void close() noexcept;   ///< [control]

  /// Whether there may be such inputs at all. A load of a pointer. [any]
  bool are_possible() const noexcept { return devices_.is_present(); }
  const DeviceMemory& devices() const noexcept { return devices_; }

  /// instance.execute(batch), with every input ready and in CPU memory: blocks for that. A request whose
  /// inputs cannot be brought there is answered, and reported as failed; the others are executed. Errors: as
  /// BackendInstance::execute(). [instance]
  Status execute(BackendInstance& instance, const Batch& batch, InferenceReporter* reporter) const noexcept;

  /// The request's inputs are ready and in CPU memory afterwards; copies are counted as the request's, and go
  /// when it is released. Errors: RESOURCE_EXHAUSTED there is no memory, or the request may not have it;
  /// those of Memory::copy(). [instance]
  Status bring_to_host(Request& request) const noexcept;

 private:
  using Failures = std::vector<std::pair<size_t, Status>>;  ///< of requests of a batch, by position
  Status execute_others(BackendInstance& instance, const Batch& batch, InferenceReporter* reporter,
                        Failures& failures) const noexcept;

  DeviceMemory devices_;
  Followed<RequestMemory> request_memory_;
};

}  // namespace atl::models
