#include "caches/local/answer_store.h"

#include <utility>

namespace atl::caches {

AnswerStore::~AnswerStore() {
  for (Shard& shard : shards_) shard.by_use.clear();
}

KeptAnswer::Ref AnswerStore::find(const CacheKey& key, int64_t now_ns) noexcept {
  Shard& shard = shard_of(key);
  KeptAnswer::Ref outdated;  // goes when the lock has gone
  std::scoped_lock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end()) return {};
  Entry& entry = found->second;
  if (now_ns >= entry.until_ns) {
    outdated = remove(shard, entry);
    return {};
  }
  entry.used_ns = now_ns;
  shard.by_use.erase(shard.by_use.iterator_to(entry));
  shard.by_use.push_front(entry);
  shard.note_oldest();
  return entry.answer;
}

bool AnswerStore::insert(const CacheKey& key, KeptAnswer::Ref answer, int64_t now_ns) noexcept {
  const uint64_t need_bytes = answer->size_bytes() + kOverheadBytes;
  if (need_bytes > size_bytes()) return false;
  used_bytes_.fetch_add(need_bytes, std::memory_order_relaxed);
  make_room();
  Shard& shard = shard_of(key);
  KeptAnswer::Ref before;
  std::scoped_lock lock(shard.mutex);
  if (const auto found = shard.entries.find(key); found != shard.entries.end())
    before = remove(shard, found->second);
  Entry& entry = shard.entries[key];
  entry.key = key;
  entry.answer = std::move(answer);
  entry.used_ns = now_ns;
  if (const int64_t ttl_ns = ttl_ns_.load(std::memory_order_relaxed); ttl_ns != 0) {
    entry.until_ns = now_ns + ttl_ns;
  }
  shard.by_use.push_front(entry);
  shard.note_oldest();
  entries_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

KeptAnswer::Ref AnswerStore::remove(Shard& shard, Entry& entry) noexcept {
  KeptAnswer::Ref answer = std::move(entry.answer);
  shard.by_use.erase(shard.by_use.iterator_to(entry));
  const CacheKey key = entry.key;
  shard.entries.erase(key);
  shard.note_oldest();
  used_bytes_.fetch_sub(answer->size_bytes() + kOverheadBytes, std::memory_order_relaxed);
  entries_.fetch_sub(1, std::memory_order_relaxed);
  return answer;
}

void AnswerStore::evict_oldest() noexcept {
  Shard* oldest = &shards_[0];
  for (Shard& shard : shards_) {
    if (shard.oldest_ns.load(std::memory_order_relaxed) < oldest->oldest_ns.load(std::memory_order_relaxed)) {
      oldest = &shard;
    }
  }
  KeptAnswer::Ref evicted;
  std::scoped_lock lock(oldest->mutex);
  if (oldest->by_use.empty()) return;  // another thread was quicker
  evicted = remove(*oldest, oldest->by_use.back());
  evictions_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace atl::caches
