/// The answers that are kept, least recently used ones first thrown out.
#pragma once

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "caches/common/cache_key.h"
#include "caches/common/kept_answer.h"

namespace atl::caches {

/// In shards with a lock each, so that threads do not wait for each other; one limit for all, and one order of use:
/// what makes way is the entry that nobody has asked for for longest, in whatever shard. [any]
class AnswerStore {
 public:
  static constexpr uint32_t kShards = 32;

  /// \param size_bytes  of all answers with what it takes to find them \param ttl_ns  an answer is given for so long;
  /// 0: for ever
  AnswerStore(uint64_t size_bytes, int64_t ttl_ns) noexcept : size_bytes_(size_bytes), ttl_ns_(ttl_ns) {}
  AnswerStore(const AnswerStore&) = delete;
  AnswerStore& operator=(const AnswerStore&) = delete;
  ~AnswerStore();

  /// Empty: there is none, or its time is over.
  KeptAnswer::Ref find(const CacheKey& key, int64_t now_ns) noexcept;
  /// In the place of the one of this key, if there is one. \returns false: it is larger than all there may be
  bool insert(const CacheKey& key, KeptAnswer::Ref answer, int64_t now_ns) noexcept;
  /// Whether an answer of that size is kept at all.
  bool takes(uint64_t answer_bytes) const noexcept { return answer_bytes + kOverheadBytes <= size_bytes(); }
  /// What is kept from now on has these; of what is there, as much stays as there is room for.
  void follow(uint64_t size_bytes, int64_t ttl_ns) noexcept {
    size_bytes_.store(size_bytes, std::memory_order_relaxed);
    ttl_ns_.store(ttl_ns, std::memory_order_relaxed);
    make_room();
  }

  uint64_t size_bytes() const noexcept { return size_bytes_.load(std::memory_order_relaxed); }
  uint64_t used_bytes() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }
  uint64_t entries() const noexcept { return entries_.load(std::memory_order_relaxed); }
  /// Entries that made way; not those whose time was over.
  uint64_t evictions() const noexcept { return evictions_.load(std::memory_order_relaxed); }

 private:
  using Hook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;
  struct Entry : Hook {
    CacheKey key;
    KeptAnswer::Ref answer;
    int64_t used_ns = 0;
    int64_t until_ns = std::numeric_limits<int64_t>::max();
  };
  static constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();
  /// An entry, its node of the table and its share of the buckets.
  static constexpr uint64_t kOverheadBytes = sizeof(Entry) + sizeof(CacheKey) + 4 * sizeof(void*);

  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<CacheKey, Entry, CacheKeyHash> entries;
    boost::intrusive::list<Entry, boost::intrusive::constant_time_size<false>>
        by_use;  ///< the last used first
    std::atomic<int64_t> oldest_ns{kNobody};

    void note_oldest() noexcept {
      oldest_ns.store(by_use.empty() ? kNobody : by_use.back().used_ns, std::memory_order_relaxed);
    }
  };

  Shard& shard_of(const CacheKey& key) noexcept { return shards_[key.high % kShards]; }
  /// With the shard's lock. \returns its answer, to be dropped without the lock
  KeptAnswer::Ref remove(Shard& shard, Entry& entry) noexcept;
  void evict_oldest() noexcept;
  void make_room() noexcept {
    while (used_bytes() > size_bytes() && entries() != 0) evict_oldest();
  }

  std::atomic<uint64_t> size_bytes_;
  std::atomic<int64_t> ttl_ns_;
  std::atomic<uint64_t> used_bytes_{0}, entries_{0}, evictions_{0};
  std::array<Shard, kShards> shards_;
};

}  // namespace atl::caches
