#include "routing/weighted/draws.h"

namespace atl::routing {
namespace {

constexpr uint64_t kStep = 0x9E3779B97F4A7C15;

uint64_t mix(uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace

Draws::Draws(uint64_t seed) noexcept {
  // Far apart in the one sequence, so that no two shards give the same numbers.
  for (uint32_t i = 0; i < kShards; ++i) {
    shards_[i].state.store(mix(seed + i * kStep), std::memory_order_relaxed);
  }
}

uint64_t Draws::next() noexcept {
  static std::atomic<uint32_t> threads{0};
  // Trivially destructible, so it does not keep the plugin mapped.
  thread_local uint32_t mine = threads.fetch_add(1, std::memory_order_relaxed) % kShards;
  return mix(shards_[mine].state.fetch_add(kStep, std::memory_order_relaxed) + kStep);
}

}  // namespace atl::routing
