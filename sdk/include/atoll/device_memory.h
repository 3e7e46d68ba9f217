/// Memory of GPUs for plugins whose own code runs on the CPU: what they copy by, whoever provides it.
#pragma once

#include "atoll/followed_service.h"
#include "atoll/memory.h"
#include "atoll/request.h"

namespace atl {

/// Follows the provider of kGpu memory, which may come, be replaced and go while the server runs; most
/// servers have none. The plugin declares `many<Memory>()`. The address must stay the same between open() and
/// close().
class DeviceMemory {
 public:
  explicit DeviceMemory(Host& host, std::function<void()> changed = {})
      : memory_(
            host, [&host] { return memory_of(host.registry(), MemoryKind::kGpu, Memory::kDevicesMinor); },
            std::move(changed)) {}

  Status open() noexcept { return memory_.open(); }  ///< [control] Errors: as Followed::open()
  void close() noexcept { memory_.close(); }         ///< [control]
  /// [any] A load of a pointer.
  bool is_present() const noexcept { return memory_.is_present(); }
  /// [request] Empty: there is no provider.
  Followed<Memory>::Hold hold() const noexcept { return memory_.hold(); }

  /// Memory::copy() between any two buffers, also between two of the host; blocks. [request]
  /// Errors: as there; INVALID_ARGUMENT one is in device memory and there is no provider.
  Status copy(const Buffer& to, const Buffer& from) const noexcept {
    if (to.kind == MemoryKind::kGpu || from.kind == MemoryKind::kGpu) {
      if (const auto memory = hold()) return memory->copy(to, from);
    }
    return copy_on_host(to, from);
  }

 private:
  Followed<Memory> memory_;
};

/// For a sink that drops a response: blocks until no device writes to its outputs any more, so that their
/// memory may be freed.
inline void wait_for_outputs(const Response& response) noexcept {
  for (const OutputTensor& output : response.outputs) (void)wait_until_ready(output.buffer).ok();
}

}  // namespace atl
