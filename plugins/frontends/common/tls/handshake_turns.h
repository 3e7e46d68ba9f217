/// Whose handshake goes on next, of the connections of one thread, and how many there are.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "frontends/common/loop/event_loop.h"

namespace atl::frontends {

/// A handshake costs a signature, a thousand times a small call: one step of one connection is made each turn of
/// the loop, in the order in which they asked, so that calls of other connections are answered between them. All
/// functions on the loop's thread.
class HandshakeTurns final : private Posted {
  using Hook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
                                                boost::intrusive::tag<struct HandshakeTag>>;
  using BegunHook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::safe_link>,
                                                     boost::intrusive::tag<struct BegunHandshakeTag>>;

 public:
  /// Handshakes under way at a time, where nothing else is said.
  static constexpr uint32_t kMost = 1000;

  /// A connection. Its end takes it out.
  class Waiter : public Hook, public BegunHook {
   public:
    virtual void on_handshake_turn() noexcept = 0;
    /// There are too many, and this one has taken the longest: the connection is to be closed.
    virtual void on_handshake_dropped() noexcept = 0;

    HandshakeTurns* begun_at = nullptr;  ///< set by begin(), until the handshake is over

   protected:
    ~Waiter() { end_handshake(); }
    /// It is over, well or not.
    void end_handshake() noexcept {
      if (begun_at != nullptr) std::exchange(begun_at, nullptr)->end(*this);
    }
  };

  explicit HandshakeTurns(EventLoop& loop, uint32_t most = kMost) noexcept : loop_(loop), most_(most) {}
  virtual ~HandshakeTurns() = default;

  /// A handshake is to come. If there are too many now, the one that has taken the longest is dropped: a client that
  /// means it needs less time than a flood takes to come round.
  void begin(Waiter& waiter) noexcept {
    waiter.begun_at = this;
    begun_.push_back(waiter);
    if (begun_.size() > most_) begun_.front().on_handshake_dropped();
  }
  size_t under_way() const noexcept { return begun_.size(); }
  /// Has no effect on one that waits already.
  void wait(Waiter& waiter) noexcept {
    if (waiter.Hook::is_linked()) return;
    waiters_.push_back(waiter);
    post();
  }

 private:
  void end(Waiter& waiter) noexcept {
    waiter.Hook::unlink();
    begun_.erase(begun_.iterator_to(waiter));
  }
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
  using Begun = boost::intrusive::list<Waiter, boost::intrusive::base_hook<BegunHook>,
                                       boost::intrusive::constant_time_size<true>>;
  EventLoop& loop_;
  const size_t most_;
  Waiters waiters_;
  Begun begun_;
  bool posted_ = false;
};

}  // namespace atl::frontends
