/// Joining an input's buffers: a tensor may arrive in several pieces of memory, backends mostly want one.
#pragma once

#include <cstdint>
#include <span>

#include "atoll/arena.h"
#include "atoll/status.h"
#include "atoll/tensor.h"

namespace atl::backends {

/// Whether the CPU may read and write it in place.
constexpr bool is_host_memory(MemoryKind kind) noexcept { return kind != MemoryKind::kGpu; }

/// Copies the buffers in order to the beginning of `to`.
/// \param what  the tensor, for the message: "input 'INPUT0'".
/// \returns the number of bytes written.
/// Errors: INVALID_ARGUMENT a buffer of GPU memory on either side; INTERNAL `to` is too small. Nothing is
/// written then.
Result<uint64_t> gather(std::span<const Buffer> from, const Buffer& to, std::string_view what) noexcept;

/// The input's bytes as one piece that is aligned to `alignment`: its own buffer if that will do, else a copy
/// in the arena (which must live as long as the bytes are used; the request's own lives until its release).
/// Errors: INVALID_ARGUMENT a buffer of GPU memory.
Result<std::span<const std::byte>> contiguous(const InputTensor& input, Arena& arena,
                                              size_t alignment) noexcept;

}  // namespace atl::backends
