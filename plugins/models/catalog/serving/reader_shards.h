/// A lock for tables that every request reads and that hardly ever change: a reader locks only its thread's
/// own shard, a writer locks them all.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace atl::models {

/// [any] Critical sections must be short; the writer's too, because all readers wait for it.
class ReaderShards {
 public:
  static constexpr uint32_t kShards = 16;

  /// The shard of the calling thread, the same for all objects of this class.
  static uint32_t current_shard() noexcept {
    static std::atomic<uint32_t> next{0};
    // Trivially destructible, so it does not keep the plugin mapped.
    thread_local uint32_t mine = next.fetch_add(1, std::memory_order_relaxed) % kShards;
    return mine;
  }

  /// Excludes writers while it lives. What is guarded per shard may be written under it.
  class Read {
   public:
    explicit Read(ReaderShards& shards) noexcept
        : shard_(current_shard()), mutex_(shards.shards_[shard_].mutex) {
      mutex_.lock();
    }
    Read(const Read&) = delete;
    Read& operator=(const Read&) = delete;
    ~Read() { mutex_.unlock(); }
    uint32_t shard() const noexcept { return shard_; }

   private:
    uint32_t shard_;
    std::mutex& mutex_;
  };

  /// Excludes readers and writers while it lives.
  class Write {
   public:
    explicit Write(ReaderShards& shards) noexcept : shards_(shards) {
      for (Shard& shard : shards_.shards_) shard.mutex.lock();
    }
    Write(const Write&) = delete;
    Write& operator=(const Write&) = delete;
    ~Write() {
      for (auto shard = shards_.shards_.rbegin(); shard != shards_.shards_.rend(); ++shard) {
        shard->mutex.unlock();
      }
    }

   private:
    ReaderShards& shards_;
  };

 private:
  struct alignas(64) Shard {
    std::mutex mutex;
  };
  std::array<Shard, kShards> shards_;
};

}  // namespace atl::models
