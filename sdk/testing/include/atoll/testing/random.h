/// A small seeded generator, the same on every machine: what a simulation prints as its seed repeats it.
#pragma once

#include <cstdint>

namespace atl::test {

/// SplitMix64. Not thread safe.
class Random {
 public:
  explicit Random(uint64_t seed) noexcept : state_(seed) {}
  uint64_t next() noexcept {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// 0..bound-1; 0 for bound 0.
  uint64_t below(uint64_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }
  /// low..high, both included.
  int64_t between(int64_t low, int64_t high) noexcept {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }
  /// True in about `percent` of a hundred calls.
  bool chance(uint32_t percent) noexcept { return below(100) < percent; }

 private:
  uint64_t state_;
};

}  // namespace atl::test
