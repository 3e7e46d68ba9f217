/// A function called again and again on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "atoll/clock.h"
#include "atoll/executor.h"

namespace atl::frontends::metrics {

/// [control]
class Poller {
 public:
  Poller(Clock& clock, int64_t interval_ns, std::function<void()> look)
      : clock_(clock), interval_ns_(interval_ns), look_(std::move(look)) {}
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// The first call is made at once. Errors: those of ExecutorFactory::create().
  Status start(ExecutorFactory& executors) noexcept {
    Result<SerialExecutorPtr> executor = executors.create("metrics-poll", {});
    if (!executor.ok()) return std::move(executor).status();
    executor_ = std::move(executor).value();
    tasks_ = executor_.get();
    tasks_->post(Task{&Poller::run, this, nullptr});
    return {};
  }
  /// The function is not called any more.
  void stop() noexcept { executor_.reset(); }

 private:
  static void run(void* self) {
    auto& poller = *static_cast<Poller*>(self);
    poller.look_();
    poller.tasks_->post_at(poller.clock_.now_ns() + poller.interval_ns_, Task{&Poller::run, self, nullptr});
  }

  Clock& clock_;
  int64_t interval_ns_;
  std::function<void()> look_;
  SerialExecutor* tasks_ = nullptr;  ///< for the tasks: executor_ is empty already while stop() waits for one
  SerialExecutorPtr executor_;
};

}  // namespace atl::frontends::metrics
