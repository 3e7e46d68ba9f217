#include "telemetry/trace/slowest_traces.h"

#include <algorithm>
#include <utility>

#include "telemetry/trace/trace_spans.h"

namespace atl::tracing {

void SlowestTraces::add(const Record& record, int64_t now_ns) {
  const int64_t duration_ns = duration_of(record);
  {
    std::lock_guard lock(mutex_);
    drop_old(now_ns);
    if (!has_room(duration_ns, sizeof(FinishedTrace))) return;
  }
  // Without the lock: who looks does not wait for this.
  Kept made{finished_trace(record, limits_.trace_bytes), record.end_ns, 0};
  made.size_bytes = size_of(made.trace);
  std::lock_guard lock(mutex_);
  if (is_old(made, now_ns) || !has_room(duration_ns, made.size_bytes)) return;
  make_room(made.size_bytes);
  made.trace.summary.id = next_id_++;
  size_bytes_ += made.size_bytes;
  kept_.push_back(std::move(made));
}

int64_t SlowestTraces::forget_old(int64_t now_ns) noexcept {
  std::lock_guard lock(mutex_);
  drop_old(now_ns);
  int64_t oldest_ns = INT64_MAX;
  for (const Kept& kept : kept_) oldest_ns = std::min(oldest_ns, kept.ended_ns);
  return oldest_ns == INT64_MAX ? oldest_ns : oldest_ns + limits_.age_ns + 1;
}

std::vector<TraceSummary> SlowestTraces::slowest(int64_t now_ns) const {
  std::vector<TraceSummary> all;
  {
    std::lock_guard lock(mutex_);
    for (const Kept& kept : kept_) {
      if (!is_old(kept, now_ns)) all.push_back(kept.trace.summary);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const TraceSummary& a, const TraceSummary& b) {
    return a.duration_ns > b.duration_ns;
  });
  return all;
}

Result<FinishedTrace> SlowestTraces::find(uint64_t id, int64_t now_ns) const {
  std::lock_guard lock(mutex_);
  for (const Kept& kept : kept_) {
    if (kept.trace.summary.id == id && !is_old(kept, now_ns)) return kept.trace;
  }
  return not_found("trace ", id, " is not kept");
}

uint64_t SlowestTraces::size_bytes() const noexcept {
  std::lock_guard lock(mutex_);
  return size_bytes_;
}

void SlowestTraces::drop_old(int64_t now_ns) noexcept {
  std::erase_if(kept_, [&](const Kept& kept) {
    if (!is_old(kept, now_ns)) return false;
    size_bytes_ -= kept.size_bytes;
    return true;
  });
  if (kept_.empty()) kept_ = std::vector<Kept>();
}

bool SlowestTraces::has_room(int64_t duration_ns, uint64_t size_bytes) const noexcept {
  size_t traces = 0;
  uint64_t bytes = size_bytes;
  for (const Kept& kept : kept_) {
    if (kept.trace.summary.duration_ns < duration_ns) continue;
    ++traces;
    bytes += kept.size_bytes;
  }
  return traces < limits_.traces && bytes <= limits_.bytes;
}

void SlowestTraces::make_room(uint64_t size_bytes) noexcept {
  while (is_full_with(size_bytes) && !kept_.empty()) {
    const auto fastest = std::min_element(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) {
      return a.trace.summary.duration_ns < b.trace.summary.duration_ns;
    });
    size_bytes_ -= fastest->size_bytes;
    kept_.erase(fastest);
  }
}

}  // namespace atl::tracing
