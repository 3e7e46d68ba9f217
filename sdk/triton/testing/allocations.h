/// Counts what a thread allocates by operator new; replaces it in the whole program.
#pragma once

#include <cstdint>

namespace atl::triton::test {

/// Of the calling thread, ever.
uint64_t allocations() noexcept;

}  // namespace atl::triton::test
