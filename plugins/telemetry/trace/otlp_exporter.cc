#include "telemetry/trace/otlp_exporter.h"

#include <algorithm>
#include <utility>

#include "telemetry/trace/otlp_text.h"

namespace atl::tracing {

bool OtlpExporter::admit(const Record& record) noexcept {
  uint64_t spans = record.span_count(), bytes = record.size_bytes;
  uint64_t spans_before = pending_spans_.fetch_add(spans, std::memory_order_relaxed);
  uint64_t bytes_before = pending_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (spans_before + spans <= config_.queue_spans_max && bytes_before + bytes <= config_.pending_bytes_max) {
    return true;
  }
  forget(record);
  return false;
}

void OtlpExporter::forget(const Record& record) noexcept {
  pending_spans_.fetch_sub(record.span_count(), std::memory_order_relaxed);
  pending_bytes_.fetch_sub(record.size_bytes, std::memory_order_relaxed);
}

void OtlpExporter::take(std::deque<std::unique_ptr<Record>> records) noexcept {
  for (auto& record : records) {
    record->scope->close(record->sampled);
    if (waiting_.empty()) waiting_since_ns_ = clock_.now_ns();
    waiting_spans_ += record->span_count();
    waiting_.push_back(std::move(record));
  }
  if (may_wait()) export_due();
}

void OtlpExporter::export_due() {
  while (true) {
    int64_t now_ns = clock_.now_ns();
    if (batch_.empty()) {
      if (waiting_.empty()) return;
      int64_t due_ns = waiting_since_ns_ + config_.schedule_delay_ns;
      if (waiting_spans_ < config_.batch_spans_max && now_ns < due_ns) return wake_at(due_ns);
      next_batch();
    }
    if (now_ns < next_attempt_ns_) return wake_at(next_attempt_ns_);
    attempt(config_.export_timeout_ns, attempts_ + 1 == kAttemptsMax);
  }
}

bool OtlpExporter::next_batch() {
  uint64_t spans = 0;
  while (!waiting_.empty() && spans < config_.batch_spans_max) {
    spans += waiting_.front()->span_count();
    batch_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  waiting_spans_ -= spans;
  waiting_since_ns_ = clock_.now_ns();
  attempts_ = 0;
  next_attempt_ns_ = 0;
  if (batch_.empty()) return false;
  body_ = otlp_text(batch_, config_.resource, ids_);
  return true;
}

bool OtlpExporter::attempt(int64_t timeout_ns, bool last) {
  ++attempts_;
  PostResult result = transport_->post(body_, timeout_ns);
  if (result.status.ok()) {
    report_success();
    finish_batch(true);
    return true;
  }
  if (result.again && !last) {
    next_attempt_ns_ = clock_.now_ns() + (kRetryDelayNs << (attempts_ - 1));
    return false;
  }
  report_failure(result.status);
  finish_batch(false);
  return true;
}

void OtlpExporter::finish_batch(bool exported) {
  for (auto& record : batch_) done(std::move(record), exported);
  batch_.clear();
  body_.clear();
}

void OtlpExporter::wake_at(int64_t time_ns) {
  if (armed_ns_ != 0 && armed_ns_ <= time_ns) return;
  armed_ns_ = time_ns;
  executor().post_at(time_ns, {[](void* self) {
                                 auto& exporter = *static_cast<OtlpExporter*>(self);
                                 exporter.armed_ns_ = 0;
                                 exporter.export_due();
                               },
                               this, nullptr});
}

void OtlpExporter::stop_waiting(int64_t) noexcept { transport_->interrupt(true); }

void OtlpExporter::flush(int64_t deadline_ns) noexcept {
  transport_->interrupt(false);
  while (!batch_.empty() || next_batch()) {
    int64_t left_ns = deadline_ns - clock_.now_ns();
    if (left_ns > 0) {
      attempt(std::min(left_ns, config_.export_timeout_ns), true);
    } else {
      report_failure(unavailable("the server stopped before they were exported"));
      finish_batch(false);
    }
  }
}

}  // namespace atl::tracing
