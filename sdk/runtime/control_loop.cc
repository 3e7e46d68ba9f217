#include "atoll/runtime/control_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace atl::runtime {

ControlLoop::ControlLoop(const Clock& clock)
    : clock_(clock), thread_(std::this_thread::get_id()), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

ControlLoop::~ControlLoop() {
  for (const Task& task : queue_.take_all()) drop_task(task);
  ::close(wake_);
}

void ControlLoop::wake() noexcept {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_, &one, sizeof one);
}

void ControlLoop::post(Task task) noexcept {
  {
    std::lock_guard lock(mutex_);
    queue_.push(task);
  }
  if (!is_current()) wake();
}

TimerId ControlLoop::post_at(int64_t deadline_ns, Task task) noexcept {
  TimerId timer = 0;
  {
    std::lock_guard lock(mutex_);
    timer = queue_.push_at(deadline_ns, task);
  }
  if (!is_current()) wake();
  return timer;
}

bool ControlLoop::cancel(TimerId timer) noexcept {
  std::optional<Task> task;
  {
    std::lock_guard lock(mutex_);
    task = queue_.cancel(timer);
  }
  if (task) drop_task(*task);
  return task.has_value();
}

bool ControlLoop::run_one() {
  if (hook_) hook_();
  std::optional<Task> task;
  {
    std::lock_guard lock(mutex_);
    task = queue_.take(clock_.now_ns());
  }
  if (task && !run_task(*task) && threw_) threw_();
  return task.has_value();
}

void ControlLoop::run_ready() {
  while (run_one()) {
  }
}

void ControlLoop::run_until(const std::function<bool()>& done) {
  while (!done()) {
    if (!run_one() && !done()) wait();
  }
}

void ControlLoop::wait() {
  int64_t deadline_ns = 0;
  {
    std::lock_guard lock(mutex_);
    if (queue_.has_ready()) return;
    deadline_ns = queue_.next_deadline_ns();
  }
  int timeout_ms = -1;
  if (deadline_ns != TaskQueue::kNever) {
    // Rounded up, so that the timer is due when poll returns; long waits are cut and simply waited for again.
    int64_t left_ms = (deadline_ns - clock_.now_ns() + kNsPerMs - 1) / kNsPerMs;
    timeout_ms = static_cast<int>(std::clamp<int64_t>(left_ms, 0, 60'000));
  }
  pollfd descriptor{wake_, POLLIN, 0};
  if (::poll(&descriptor, 1, timeout_ms) > 0) {
    uint64_t count = 0;
    [[maybe_unused]] ssize_t size = ::read(wake_, &count, sizeof count);
  }
}

}  // namespace atl::runtime
