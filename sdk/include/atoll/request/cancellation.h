/// Cancellation of one request: a flag that anybody may poll, one listener that is told at once, and the
/// requests that are cancelled with it.
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

class Cancellation;

/// That one request is cancelled with another: an ensemble's step with the ensemble's request. Owned by who
/// made the step.
struct CancelLink {
  Cancellation* child = nullptr;
  CancelLink* next = nullptr;
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
    if ((before & kLinked) != 0) cancel_linked();
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

  /// link.child is cancelled with this one, at once if this one is cancelled already. The listener of a
  /// child must neither link nor unlink.
  void link(CancelLink& link) noexcept {
    lock();
    link.next = links_;
    links_ = &link;
    const bool late = (state_.fetch_or(kLinked, std::memory_order_acq_rel) & kCancelled) != 0;
    unlock();
    if (late) link.child->cancel();
  }

  /// When it returns the child is not being cancelled by this one and will not be. A link that was added.
  void unlink(CancelLink& link) noexcept {
    lock();
    CancelLink** place = &links_;
    while (*place != &link) place = &(*place)->next;
    *place = link.next;
    unlock();
  }

  /// Ready for the next request. Only when nobody else can reach this object, and nothing is linked.
  void reset() noexcept { state_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kCancelled = 1, kListening = 2, kCalling = 4, kLinked = 8, kLocked = 16;

  void cancel_linked() noexcept {
    lock();
    for (const CancelLink* link = links_; link != nullptr; link = link->next) link->child->cancel();
    unlock();
  }
  void lock() noexcept {
    while ((state_.fetch_or(kLocked, std::memory_order_acquire) & kLocked) != 0) std::this_thread::yield();
  }
  void unlock() noexcept { state_.fetch_and(~kLocked, std::memory_order_release); }

  std::atomic<uint32_t> state_{0};
  CancelListener* listener_ = nullptr;
  void* context_ = nullptr;
  CancelLink* links_ = nullptr;  ///< under kLocked
};

}  // namespace atl
