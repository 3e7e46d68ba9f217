/// Whose handshake goes on next, of the connections of one thread.
#pragma once

#include <boost/intrusive/list.hpp>
#include <utility>

#include "frontends/common/loop/event_loop.h"

namespace atl::frontends::grpc_nghttp2 {

/// A handshake costs a signature, a thousand times a small call: one step of one connection is made each turn of
/// the loop, in the order in which they asked, so that calls of other connections are answered between them. All
/// functions on the loop's thread.
class HandshakeTurns final : private Posted {
  using Hook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
                                                boost::intrusive::tag<struct HandshakeTag>>;

 public:
  /// Waits for its turn. Its end takes it out.
  class Waiter : public Hook {
   public:
    virtual void on_handshake_turn() noexcept = 0;

   protected:
    ~Waiter() = default;
  };

  explicit HandshakeTurns(EventLoop& loop) noexcept : loop_(loop) {}
  virtual ~HandshakeTurns() = default;

  /// Has no effect on one that waits already.
  void wait(Waiter& waiter) noexcept {
    if (waiter.is_linked()) return;
    waiters_.push_back(waiter);
    post();
  }

 private:
  void post() noexcept {
    if (!std::exchange(posted_, true)) loop_.post(*this);
  }
  void on_posted() noexcept override {
    posted_ = false;
    if (waiters_.empty()) return;
    Waiter& next = waiters_.front();
    waiters_.pop_front();
    // What is posted now is for the next turn.
    if (!waiters_.empty()) post();
    next.on_handshake_turn();
  }

  using Waiters = boost::intrusive::list<Waiter, boost::intrusive::base_hook<Hook>,
                                         boost::intrusive::constant_time_size<false>>;
  EventLoop& loop_;
  Waiters waiters_;
  bool posted_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
