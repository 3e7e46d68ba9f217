#include "frontends/common/loop/event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace atl::frontends {

thread_local const EventLoop* EventLoop::current_ = nullptr;

EventLoop::~EventLoop() {
  if (wake_up_ >= 0) ::close(wake_up_);
  if (epoll_ >= 0) ::close(epoll_);
}

Status EventLoop::open() noexcept {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ >= 0) wake_up_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  // No watcher: it is the wake-up. Each write is an event of its own, so nobody has to read it.
  event.events = EPOLLIN | EPOLLET;
  if (wake_up_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_up_, &event) != 0) {
    return make_status(Code::kResourceExhausted, "no descriptor for an event loop: ", std::strerror(errno));
  }
  return {};
}

void EventLoop::run() noexcept {
  while (!stopping_.load(std::memory_order_acquire)) turn(-1);
  turn(0);  // what was posted before it was stopped
}

void EventLoop::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  (void)!::write(wake_up_, &one, sizeof one);
}

void EventLoop::wake() noexcept {
  // Of this thread itself it is known that the turn goes on to look.
  if (is_current()) {
    posted_here_ = true;
    return;
  }
  const uint64_t one = 1;
  (void)!::write(wake_up_, &one, sizeof one);
}

int EventLoop::wait_ms(int most_ms) const noexcept {
  if (posted_here_ || !turn_ends_.empty()) return 0;
  if (timers_.empty()) return most_ms;
  const int64_t left_ns = timers_.begin()->at_ns_ - clock_.now_ns();
  // Rounded up: a turn that ends before the time would only be followed by another one.
  const int64_t left_ms = std::clamp<int64_t>((left_ns + kNsPerMs - 1) / kNsPerMs, 0, 60'000);
  return most_ms < 0 ? static_cast<int>(left_ms) : std::min(most_ms, static_cast<int>(left_ms));
}

void EventLoop::turn(int most_ms) noexcept {
  const EventLoop* const before = std::exchange(current_, this);
  const int count = epoll_wait(epoll_, events_, kEventsATurn, wait_ms(most_ms));
  now_ns_ = clock_.now_ns();
  ready_count_ = static_cast<size_t>(std::max(count, 0));
  ready_ = {events_, ready_count_};
  notify_watchers();
  run_timers();
  if (std::exchange(posted_here_, false)) run_posted();
  while (!turn_ends_.empty()) {
    TurnEnd& item = turn_ends_.front();
    turn_ends_.pop_front();
    item.on_turn_end();
  }
  now_ns_ = 0;
  current_ = before;
}

void EventLoop::notify_watchers() noexcept {
  while (!ready_.empty()) {
    const epoll_event event = ready_.front();
    ready_ = ready_.subspan(1);
    if (event.data.ptr != nullptr) {
      static_cast<Watcher*>(event.data.ptr)->on_ready(event.events);
    } else if (event.events != 0) {
      posted_here_ = true;
    }
  }
}

void EventLoop::run_timers() noexcept {
  while (!timers_.empty() && timers_.begin()->at_ns_ <= now_ns_) {
    Timer& timer = *timers_.begin();
    timer.unset();
    timer.on_time();
  }
}

Status EventLoop::watch(int fd, uint32_t events, Watcher& watcher) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watcher;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return make_status(Code::kResourceExhausted, "a descriptor cannot be watched: ", std::strerror(errno));
}

void EventLoop::rewatch(int fd, uint32_t events, Watcher& watcher) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watcher;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::forget(int fd, Watcher& watcher) noexcept {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  for (epoll_event& event : ready_) {
    if (event.data.ptr != &watcher) continue;
    event.data.ptr = nullptr;
    event.events = 0;
  }
}

void EventLoop::set(Timer& timer, int64_t at_ns) noexcept {
  timer.unset();
  timer.at_ns_ = at_ns;
  timers_.insert(timer);
}

}  // namespace atl::frontends
