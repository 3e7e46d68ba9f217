#include "backends/python/worker_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <utility>

#include "atoll/core/stop_executor.h"

namespace atl::python {

Status WorkerLoop::start(ExecutorFactory& executors) {
  std::lock_guard lock(mutex_);
  if (executor_ != nullptr) return {};
  events_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  woken_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = woken_.get();
  if (!events_.valid() || !woken_.valid() ||
      ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, woken_.get(), &event) != 0) {
    return make_status(Code::kResourceExhausted, "workers cannot be watched: ", std::strerror(errno));
  }
  Result<SerialExecutorPtr> executor = executors.create("python", {});
  if (!executor.ok()) return std::move(executor).status();
  stops_ = false;
  executor_ = std::move(executor).value();
  executor_->post({[](void* self) { static_cast<WorkerLoop*>(self)->run(); }, this, nullptr});
  return {};
}

void WorkerLoop::stop() noexcept {
  if (executor_ == nullptr) return;
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake();
  stop_executor(executor_);
  posted_.clear();
  timers_.clear();
  watched_.clear();
}

void WorkerLoop::post(Work work) {
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  wake();
}

void WorkerLoop::call(const Work& work) {
  if (is_current()) return work();
  std::promise<void> done;
  post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void WorkerLoop::wake() const noexcept {
  const uint64_t one = 1;
  (void)!::write(woken_.get(), &one, sizeof one);
}

void WorkerLoop::watch(int descriptor, Work ready) {
  watched_[descriptor] = std::make_shared<Work>(std::move(ready));
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void WorkerLoop::unwatch(int descriptor) noexcept {
  if (watched_.erase(descriptor) != 0) (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

WorkerLoop::Timer WorkerLoop::at(int64_t deadline_ns, Work work) {
  timers_.emplace(std::pair(deadline_ns, ++last_timer_), std::move(work));
  return last_timer_;
}

void WorkerLoop::cancel(Timer timer) noexcept {
  std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == timer; });
}

void WorkerLoop::run() noexcept {
  constexpr int kEventsMax = 16;
  epoll_event ready[kEventsMax];
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (stops_) return;
    }
    const int count = ::epoll_wait(events_.get(), ready, kEventsMax, wait_ms());
    for (int i = 0; i < count; ++i) {
      if (ready[i].data.fd == woken_.get()) {
        uint64_t times = 0;
        (void)!::read(woken_.get(), &times, sizeof times);
        continue;
      }
      const auto found = watched_.find(ready[i].data.fd);
      if (found == watched_.end()) continue;  // what ran before has ended it
      const std::shared_ptr<Work> work = found->second;
      (*work)();
    }
    run_posted();
    run_due();
  }
}

void WorkerLoop::run_posted() {
  std::vector<Work> posted;
  {
    std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (Work& work : posted) work();
}

void WorkerLoop::run_due() {
  while (!timers_.empty() && timers_.begin()->first.first <= clock_.now_ns()) {
    const Work work = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    work();
  }
}

int WorkerLoop::wait_ms() const {
  if (timers_.empty()) return -1;
  const int64_t left_ns = timers_.begin()->first.first - clock_.now_ns();
  return static_cast<int>(std::clamp<int64_t>((left_ns + kNsPerMs - 1) / kNsPerMs, 0, 60'000));
}

}  // namespace atl::python
