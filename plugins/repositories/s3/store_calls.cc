#include "repositories/s3/store_calls.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "atoll/core/clock.h"

namespace atl::s3 {
namespace {

constexpr int64_t kFirstPauseNs = 200 * kNsPerMs;
constexpr int64_t kLongestPauseNs = 5 * kNsPerSecond;
constexpr int kDoublingsMax = 10;

/// Twice as long each time, and not the same for all who were refused together.
int64_t pause_ns(int attempt, size_t index) noexcept {
  const int64_t ns = std::min(kFirstPauseNs << std::min(attempt, kDoublingsMax), kLongestPauseNs);
  constexpr size_t kShares = 8;
  return ns - ns / 2 * static_cast<int64_t>(index * 5 % kShares) / static_cast<int64_t>(kShares);
}

}  // namespace

struct StoreCalls::Run {
  struct Item {
    std::shared_ptr<StoreTask> task;
    std::shared_ptr<std::atomic<bool>> given_up = std::make_shared<std::atomic<bool>>(false);
    int attempt = 0;
    int64_t due_ns = 0;
    bool is_busy = false;
    Status failure = {};  ///< of the last call
    std::optional<Status> end = {};
  };
  std::vector<Item> items;
  std::vector<std::pair<size_t, Result<HttpAnswer>>> answers;  ///< guarded by the mutex of StoreCalls

  size_t busy() const {
    return static_cast<size_t>(std::ranges::count_if(items, [](const Item& item) { return item.is_busy; }));
  }
  bool is_over() const {
    return std::ranges::all_of(items, [](const Item& item) { return item.end.has_value(); });
  }
  void end(Item& item, Status status) {
    if (!item.end) item.end = std::move(status);
    item.given_up->store(true, std::memory_order_release);
  }
  void take(size_t index, Result<HttpAnswer> answer, const RunLimits& limits);
};

void StoreCalls::Run::take(size_t index, Result<HttpAnswer> answer, const RunLimits& limits) {
  Item& item = items[index];
  item.is_busy = false;
  if (item.end) return;
  Status failure;
  const StoreTask::Step step = item.task->answered(std::move(answer), &failure);
  if (step == StoreTask::Step::kDone) return end(item, {});
  if (step == StoreTask::Step::kNext) {
    item.attempt = 0;
    item.due_ns = 0;
    return;
  }
  if (item.task->has_progressed()) item.attempt = 0;
  if (step == StoreTask::Step::kAgain && item.attempt < std::min(limits.retries, item.task->retries_max)) {
    item.due_ns = now_ns() + pause_ns(item.attempt++, index);
    item.failure = std::move(failure);
    return;
  }
  end(item, std::move(failure));
  if (!limits.needs_all) return;
  for (Item& other : items) end(other, make_status(Code::kCancelled, "another object could not be had"));
}

int64_t StoreCalls::now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

void StoreCalls::interrupt() noexcept {
  const std::scoped_lock lock(mutex_);
  is_interrupted_ = true;
  changed_.notify_all();
}

void StoreCalls::stop() noexcept {
  interrupt();
  client_.stop();
}

bool StoreCalls::pause(int64_t ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return is_interrupted_; });
  return !is_interrupted_;
}

void StoreCalls::begin(const std::shared_ptr<Run>& run, size_t index) {
  Run::Item& item = run->items[index];
  item.is_busy = true;
  HttpRequest request = item.task->next();
  request.given_up = item.given_up;
  client_.call(std::move(request), [this, run, index](Result<HttpAnswer> answer) {
    const std::scoped_lock lock(mutex_);
    run->answers.emplace_back(index, std::move(answer));
    changed_.notify_all();
  });
}

/// Until an answer is there, a call is due, a deadline has come, or a second is over.
void StoreCalls::wait(Run& run, const RunLimits& limits) {
  const int64_t now = now_ns();
  int64_t until_ns = now + kNsPerSecond;
  const bool may_begin = run.busy() < limits.side_by_side;
  for (const Run::Item& item : run.items) {
    if (item.end) continue;
    if (may_begin && !item.is_busy) until_ns = std::min(until_ns, item.due_ns);
    if (item.task->deadline_ns != 0) until_ns = std::min(until_ns, item.task->deadline_ns);
  }
  std::vector<std::pair<size_t, Result<HttpAnswer>>> answers;
  bool is_interrupted = false;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(until_ns - now, 0)),
                      [&] { return is_interrupted_ || !run.answers.empty(); });
    answers.swap(run.answers);
    is_interrupted = is_interrupted_;
  }
  for (auto& [index, answer] : answers) run.take(index, std::move(answer), limits);
  if (!is_interrupted) return;
  for (Run::Item& item : run.items) run.end(item, make_status(Code::kCancelled, "the server ends"));
}

std::vector<Status> StoreCalls::run(std::vector<std::shared_ptr<StoreTask>> tasks, const RunLimits& limits) {
  const auto run = std::make_shared<Run>();
  for (std::shared_ptr<StoreTask>& task : tasks) run->items.push_back({.task = std::move(task)});
  int64_t tick_ns = now_ns() + kNsPerSecond;
  while (!run->is_over()) {
    const int64_t now = now_ns();
    if (now >= tick_ns && limits.on_tick != nullptr) {
      limits.on_tick();
      tick_ns = now + kNsPerSecond;
    }
    size_t busy = run->busy();
    for (size_t i = 0; i < run->items.size(); ++i) {
      Run::Item& item = run->items[i];
      if (item.end) continue;
      if (item.task->deadline_ns != 0 && now >= item.task->deadline_ns) {
        run->end(item, item.failure.ok()
                           ? make_status(Code::kDeadlineExceeded, "the store did not answer in time")
                           : std::move(item.failure));
      } else if (!item.is_busy && item.due_ns <= now && busy < limits.side_by_side) {
        begin(run, i);
        ++busy;
      }
    }
    wait(*run, limits);
  }
  std::vector<Status> ends;
  for (Run::Item& item : run->items) ends.push_back(std::move(*item.end));
  return ends;
}

}  // namespace atl::s3
