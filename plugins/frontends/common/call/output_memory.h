/// Memory for output tensors, given so that a transport can send it as it is.
#pragma once

#include <cstdint>
#include <utility>

#include "atoll/request/request.h"
#include "frontends/common/call/output_blocks.h"

namespace atl::frontends {

/// Tensors up to this size are copied into the head of the answer: cheaper than a piece of their own.
inline constexpr uint64_t kInlineBytes = 4096;

/// Gives the output a buffer: of the response's arena if it will be copied, else one of the C library, which
/// is in sink_data as long as it is the output's. Errors: RESOURCE_EXHAUSTED.
Status give_output_memory(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept;

/// The memory is the caller's, who frees it with free_output_block() or std::free(). Null: it is of the arena.
inline void* take_output_memory(OutputTensor& output) noexcept {
  return reinterpret_cast<void*>(std::exchange(output.sink_data, 0));
}
/// Frees what was not taken.
inline void free_output_memory(OutputTensor& output) noexcept {
  free_output_block(take_output_memory(output));
}

/// RESOURCE_EXHAUSTED, for an output of more bytes than there are.
Status no_output_memory(const OutputTensor& output, uint64_t size_bytes) noexcept;

}  // namespace atl::frontends
