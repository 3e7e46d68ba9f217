/// Cancellation of one request: a flag that any thread may poll, one listener that is called at once, and the
/// requests that are cancelled with it.
///
/// Every Request has one (Request::cancellation). The frontend cancels it when the client has gone (gRPC
/// cancellation, HTTP disconnect) or its deadline has passed. A backend that computes for long polls:
///
///     for (uint32_t step = 0; step < steps; ++step) {
///       if (request.cancelled()) return fail(request, Status(Code::kCancelled, {}));
///       compute(step);
///     }
///
/// Whoever keeps a request waiting listens instead, and answers it from another thread:
///
///     if (!request.cancellation.listen(this, &request)) return answer_later(request);  // cancelled already
///     ...
///     request.cancellation.stop_listening();  // before the request is answered or handed on
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace atl {

/// Implemented by whoever has to act at once when a request is cancelled, such as a scheduler with a queue.
class CancelListener {
 public:
  /// Called at most once for each listen(), on the thread that cancels, which may be a frontend's thread that
  /// serves other clients: it must not block. The Cancellation holds no lock of its own except while it
  /// cancels linked children (see link()). The request must not be answered or released in here, because the
  /// canceller still uses its Cancellation: take the request out of the queue and let an executor answer it.
  /// stop_listening() must not be called in here; it would wait for this very call.
  /// \param context  what listen() was given
  virtual void on_cancel(void* context) noexcept = 0;

 protected:
  ~CancelListener() = default;
};

class Cancellation;

/// Says that one request is cancelled with another: an ensemble's step with the ensemble's request. It is a
/// node of a list, so linking allocates nothing. Whoever made the child owns the link, and keeps it and the
/// child in place from link() to unlink().
struct CancelLink {
  Cancellation* child = nullptr;
  /// Used by the Cancellation that the link was added to.
  CancelLink* next = nullptr;
};

/// The state is one atomic word: polling costs one load, and a cancellation without listener and children two
/// atomic operations.
///
/// All functions may be called from any thread [any], with these limits: one listener at a time, and reset()
/// only while nobody else can reach the object. cancel() touches the object until it returns, so its caller
/// keeps the request's context from being reused meanwhile. A Cancellation stays cancelled until reset().
class Cancellation {
 public:
  /// Whether cancel() was called. A cancelled request is answered like any other, with CANCELLED if its
  /// holder stops early: the flag alone ends nothing.
  bool cancelled() const noexcept { return (state_.load(std::memory_order_acquire) & kCancelled) != 0; }

  /// Sets the flag, calls the listener if one is set, then cancels the linked children, and returns after all
  /// of them. Further calls do nothing, and may return while the first one is still calling the listener.
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

  /// Sets the listener. There is one at a time: whoever held the request before has called stop_listening().
  /// \param listener  must stay valid until stop_listening() has returned
  /// \param context  handed to on_cancel(); mostly the request
  /// \returns false if the request is cancelled already. The listener is not set then: it was not called and
  /// will not be.
  bool listen(CancelListener* listener, void* context) noexcept {
    listener_ = listener;
    context_ = context;
    uint32_t before = state_.fetch_or(kListening, std::memory_order_acq_rel);
    if ((before & kCancelled) == 0) return true;
    stop_listening();
    return false;
  }

  /// Removes the listener, if there is one. When this returns the listener is not being called and will not
  /// be: it waits, by yielding, for a cancel() that is under way. So no lock may be held that on_cancel()
  /// takes, and it must not be called from inside on_cancel().
  void stop_listening() noexcept {
    state_.fetch_and(~kListening, std::memory_order_acq_rel);
    while ((state_.load(std::memory_order_acquire) & kCalling) != 0) std::this_thread::yield();
  }

  /// Cancels link.child whenever this object is cancelled, and at once if it is cancelled already.
  ///
  /// The children are cancelled under a spin lock of this object, which link() and unlink() take, too: the
  /// listener of a child must neither link nor unlink here.
  void link(CancelLink& link) noexcept {
    lock();
    link.next = links_;
    links_ = &link;
    const bool late = (state_.fetch_or(kLinked, std::memory_order_acq_rel) & kCancelled) != 0;
    unlock();
    if (late) link.child->cancel();
  }

  /// Removes a link that was added by link(). When this returns the child is not being cancelled by this
  /// object and will not be. Takes time in proportion to the number of links.
  void unlink(CancelLink& link) noexcept {
    lock();
    CancelLink** place = &links_;
    while (*place != &link) place = &(*place)->next;
    *place = link.next;
    unlock();
  }

  /// Makes the object ready for the next request. Only when nobody else can reach it, nobody listens and
  /// nothing is linked; Request::reset() calls it.
  void reset() noexcept { state_.store(0, std::memory_order_relaxed); }

 private:
  /// Bits of state_. kListening: a listener is set. kCalling: a cancel() is under way, and stop_listening()
  /// waits for its end. kLinked: something was linked since the last reset(). kLocked: somebody reads or
  /// changes links_.
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
  /// Head of the list of children; read and changed only by who has set kLocked.
  CancelLink* links_ = nullptr;
};

}  // namespace atl
