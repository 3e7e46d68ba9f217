/// One thread's loop: descriptors, timers, and work from other threads.
///
///     EventLoop loop(clock);
///     ATOLL_RETURN_IF_ERROR(loop.open());
///     std::thread thread([&] { loop.run(); });
///     loop.post(item);                 // [any]
///     loop.stop(); thread.join();
///
/// A turn waits for descriptors (level-triggered epoll), tells their watchers, runs what was posted, the timers
/// whose time has come, and then, once each, what asked for the turn's end: so whatever made data for a socket
/// during the turn, it is written once. Everything but post() and stop() belongs to the loop's thread, or to
/// the one that calls turn().
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <span>

#include "atoll/core/clock.h"
#include "atoll/core/status.h"
#include "frontends/common/call/post_list.h"

namespace atl::frontends {

/// Told when its descriptor can be read or written. May forget any descriptor meanwhile, its own too.
class Watcher {
 public:
  /// \param events  as epoll says them
  virtual void on_ready(uint32_t events) noexcept = 0;

 protected:
  ~Watcher() = default;
};

namespace loop_detail {
namespace bi = boost::intrusive;
// Tagged, so that classes may be in lists of their own too.
using TimerHook = bi::set_base_hook<bi::tag<struct TimerTag>, bi::link_mode<bi::auto_unlink>>;
using TurnHook = bi::list_base_hook<bi::tag<struct TurnTag>, bi::link_mode<bi::auto_unlink>>;
}  // namespace loop_detail

/// Told once when its time has come. Its end unsets it.
class Timer : public loop_detail::TimerHook {
 public:
  virtual ~Timer() = default;
  virtual void on_time() noexcept = 0;

  bool is_set() const noexcept { return is_linked(); }
  int64_t at_ns() const noexcept { return at_ns_; }
  void unset() noexcept { unlink(); }

  friend bool operator<(const Timer& one, const Timer& other) noexcept { return one.at_ns_ < other.at_ns_; }

 private:
  friend class EventLoop;
  int64_t at_ns_ = 0;
};

/// Told once at the end of the turn in which it asked. Its end takes it out.
class TurnEnd : public loop_detail::TurnHook {
 public:
  virtual void on_turn_end() noexcept = 0;

 protected:
  ~TurnEnd() = default;
};

class EventLoop final : public PostList {
 public:
  explicit EventLoop(const Clock& clock) noexcept : clock_(clock) {}
  ~EventLoop();

  /// Once, before all else. Errors: RESOURCE_EXHAUSTED no descriptor.
  Status open() noexcept;

  /// Turns until stop(), and runs what was posted till then; the calling thread is the loop's.
  void run() noexcept;
  /// [any]
  void stop() noexcept;
  /// One turn. \param most_ms  waits at most so long; -1: until something happens
  void turn(int most_ms) noexcept;

  /// [any] Whether the calling thread is the loop's.
  bool is_current() const noexcept { return current_ == this; }
  /// When this turn began, or its wait ended; the clock itself where no turn is.
  int64_t now_ns() const noexcept { return now_ns_ != 0 ? now_ns_ : clock_.now_ns(); }

  /// Errors: RESOURCE_EXHAUSTED the system has no memory for it.
  Status watch(int fd, uint32_t events, Watcher& watcher) noexcept;
  /// Other events for one that is watched.
  void rewatch(int fd, uint32_t events, Watcher& watcher) noexcept;
  /// The watcher hears no more of it, this turn included. Before the descriptor is closed.
  void forget(int fd, Watcher& watcher) noexcept;

  /// Sets or moves a timer.
  void set(Timer& timer, int64_t at_ns) noexcept;
  /// In this turn one descriptor could be read or written, and no other one.
  bool has_one_ready() const noexcept { return ready_count_ == 1; }
  /// Asked for again before it was told it is told once.
  void at_turn_end(TurnEnd& item) noexcept {
    if (!item.is_linked()) turn_ends_.push_back(item);
  }

 private:
  static constexpr int kEventsATurn = 128;

  void wake() noexcept override;
  int wait_ms(int most_ms) const noexcept;
  void notify_watchers() noexcept;
  void run_timers() noexcept;

  using Timers = boost::intrusive::multiset<Timer, boost::intrusive::base_hook<loop_detail::TimerHook>,
                                            boost::intrusive::constant_time_size<false>>;
  using TurnEnds = boost::intrusive::list<TurnEnd, boost::intrusive::base_hook<loop_detail::TurnHook>,
                                          boost::intrusive::constant_time_size<false>>;

  static thread_local const EventLoop* current_;

  const Clock& clock_;
  int epoll_ = -1;
  int wake_up_ = -1;  ///< an eventfd
  int64_t now_ns_ = 0;
  bool posted_here_ = false;
  std::atomic<bool> stopping_{false};
  Timers timers_;
  TurnEnds turn_ends_;
  epoll_event events_[kEventsATurn];
  std::span<epoll_event> ready_;  ///< of events_, not told yet
  size_t ready_count_ = 0;        ///< with those that were told
};

}  // namespace atl::frontends
