/// Gate: the count of who is inside something that will be torn down. A closed gate lets nobody in
/// any more, and notifies its owner when the last one has left. Only then may the owner tear down
/// what the gate guards.
///
///     if (Pass pass{gate}) use(what_the_gate_guards);     // any thread
///     gate.close();                                       // the owner; on_empty tears down
///
/// The gate of a plugin instance is Host::gate(): work that must end before the instance is stopped
/// holds a Pass of it. Entering and leaving touch one counter of the calling thread's own shard, so
/// that threads do not share a cache line. The shards are summed only when the gate closes. Neither
/// function waits, takes a lock or allocates, so both stand on the request path.
#pragma once

#include <atomic>
#include <cstdint>

namespace atl {

/// All functions may be called from any thread. leave() may still read the gate after its decrement
/// has made the count zero. Whoever waits for zero therefore keeps the gate's memory until that
/// thread has returned; the kernel keeps the memory of ended instances for a while for this reason.
/// [any]
class Gate {
 public:
  /// Counters on a cache line each. Threads are spread over them in the order of their first use of
  /// any gate.
  static constexpr uint32_t kShards = 16;

  /// Called by the thread that brings a closed gate's count to zero. That may be the thread of
  /// close(), of any leave(), or of an enter() that came too late. It may be called more than once,
  /// even by two threads at a time. It must not throw, and hands what takes long to another thread.
  using OnEmpty = void (*)(void* context);

  /// An open gate that notifies nobody when it is empty; its owner asks count().
  Gate() noexcept = default;
  /// An open gate that notifies.
  /// \param context  handed to on_empty as it is; has to outlive the gate
  Gate(OnEmpty on_empty, void* context) noexcept : on_empty_(on_empty), context_(context) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Tries to go in.
  /// \returns true: the caller is inside until its one call of leave(). False: the gate is closed;
  /// the caller does not go in and does not call leave()
  bool enter() noexcept {
    auto& count = shard();
    count.fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return true;
    count.fetch_sub(1, std::memory_order_seq_cst);
    notify_if_empty();
    return false;
  }
  /// Ends one stay. May run on another thread than enter() did.
  void leave() noexcept {
    shard().fetch_sub(1, std::memory_order_seq_cst);
    if (closed_.load(std::memory_order_seq_cst)) notify_if_empty();
  }
  /// Lets nobody in from here on, and returns at once, whoever is inside. If nobody is inside,
  /// on_empty is called from here. Closing a closed gate is harmless.
  void close() noexcept {
    closed_.store(true, std::memory_order_seq_cst);
    notify_if_empty();
  }
  /// Lets callers in again. Those who were inside when the gate closed still count.
  void open() noexcept { closed_.store(false, std::memory_order_seq_cst); }
  /// Whether the gate is closed now; another thread may change that right afterwards.
  bool closed() const noexcept { return closed_.load(std::memory_order_seq_cst); }
  /// How many are inside. The number is exact once the gate is closed and everybody has left;
  /// before, it is a moment's estimate.
  int64_t count() const noexcept {
    int64_t sum = 0;
    for (const auto& shard : shards_) sum += shard.count.load(std::memory_order_seq_cst);
    return sum;
  }

 private:
  /// One counter, alone on its cache line.
  struct alignas(64) Shard {
    std::atomic<int64_t> count{0};
  };
  /// The shard of the calling thread.
  std::atomic<int64_t>& shard() noexcept {
    static std::atomic<uint32_t> next{0};
    // Trivially destructible, so it does not keep a plugin mapped.
    thread_local uint32_t mine = next.fetch_add(1, std::memory_order_relaxed) % kShards;
    return shards_[mine].count;
  }
  /// Of a closed gate.
  void notify_if_empty() noexcept {
    if (on_empty_ != nullptr && count() == 0) on_empty_(context_);
  }

  /// The counters. One of them may be negative, where a thread has left for another; their sum is
  /// the count.
  Shard shards_[kShards];
  /// Read by each enter() and leave(), and written only by close() and open(), so all threads have
  /// it in their caches.
  std::atomic<bool> closed_{false};
  OnEmpty on_empty_ = nullptr;
  void* context_ = nullptr;
};

/// One stay inside a gate, which ends with this object. The pass is empty if the gate was closed,
/// or after it was moved from. A pass may be moved to another thread. The gate has to outlive it.
///
///     Pass pass(host.gate());
///     if (!pass) return unavailable("the server is ending");
class Pass {
 public:
  /// An empty pass.
  Pass() noexcept = default;
  /// Tries to enter the gate, without waiting.
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
  /// Whether this pass is inside its gate. Check it after every construction from a gate.
  explicit operator bool() const noexcept { return gate_ != nullptr; }
  /// Leaves the gate, if the pass is inside. The pass is empty afterwards.
  void reset() noexcept {
    if (gate_ != nullptr) gate_->leave();
    gate_ = nullptr;
  }

 private:
  /// Null: the pass is empty.
  Gate* gate_ = nullptr;
};

}  // namespace atl
