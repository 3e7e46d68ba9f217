/// Memory that is refused when a test says so; replaces operator new and aligned_alloc() in the whole program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace atl::test {

/// Of the thread that calls. One allocation fails.
class FailingMemory {
 public:
  /// That which comes behind so many others.
  static void fail_after(uint64_t others) noexcept;
  /// The next one of exactly so many bytes.
  static void fail_next_of(size_t bytes) noexcept;
  /// None fails any more. \returns whether one has
  static bool stop() noexcept;
};

}  // namespace atl::test
