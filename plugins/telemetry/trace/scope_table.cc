#include "telemetry/trace/scope_table.h"

#include <thread>

namespace atl::tracing {

ScopeTable::Shard& ScopeTable::own_shard() noexcept {
  static std::atomic<uint32_t> next{0};
  thread_local uint32_t mine = next.fetch_add(1, std::memory_order_relaxed) % kShards;
  return shards_[mine];
}

Sampled ScopeTable::sample(std::string_view model, bool forced, std::shared_ptr<Scope>* scope) noexcept {
  uint32_t parity = generation_.load(std::memory_order_seq_cst) & 1;
  std::atomic<uint32_t>& readers = own_shard().readers[parity];
  readers.fetch_add(1, std::memory_order_seq_cst);
  const std::shared_ptr<Scope>& found = current_.load(std::memory_order_seq_cst)->scope_of(model);
  Sampled sampled = found->sample(forced);
  if (sampled != Sampled::kNo) *scope = found;
  readers.fetch_sub(1, std::memory_order_release);
  return sampled;
}

std::unique_ptr<const ScopeSnapshot> ScopeTable::publish(std::unique_ptr<const ScopeSnapshot> next) noexcept {
  std::unique_ptr<const ScopeSnapshot> before(current_.exchange(next.release(), std::memory_order_seq_cst));
  // Twice, because a reader may have read the generation before the first change and counted itself after it.
  for (int round = 0; round < 2; ++round) {
    uint32_t parity = generation_.fetch_add(1, std::memory_order_seq_cst) & 1;
    for (Shard& shard : shards_) {
      while (shard.readers[parity].load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
    }
  }
  return before;
}

}  // namespace atl::tracing
