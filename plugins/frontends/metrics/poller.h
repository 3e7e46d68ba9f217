/// A function called again and again on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/stop_executor.h"

namespace atl::frontends::metrics {

/// [control]
class PollThread {
 public:
  PollThread(Clock& clock, int64_t interval_ns, std::function<void()> poll)
      : clock_(clock), interval_ns_(interval_ns), poll_(std::move(poll)) {}
  PollThread(const PollThread&) = delete;
  PollThread& operator=(const PollThread&) = delete;

  /// The first call is made at once. Errors: those of ExecutorFactory::create().
  Status start(ExecutorFactory& executors) noexcept {
    Result<SerialExecutorPtr> executor = executors.create("metrics-poll", {});
    if (!executor.ok()) return std::move(executor).status();
    executor_ = std::move(executor).value();
    executor_->post(Task{&PollThread::run, this, nullptr});
    return {};
  }
  /// The function is not called any more.
  void stop() noexcept { stop_executor(executor_); }

 private:
  static void run(void* self) {
    auto& poller = *static_cast<PollThread*>(self);
    poller.poll_();
    poller.executor_->post_at(poller.clock_.now_ns() + poller.interval_ns_,
                              Task{&PollThread::run, self, nullptr});
  }

  Clock& clock_;
  int64_t interval_ns_;
  std::function<void()> poll_;
  SerialExecutorPtr executor_;  // last: its task uses all of the above
};

}  // namespace atl::frontends::metrics
