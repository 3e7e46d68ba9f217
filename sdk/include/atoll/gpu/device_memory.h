/// Memory of GPUs for plugins whose own code runs on the CPU: how they copy tensors from and to
/// devices, whoever provides that memory.
///
///     DeviceMemory memory_{host_};                        // .needs = {many<Memory>()}
///     Status start() override { return memory_.open(); }
///     void stop() override { memory_.close(); }
///     ...
///     Status copied = memory_.copy(mine_on_the_cpu, input_that_may_be_on_a_gpu);
///
/// Such a plugin works with CUDA shared memory (KServe's extension "cuda_shared_memory") and with
/// outputs on devices, and knows nothing of CUDA.
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

/// Follows the provider of kGpu memory (memory/memory.h), which may come, be replaced and go while
/// the server runs. Most servers have none; there, each use is one check. The plugin declares
/// `many<Memory>()` among its needs. The object must stay at its address between open() and
/// close().
class DeviceMemory {
 public:
  /// \param host  of the plugin; outlives this object
  /// \param changed  called on the control thread after each change of the provider; may be null
  explicit DeviceMemory(Host& host, std::function<void()> changed = {})
      : memory_(
            host, [&host] { return memory_of(host.registry(), MemoryKind::kGpu, Memory::kDevicesMinor); },
            std::move(changed)) {}

  /// Takes the provider that is there, if any. In the plugin's start(). [control]
  /// Errors: as Followed::open().
  Status open() noexcept { return memory_.open(); }
  /// Lets the provider go, and waits for those who hold it. In the plugin's stop(). [control]
  void close() noexcept { memory_.close(); }
  /// Whether there is a provider now. Costs the load of a pointer. [any]
  bool is_present() const noexcept { return memory_.is_present(); }
  /// The provider, for other functions than copy(). Empty if there is none. [request]
  Followed<Memory>::Hold hold() const noexcept { return memory_.hold(); }

  /// Memory::copy() between any two buffers, also between two of the host. Blocks until the source
  /// is ready and the bytes have arrived. [request]
  /// Errors: as Memory::copy(); INVALID_ARGUMENT if one buffer is in device memory and there is no
  /// provider.
  Status copy(const Buffer& to, const Buffer& from) const noexcept {
    if (to.kind == MemoryKind::kGpu || from.kind == MemoryKind::kGpu) {
      if (const auto memory = hold()) return memory->copy(to, from);
    }
    return copy_on_host(to, from);
  }

 private:
  Followed<Memory> memory_;
};

/// Tensors that are copied into one block of CPU memory begin at multiples of this number of bytes.
inline constexpr uint64_t kTensorBlockAlignment = 64;

/// How many bytes one tensor takes in such a block: the sum of its buffers, rounded up to the
/// alignment. Nothing if the sum is more than 64 bits can hold. [any]
inline std::optional<uint64_t> block_bytes(std::span<const Buffer> buffers) noexcept {
  uint64_t bytes = kTensorBlockAlignment - 1;
  for (const Buffer& buffer : buffers) {
    if (__builtin_add_overflow(bytes, buffer.size_bytes, &bytes)) return std::nullopt;
  }
  return bytes / kTensorBlockAlignment * kTensorBlockAlignment;
}

/// Copies the buffers of one tensor one after the other. Blocks, as DeviceMemory::copy() does.
/// [request]
/// \param devices  null: no buffer may be in device memory
/// \param to  in CPU memory, with room for all of them
/// \returns the copy as one buffer, which borrows `to`.
/// Errors: as DeviceMemory::copy(); what was copied before stays in the block.
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

/// For a sink (request/request.h) that drops a response instead of sending it. Blocks until no
/// device writes to the response's outputs any more, so that their memory may be freed. [any]
inline void wait_for_outputs(const Response& response) noexcept {
  for (const OutputTensor& output : response.outputs) (void)wait_until_ready(output.buffer).ok();
}

}  // namespace atl
