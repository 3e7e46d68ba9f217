/// Random numbers for threads that must not wait for each other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace atl::routing {

/// SplitMix64, one sequence a group of threads. The same seed gives a thread the same numbers. [any]
class Draws {
 public:
  explicit Draws(uint64_t seed) noexcept;

  /// Evenly distributed over all 64-bit numbers.
  uint64_t next() noexcept;

 private:
  static constexpr uint32_t kShards = 16;
  struct alignas(64) Shard {
    std::atomic<uint64_t> state{0};
  };
  std::array<Shard, kShards> shards_;
};

}  // namespace atl::routing
