/// The thread that answers requests which left a queue without being executed.
///
/// A request cancelled while it waits cannot be answered by the thread that cancels (it is still inside the
/// request's Cancellation), nor by an instance's thread (that may be busy for long). One thread for all
/// models of a scheduler plugin does it; it is idle unless something is cancelled.
#pragma once

#include <memory>
#include <mutex>

#include "atoll/core/executor.h"

namespace atl::schedulers {

using AnswerThread = std::shared_ptr<SerialExecutor>;

/// Shares one thread among the schedulers that hold it; it ends with the last of them. [any]
class AnswerThreads {
 public:
  /// Errors: those of ExecutorFactory::create.
  Result<AnswerThread> get(ExecutorFactory& executors) {
    std::lock_guard lock(mutex_);
    if (AnswerThread thread = thread_.lock(); thread != nullptr && factory_ == &executors) return thread;
    Result<SerialExecutorPtr> made = executors.create("cancelled", ThreadPlacement{});
    if (!made.ok()) return std::move(made).status().note("thread that answers cancelled requests");
    AnswerThread thread(std::move(made).value());
    thread_ = thread;
    factory_ = &executors;
    return thread;
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<SerialExecutor> thread_;
  ExecutorFactory* factory_ = nullptr;
};

}  // namespace atl::schedulers
