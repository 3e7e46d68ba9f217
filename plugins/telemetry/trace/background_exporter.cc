#include "telemetry/trace/background_exporter.h"

#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/stop_executor.h"

namespace atl::tracing {

BackgroundExporter::~BackgroundExporter() {
  // Only a service that was never started has records here.
  Link* link = newest_.exchange(nullptr);
  while (link != nullptr) delete std::exchange(link, link->next);
}

Status BackgroundExporter::start(ExecutorFactory& executors) noexcept {
  Result<SerialExecutorPtr> executor = executors.create("trace", {});
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  // An instance whose place this one takes may have left some, to be forgotten in time.
  if (slowest_ != nullptr && slowest_->size_bytes() != 0)
    executor_->post(
        {[](void* self) { static_cast<BackgroundExporter*>(self)->forget_old(); }, this, nullptr});
  return {};
}

void BackgroundExporter::stop(int64_t deadline_ns) noexcept {
  if (executor_ == nullptr) return;
  stopping_.store(true, std::memory_order_relaxed);
  stop_waiting(deadline_ns);
  stop_executor(executor_);
  take_new();
  flush(deadline_ns);
}

void BackgroundExporter::submit(std::unique_ptr<Record> record) noexcept {
  if (!admit(*record)) {
    record->scope->close(record->sampled);
    counts_.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  auto* link = new Link{std::move(record), newest_.load(std::memory_order_relaxed)};
  while (!newest_.compare_exchange_weak(link->next, link, std::memory_order_seq_cst)) {
  }
  wake();
}

void BackgroundExporter::wake() noexcept {
  if (awake_.exchange(true, std::memory_order_seq_cst) || executor_ == nullptr) return;
  executor_->post({[](void* self) {
                     auto& exporter = *static_cast<BackgroundExporter*>(self);
                     // Before the list is taken: who comes later wakes it again.
                     exporter.awake_.store(false, std::memory_order_seq_cst);
                     exporter.take_new();
                   },
                   this, nullptr});
}

std::deque<std::unique_ptr<Record>> BackgroundExporter::take_all() noexcept {
  std::deque<std::unique_ptr<Record>> records;
  Link* link = newest_.exchange(nullptr, std::memory_order_seq_cst);
  while (link != nullptr) {
    records.push_front(std::move(link->record));
    delete std::exchange(link, link->next);
  }
  return records;
}

void BackgroundExporter::take_new() noexcept {
  std::deque<std::unique_ptr<Record>> records = take_all();
  if (slowest_ != nullptr && !records.empty()) {
    // Where there is no memory for a look at them, they are exported all the same.
    (void)guarded("keeping the slowest traces", [&]() -> Status {
      for (const auto& record : records) slowest_->add(*record, clock_.now_ns());
      return {};
    });
    forget_old();
  }
  take(std::move(records));
}

void BackgroundExporter::forget_old() noexcept {
  if (slowest_ == nullptr || forgets_later_ || !may_wait()) return;
  const int64_t next_ns = slowest_->forget_old(clock_.now_ns());
  if (next_ns == INT64_MAX) return;
  forgets_later_ = true;
  executor_->post_at(next_ns, {[](void* self) {
                                 auto& exporter = *static_cast<BackgroundExporter*>(self);
                                 exporter.forgets_later_ = false;
                                 exporter.forget_old();
                               },
                               this, nullptr});
}

void BackgroundExporter::done(std::unique_ptr<Record> record, bool exported) noexcept {
  forget(*record);
  (exported ? counts_.exported : counts_.dropped).fetch_add(1, std::memory_order_relaxed);
}

void BackgroundExporter::report_failure(const Status& failure) {
  std::string text = failure.text();
  if (text == last_failure_) return;
  log_.warning("traces are dropped: ", text, "; said once until it changes");
  last_failure_ = std::move(text);
}

}  // namespace atl::tracing
