#include "telemetry/trace/background_exporter.h"

#include <utility>

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
  return {};
}

void BackgroundExporter::stop(int64_t deadline_ns) noexcept {
  if (executor_ == nullptr) return;
  stopping_.store(true, std::memory_order_relaxed);
  stop_waiting(deadline_ns);
  stop_executor(executor_);
  take(take_all());
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
                     exporter.take(exporter.take_all());
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
