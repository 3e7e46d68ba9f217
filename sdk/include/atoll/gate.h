/// Gate: the count of who is inside something that will be torn down.
///
/// Entering and leaving touch one counter of the calling thread's own shard, so threads do not share a cache
/// line; the shards are summed only when the gate closes. Nothing is ever torn down while somebody is inside.
#pragma once

#include <atomic>
#include <cstdint>

namespace atl {

/// [any] for every function. leave() may still read the gate after its decrement made the count zero, so
/// whoever waits for zero keeps the gate's memory until that thread has returned (the kernel keeps ended
/// instances for a while).
class Gate {
 public:
  static constexpr uint32_t kShards = 16;

  /// Called by the thread that brings a closed gate's count to zero; may be called more than once.
  using OnEmpty = void (*)(void* context);

  Gate() noexcept = default;
  Gate(OnEmpty on_empty, void* context) noexcept : on_empty_(on_empty), context_(context) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// \returns false if the gate is closed: do not go in, do not call leave().
  bool enter() noexcept {
    auto& count = shard();
    count.fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return true;
    count.fetch_sub(1, std::memory_order_seq_cst);
    notify_if_empty();
    return false;
  }
  /// May run on another thread than enter() did.
  void leave() noexcept {
    shard().fetch_sub(1, std::memory_order_seq_cst);
    if (closed_.load(std::memory_order_seq_cst)) notify_if_empty();
  }
  void close() noexcept {
    closed_.store(true, std::memory_order_seq_cst);
    notify_if_empty();
  }
  void open() noexcept { closed_.store(false, std::memory_order_seq_cst); }
  bool closed() const noexcept { return closed_.load(std::memory_order_seq_cst); }
  /// Exact once closed and everybody has left; a moment's estimate before.
  int64_t count() const noexcept {
    int64_t sum = 0;
    for (const auto& shard : shards_) sum += shard.count.load(std::memory_order_seq_cst);
    return sum;
  }

 private:
  struct alignas(64) Shard {
    std::atomic<int64_t> count{0};
  };
  std::atomic<int64_t>& shard() noexcept {
    static std::atomic<uint32_t> next{0};
    // Trivially destructible, so it does not keep a plugin mapped.
    thread_local uint32_t mine = next.fetch_add(1, std::memory_order_relaxed) % kShards;
    return shards_[mine].count;
  }
  void notify_if_empty() noexcept {
    if (on_empty_ != nullptr && count() == 0) on_empty_(context_);
  }

  Shard shards_[kShards];
  std::atomic<bool> closed_{false};
  OnEmpty on_empty_ = nullptr;
  void* context_ = nullptr;
};

/// One stay inside a gate. Empty if the gate was closed.
class Pass {
 public:
  Pass() noexcept = default;
  explicit Pass(Gate& gate) noexcept : gate_(gate.enter() ? &gate : nullptr) {}
  Pass(Pass&& other) noexcept : gate_(other.gate_) { other.gate_ = nullptr; }
  Pass& operator=(Pass&& other) noexcept {
    if (this != &other) {
      reset();
      gate_ = other.gate_;
      other.gate_ = nullptr;
    }
    return *this;
  }
  ~Pass() { reset(); }
  explicit operator bool() const noexcept { return gate_ != nullptr; }
  void reset() noexcept {
    if (gate_ != nullptr) gate_->leave();
    gate_ = nullptr;
  }

 private:
  Gate* gate_ = nullptr;
};

}  // namespace atl
