/// Service "atoll.scheduler/1" of kind "default".
#pragma once

#include <memory>

#include "common/answer_thread.h"
#include "default_scheduler.h"

namespace atl::schedulers {

class DefaultProvider final : public SchedulerProvider {
 public:
  explicit DefaultProvider(const DefaultSettings& settings) noexcept : settings_(settings) {}

  std::string_view kind() const noexcept override { return "default"; }
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept override {
    Result<AnswerThread> answer_thread = answer_threads_.get(*context.executors);
    if (!answer_thread.ok()) return std::move(answer_thread).status();
    return DefaultScheduler::create(context, settings_, std::move(answer_thread).value());
  }

 private:
  const DefaultSettings settings_;
  AnswerThreads answer_threads_;
};

}  // namespace atl::schedulers
