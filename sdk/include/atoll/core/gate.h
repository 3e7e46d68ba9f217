/// Gate: the count of who is inside something that will be torn down. Closing it lets nobody in any more, and
/// tells when the last one has left: then, and not before, it may be torn down.
///
///     if (Pass pass{gate}) use(what_the_gate_guards);     // any thread
///     gate.close();                                       // the owner; on_empty tears down
///
/// Entering and leaving touch one counter of the calling thread's own shard, so threads do not share a cache
/// line; the shards are summed only when the gate closes. Neither waits, locks nor allocates.
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

  /// Called by the thread that brings a closed gate's count to zero, which may be close()'s own or that of any
  /// leave(), also of an enter() that came too late; may be called more than once, even by two threads at a
  /// time. It must not throw, and should hand what takes long to another thread.
  using OnEmpty = void (*)(void* context);

  /// Open, and nobody is told when it is empty: see count().
  Gate() noexcept = default;
  /// \param context  handed to on_empty as it is; has to outlive the gate
  Gate(OnEmpty on_empty, void* context) noexcept : on_empty_(on_empty), context_(context) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// \returns true: inside, until one leave(); false: the gate is closed, do not go in, do not call leave().
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
  /// Lets nobody in from here on; returns at once, whoever is inside. Calls on_empty itself if nobody is.
  void close() noexcept {
    closed_.store(true, std::memory_order_seq_cst);
    notify_if_empty();
  }
  /// Lets them in again. Those who were inside when it closed still count.
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

/// One stay inside a gate, left at its end. Empty if the gate was closed, or after it was moved from. Moves
/// between threads; the gate has to outlive it.
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
  /// Whether it is inside.
  explicit operator bool() const noexcept { return gate_ != nullptr; }
  /// Leaves, if it is inside.
  void reset() noexcept {
    if (gate_ != nullptr) gate_->leave();
    gate_ = nullptr;
  }

 private:
  Gate* gate_ = nullptr;
};

}  // namespace atl
