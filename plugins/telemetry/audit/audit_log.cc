#include "telemetry/audit/audit_log.h"

#include <utility>

#include "atoll/core/stop_executor.h"
#include "telemetry/audit/audit_line.h"

namespace atl::audit {
namespace {

constexpr int64_t kLogIntervalNs = 60 * kNsPerSecond;

}  // namespace

AuditLog::AuditLog(RotatedFile file, uint64_t most_bytes, const Clock& clock, Log& log)
    : most_bytes_(most_bytes),
      clock_(clock),
      log_(log),
      log_interval_(kLogIntervalNs),
      file_(std::move(file)) {}

Status AuditLog::start(ExecutorFactory& executors) {
  ATOLL_RETURN_IF_ERROR(file_.open());
  Result<SerialExecutorPtr> executor = executors.create("audit", {});
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  return {};
}

void AuditLog::stop() noexcept {
  if (executor_ == nullptr) return;
  stop_executor(executor_);
  write_waiting();
}

void AuditLog::reopen() noexcept {
  if (executor_ == nullptr) return;
  executor_->post(make_task([this] {
    if (Status opened = file_.open(); !opened.ok())
      log_.error("records go on to the file that is open: ", opened.message());
  }));
}

void AuditLog::add(std::string line) noexcept {
  bool posts = false;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() > most_bytes_) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    waiting_ += line;
    ++waiting_count_;
    posts = !std::exchange(is_posted_, true);
  }
  if (posts)
    executor_->post({[](void* self) { static_cast<AuditLog*>(self)->write_waiting(); }, this, nullptr});
}

void AuditLog::write_waiting() noexcept {
  std::string lines;
  uint64_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    is_posted_ = false;
    lines.swap(waiting_);
    count = std::exchange(waiting_count_, 0);
  }
  const uint64_t dropped = dropped_.load(std::memory_order_relaxed);
  if (dropped != told_dropped_) lines += dropped_line(dropped - told_dropped_, clock_.wall_ns());
  if (lines.empty()) return;
  uint64_t written = 0;
  const Status status = file_.append(lines, &written);
  written = std::min(written, count);  // one more is the line about those that were dropped
  written_.fetch_add(written, std::memory_order_relaxed);
  if (status.ok()) {
    told_dropped_ = dropped;
    return;
  }
  dropped_.fetch_add(count - written, std::memory_order_relaxed);
  if (const auto left_out = log_interval_.next(clock_.now_ns()))
    log_.error("records of calls are lost: ", status.message());
}

}  // namespace atl::audit
