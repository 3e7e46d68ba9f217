/// Memory of large output tensors, used again.
#pragma once

#include <cstddef>

namespace atl::frontends {

/// 64-byte aligned memory of the C library, which std::free() may free. Null: there is none. [any]
void* take_output_block(size_t bytes) noexcept;
/// Frees it, or keeps it for the next ones if it is large: of fresh memory the system takes a fault for each
/// page, which costs more than to fill it. Null is allowed. [any]
void free_output_block(void* block) noexcept;

}  // namespace atl::frontends
