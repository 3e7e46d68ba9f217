#include "frontends/common/call/large_work.h"

#include "atoll/core/text.h"

namespace atl::frontends {
namespace {

constexpr int32_t kNice = 5;

}  // namespace

LargeWork::~LargeWork() {
  threads_.clear();
  for (const Task& task : waiting_) {
    if (task.drop != nullptr) task.drop(task.argument);
  }
}

Status LargeWork::open(ExecutorFactory& executors, std::string_view name, uint32_t threads) noexcept {
  ThreadPlacement placement;
  placement.nice = kNice;
  for (uint32_t i = 0; i < threads; ++i) {
    Result<SerialExecutorPtr> thread = executors.create(cat(name, "-", i), placement);
    if (!thread.ok()) return std::move(thread).status();
    threads_.push_back(std::move(thread).value());
  }
  return {};
}

Status LargeWork::add(Task task, size_t most) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= most) {
      return unavailable("as many large requests wait to be read as may: ", most, "; try again later");
    }
    waiting_.push_back(task);
  }
  // All are told, and the first that is free takes it; the others then find nothing.
  for (const SerialExecutorPtr& thread : threads_) {
    thread->post({[](void* self) { static_cast<LargeWork*>(self)->run_next(); }, this, nullptr});
  }
  return {};
}

void LargeWork::run_next() noexcept {
  Task task;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;
    task = waiting_.front();
    waiting_.pop_front();
  }
  task.run(task.argument);
}

}  // namespace atl::frontends
