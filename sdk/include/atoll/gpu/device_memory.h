/// Memory of GPUs for plugins whose own code runs on the CPU: what they copy by, whoever provides it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "atoll/core/followed_service.h"
#include "atoll/memory/memory.h"
#include "atoll/request/request.h"

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

/// Tensors that are copied into one block begin at multiples of it.
inline constexpr uint64_t kTensorBlockAlignment = 64;

/// What the bytes of these buffers take in such a block, all of one tensor; nothing if no number holds it.
inline std::optional<uint64_t> block_bytes(std::span<const Buffer> buffers) noexcept {
  uint64_t bytes = kTensorBlockAlignment - 1;
  for (const Buffer& buffer : buffers) {
    if (__builtin_add_overflow(bytes, buffer.size_bytes, &bytes)) return std::nullopt;
  }
  return bytes / kTensorBlockAlignment * kTensorBlockAlignment;
}

/// Copies the buffers one after the other, as DeviceMemory::copy(). \param devices  null: nothing reaches
/// device memory \param to  in CPU memory, has room for all of them
/// \returns the copy as one buffer.
inline Result<Buffer> copy_to_block(const DeviceMemory* devices, std::span<const Buffer> buffers,
                                    std::byte* to) noexcept {
  Buffer whole;
  whole.data = to;
  for (const Buffer& from : buffers) {
    Buffer part;
    part.data = to + whole.size_bytes;
    part.size_bytes = from.size_bytes;
    ATOLL_RETURN_IF_ERROR(devices == nullptr ? copy_on_host(part, from) : devices->copy(part, from));
    whole.size_bytes += from.size_bytes;
  }
  return whole;
}

/// For a sink that drops a response: blocks until no device writes to its outputs any more, so that their
/// memory may be freed.
inline void wait_for_outputs(const Response& response) noexcept {
  for (const OutputTensor& output : response.outputs) (void)wait_until_ready(output.buffer).ok();
}

}  // namespace atl
