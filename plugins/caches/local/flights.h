/// Which requests are being computed, and who waits for the answer to an equal one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "atoll/core/gate.h"
#include "atoll/core/intrusive_list.h"
#include "atoll/request/response_cache.h"
#include "caches/common/cache_key.h"

namespace atl::caches {

/// A request that waits for the answer to another one. Counted: its cancellation may look at it while it is resumed.
struct Waiting {
  Request* request = nullptr;
  CacheWaiter* waiter = nullptr;
  void* cache = nullptr;  ///< for the cancellation
  CacheKey key;
  int64_t begun_ns = 0;
  Pass pass;
  Waiting* next = nullptr;
  bool taken = false;  ///< under the lock of its flight: somebody resumes or answers it
  std::atomic<uint32_t> holders{1};

  void hold() noexcept { holders.fetch_add(1, std::memory_order_relaxed); }
  void let_go() noexcept {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};
using WaitingList = IntrusiveList<Waiting>;

/// In shards with a lock each. [any]
class Flights {
 public:
  enum class Role { kLeads, kWaits, kAnswered };

  Flights() = default;
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;

  /// Who comes first leads: it is computed, and owes an end(). \param make  called with the lock held for one that is
  /// to wait; null: it cannot, and leads nothing either \param look  called with the lock held where nobody leads;
  /// true: the answer is there by now
  template <class Make, class Look>
  Role join(const CacheKey& key, Make&& make, Look&& look) {
    Shard& shard = shard_of(key);
    std::scoped_lock lock(shard.mutex);
    const auto found = shard.flights.find(key);
    if (found == shard.flights.end()) {
      if (look()) return Role::kAnswered;
      shard.flights.try_emplace(key);
      return Role::kLeads;
    }
    if (Waiting* waiting = make()) found->second.push_back(*waiting);
    return Role::kWaits;
  }
  /// The flight is over. \returns who waited, in their order
  void end(const CacheKey& key, WaitingList& waited) noexcept {
    Shard& shard = shard_of(key);
    std::scoped_lock lock(shard.mutex);
    const auto found = shard.flights.find(key);
    take(found->second, waited);
    shard.flights.erase(found);
  }
  /// Its leader has gone: the first one that waits leads now. \returns it; null: nobody waited, the flight is over
  Waiting* pass_on(const CacheKey& key) noexcept {
    Shard& shard = shard_of(key);
    std::scoped_lock lock(shard.mutex);
    const auto found = shard.flights.find(key);
    Waiting* next = found->second.pop_front();
    if (next == nullptr) {
      shard.flights.erase(found);
    } else {
      next->taken = true;
    }
    return next;
  }
  /// \returns whether it was still waiting: it is the caller's
  bool remove(Waiting& waiting) noexcept {
    Shard& shard = shard_of(waiting.key);
    std::scoped_lock lock(shard.mutex);
    if (waiting.taken) return false;
    waiting.taken = true;
    shard.flights.find(waiting.key)->second.remove(waiting);
    return true;
  }

 private:
  static constexpr uint32_t kShards = 32;
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<CacheKey, WaitingList, CacheKeyHash> flights;
  };
  Shard& shard_of(const CacheKey& key) noexcept { return shards_[key.high % kShards]; }
  static void take(WaitingList& from, WaitingList& to) noexcept {
    while (Waiting* one = from.pop_front()) {
      one->taken = true;
      to.push_back(*one);
    }
  }

  std::array<Shard, kShards> shards_;
};

}  // namespace atl::caches
