/// Cancellation of one request: a flag that anybody may poll and one listener that is told at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace atl {

/// Told once, on the thread that cancels, with no lock held. It must not block; a scheduler marks its queue
/// and hands the answer to its executor.
class CancelListener {
 public:
  virtual void on_cancel(void* context) noexcept = 0;

 protected:
  ~CancelListener() = default;
};

/// [any] A client's going away (gRPC cancel, deadline, HTTP disconnect) calls cancel(); whoever queues the
/// request listens while it is queued; backends poll cancelled(). cancel() touches the object until it
/// returns: its caller keeps the request's context from being reused meanwhile.
class Cancellation {
 public:
  bool cancelled() const noexcept { return (state_.load(std::memory_order_acquire) & kCancelled) != 0; }

  /// Idempotent. Calls the listener, if one is set, before it returns.
  void cancel() noexcept {
    uint32_t before = state_.fetch_or(kCancelled | kCalling, std::memory_order_acq_rel);
    if ((before & kCancelled) != 0) {
      // A second caller must not end the first one's call.
      if ((before & kCalling) == 0) state_.fetch_and(~kCalling, std::memory_order_release);
      return;
    }
    if ((before & kListening) != 0) listener_->on_cancel(context_);
    state_.fetch_and(~kCalling, std::memory_order_release);
  }

  /// One listener at a time. \returns false if the request is cancelled already: the listener is not set.
  bool listen(CancelListener* listener, void* context) noexcept {
    listener_ = listener;
    context_ = context;
    uint32_t before = state_.fetch_or(kListening, std::memory_order_acq_rel);
    if ((before & kCancelled) == 0) return true;
    stop_listening();
    return false;
  }

  /// When it returns the listener is not being called and will not be. Not from inside on_cancel().
  void stop_listening() noexcept {
    state_.fetch_and(~kListening, std::memory_order_acq_rel);
    while ((state_.load(std::memory_order_acquire) & kCalling) != 0) std::this_thread::yield();
  }

  /// Ready for the next request. Only when nobody else can reach this object.
  void reset() noexcept { state_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kCancelled = 1, kListening = 2, kCalling = 4;
  std::atomic<uint32_t> state_{0};
  CancelListener* listener_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace atl
