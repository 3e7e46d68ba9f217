/// Service "atoll.scheduler/1" of kind "default": every request is a batch of its own, first come, first
/// served, by any instance that is idle.
#pragma once

#include <memory>
#include <utility>

#include "schedulers/common/batch/batch_scheduler.h"
#include "schedulers/common/instances/answer_thread.h"

namespace atl::schedulers {

struct DefaultSettings {
  uint64_t queue_size_max = 65'536;  ///< requests waiting for one model version; 0: any number
  DispatcherLimits dispatcher;
};

class DefaultProvider final : public SchedulerProvider {
 public:
  explicit DefaultProvider(const DefaultSettings& settings) noexcept : settings_(settings) {}

  std::string_view kind() const noexcept override { return "default"; }
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept override {
    Result<AnswerThread> answer_thread = answer_threads_.get(*context.executors);
    if (!answer_thread.ok()) return std::move(answer_thread).status();
    BatchSettings settings;
    settings.queue.size_max = settings_.queue_size_max;
    settings.rules.one_request = true;
    settings.dispatcher = settings_.dispatcher;
    return BatchScheduler::create(context, std::move(settings), std::move(answer_thread).value());
  }

 private:
  const DefaultSettings settings_;
  AnswerThreads answer_threads_;
};

}  // namespace atl::schedulers
