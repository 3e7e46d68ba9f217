#include "models/catalog/serving/statistics.h"

#include <algorithm>
#include <map>
#include <thread>

#include "atoll/request/request.h"

namespace atl::models {
namespace {

/// Moments come from backends; a reversed pair counts as no time.
uint64_t elapsed_ns(int64_t from_ns, int64_t to_ns) noexcept {
  return to_ns > from_ns ? static_cast<uint64_t>(to_ns - from_ns) : 0;
}

void add(StatisticDuration& to, uint64_t ns) noexcept {
  ++to.count;
  to.ns += ns;
}

void add(StatisticDuration& to, LatencyHistogram& histogram, uint64_t ns) noexcept {
  add(to, ns);
  histogram.add(ns);
}

void report_trace(Trace& trace, const ExecutionTimes& times) noexcept {
  trace.report(TraceActivity::kComputeStart, times.execute_start_ns);
  trace.report(TraceActivity::kComputeInputEnd, times.compute_start_ns);
  trace.report(TraceActivity::kComputeOutputStart, times.compute_end_ns);
  trace.report(TraceActivity::kComputeEnd, times.execute_end_ns);
}

void merge(LatencyHistograms& to, const LatencyHistograms& from) noexcept {
  to.queue.merge(from.queue);
  to.compute_input.merge(from.compute_input);
  to.compute_infer.merge(from.compute_infer);
  to.compute_output.merge(from.compute_output);
  to.total.merge(from.total);
  to.first_response.merge(from.first_response);
}

void merge(StatisticDuration& to, const StatisticDuration& from) noexcept {
  to.count += from.count;
  to.ns += from.ns;
}

void merge(BatchStatistics& to, const BatchStatistics& from) noexcept {
  merge(to.compute_input, from.compute_input);
  merge(to.compute_infer, from.compute_infer);
  merge(to.compute_output, from.compute_output);
}

void merge(std::vector<ResponseStatistics>& to, const std::vector<ResponseStatistics>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    merge(to[i].compute_infer, from[i].compute_infer);
    merge(to[i].compute_output, from[i].compute_output);
    merge(to[i].success, from[i].success);
    merge(to[i].fail, from[i].fail);
    merge(to[i].empty, from[i].empty);
    merge(to[i].cancelled, from[i].cancelled);
  }
}

/// Which phases count depends on how the response came out.
void add(ResponseStatistics& to, Code outcome, const ResponseTimes& times) noexcept {
  const uint64_t all_ns = elapsed_ns(times.start_ns, times.end_ns);
  if (outcome == Code::kCancelled) return add(to.cancelled, all_ns);
  const bool has_outputs = times.output_start_ns != 0;
  const bool failed = outcome != Code::kOk;
  add(to.compute_infer, has_outputs ? elapsed_ns(times.start_ns, times.output_start_ns) : all_ns);
  const uint64_t output_ns = has_outputs ? elapsed_ns(times.output_start_ns, times.end_ns) : 0;
  if (has_outputs && (!failed || output_ns != 0)) add(to.compute_output, output_ns);
  add(failed ? to.fail : has_outputs ? to.success : to.empty, all_ns);
}

}  // namespace

class StatisticsRecorder::CellLock {
 public:
  explicit CellLock(const Cell& cell) noexcept : cell_(cell) {
    while (cell_.busy.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  CellLock(const CellLock&) = delete;
  CellLock& operator=(const CellLock&) = delete;
  ~CellLock() { cell_.busy.clear(std::memory_order_release); }

 private:
  const Cell& cell_;
};

StatisticsRecorder::StatisticsRecorder(const Clock& clock, uint32_t max_batch_size) noexcept
    : clock_(clock), batch_sizes_max_(std::clamp(max_batch_size, 1U, kBatchSizesMax)) {}

StatisticsRecorder::~StatisticsRecorder() {
  for (std::atomic<Cell*>& place : cells_) delete place.load(std::memory_order_acquire);
}

void StatisticsRecorder::report_request(const Request& request, bool success,
                                        const ExecutionTimes& times) noexcept {
  if ((request.call_flags & kShadow) != 0) return;
  if (!success) return count_failure(request, FailureReason::kBackend);
  const int64_t last_ns = times.request_end_ns != 0 ? times.request_end_ns : times.execute_end_ns;
  const int64_t end_ns = last_ns != 0 ? last_ns : clock_.now_ns();
  // What took several steps has no moments of its own: theirs have them.
  if (request.trace != nullptr && times.request_end_ns == 0) report_trace(*request.trace, times);
  if (request.execution_times != nullptr) *request.execution_times = times;
  Cell& mine = cell();
  CellLock lock(mine);
  LatencyHistograms& histograms = mine.histograms();
  mine.inference_count += request.batch_weight();
  add(mine.success, histograms.total, elapsed_ns(request.times.start_ns, end_ns));
  add(mine.queue, histograms.queue, elapsed_ns(request.times.queue_start_ns, times.execute_start_ns));
  add(mine.compute_input, histograms.compute_input,
      elapsed_ns(times.execute_start_ns, times.compute_start_ns));
  add(mine.compute_infer, histograms.compute_infer, elapsed_ns(times.compute_start_ns, times.compute_end_ns));
  add(mine.compute_output, histograms.compute_output, elapsed_ns(times.compute_end_ns, times.execute_end_ns));
}

void StatisticsRecorder::report_first_response(const Request& request) noexcept {
  int64_t now_ns = clock_.now_ns();
  Cell& mine = cell();
  CellLock lock(mine);
  mine.histograms().first_response.add(elapsed_ns(request.times.start_ns, now_ns));
}

void StatisticsRecorder::report_batch(uint32_t batch_size, const ExecutionTimes& times) noexcept {
  int64_t end_ns = times.execute_end_ns != 0 ? times.execute_end_ns : clock_.now_ns();
  Cell& mine = cell();
  CellLock lock(mine);
  ++mine.execution_count;
  mine.last_execution_ns = std::max(mine.last_execution_ns, end_ns);
  if (BatchStatistics* batch = batch_of(mine, batch_size); batch != nullptr) {
    add(batch->compute_input, elapsed_ns(times.execute_start_ns, times.compute_start_ns));
    add(batch->compute_infer, elapsed_ns(times.compute_start_ns, times.compute_end_ns));
    add(batch->compute_output, elapsed_ns(times.compute_end_ns, times.execute_end_ns));
  }
}

void StatisticsRecorder::report_failure(const Request& request, FailureReason reason) noexcept {
  if ((request.call_flags & kShadow) != 0) return;
  count_failure(request, reason);
}

void StatisticsRecorder::report_cache_hit(const Request& request, uint64_t duration_ns) noexcept {
  const int64_t now_ns = clock_.now_ns();
  if (request.execution_times != nullptr) *request.execution_times = {};
  Cell& mine = cell();
  CellLock lock(mine);
  LatencyHistograms& histograms = mine.histograms();
  add(mine.success, histograms.total, elapsed_ns(request.times.start_ns, now_ns));
  add(mine.queue, histograms.queue, 0);
  add(mine.cache_hit, duration_ns);
}

void StatisticsRecorder::report_cache_miss(const Request&, uint64_t duration_ns) noexcept {
  Cell& mine = cell();
  CellLock lock(mine);
  add(mine.cache_miss, duration_ns);
}

void StatisticsRecorder::report_response(uint64_t index, Code outcome, const ResponseTimes& times) noexcept {
  if (index >= kResponsesMax) return;
  Cell& mine = cell();
  CellLock lock(mine);
  if (mine.responses.size() <= index) mine.responses.resize(index + 1);
  add(mine.responses[index], outcome, times);
}

void StatisticsRecorder::count_failure(const Request& request, FailureReason reason) noexcept {
  auto index = std::min(static_cast<uint32_t>(reason), static_cast<uint32_t>(FailureReason::kOther));
  int64_t now_ns = clock_.now_ns();
  Cell& mine = cell();
  CellLock lock(mine);
  add(mine.fail, elapsed_ns(request.times.start_ns, now_ns));
  ++mine.failures[index];
}

BatchStatistics* StatisticsRecorder::batch_of(Cell& cell, uint32_t batch_size) const {
  auto& batches = cell.batches;
  auto at =
      std::lower_bound(batches.begin(), batches.end(), batch_size,
                       [](const BatchStatistics& batch, uint32_t size) { return batch.batch_size < size; });
  if (at != batches.end() && at->batch_size == batch_size) return &*at;
  if (batches.size() >= batch_sizes_max_) return nullptr;
  BatchStatistics fresh;
  fresh.batch_size = batch_size;
  return &*batches.insert(at, fresh);
}

/// Threads may share a shard: the first one's cell is everybody's.
StatisticsRecorder::Cell& StatisticsRecorder::make_cell(std::atomic<Cell*>& place) noexcept {
  auto fresh = std::make_unique<Cell>();
  Cell* first = nullptr;
  if (!place.compare_exchange_strong(first, fresh.get(), std::memory_order_acq_rel)) return *first;
  return *fresh.release();
}

void StatisticsRecorder::reset() noexcept {
  for (std::atomic<Cell*>& place : cells_) {
    Cell* cell = place.load(std::memory_order_acquire);
    if (cell == nullptr) continue;
    CellLock lock(*cell);
    static_cast<Counts&>(*cell) = {};
  }
}

ModelStatistics StatisticsRecorder::snapshot() const {
  ModelStatistics sum;
  int64_t last_execution_ns = 0;
  std::map<uint64_t, BatchStatistics> by_size;
  for (const std::atomic<Cell*>& place : cells_) {
    const Cell* made = place.load(std::memory_order_acquire);
    if (made == nullptr) continue;
    const Cell& cell = *made;
    CellLock lock(cell);
    sum.inference_count += cell.inference_count;
    sum.execution_count += cell.execution_count;
    last_execution_ns = std::max(last_execution_ns, cell.last_execution_ns);
    merge(sum.success, cell.success);
    merge(sum.fail, cell.fail);
    merge(sum.queue, cell.queue);
    merge(sum.compute_input, cell.compute_input);
    merge(sum.compute_infer, cell.compute_infer);
    merge(sum.compute_output, cell.compute_output);
    merge(sum.cache_hit, cell.cache_hit);
    merge(sum.cache_miss, cell.cache_miss);
    merge(sum.responses, cell.responses);
    for (size_t i = 0; i < std::size(sum.failures); ++i) sum.failures[i] += cell.failures[i];
    if (cell.latencies != nullptr) merge(sum.latencies, *cell.latencies);
    for (const BatchStatistics& batch : cell.batches) {
      BatchStatistics& merged = by_size[batch.batch_size];
      merged.batch_size = batch.batch_size;
      merge(merged, batch);
    }
  }
  for (const auto& [size, batch] : by_size) sum.batches.push_back(batch);
  sum.last_inference_ms = wall_ms(last_execution_ns);
  return sum;
}

uint64_t StatisticsRecorder::wall_ms(int64_t execution_ns) const {
  if (execution_ns == 0) return 0;
  std::scoped_lock lock(wall_mutex_);
  // The hot path reads one clock only; the calendar is asked here, once for each value that is shown.
  if (execution_ns != wall_of_ns_) {
    wall_of_ns_ = execution_ns;
    int64_t wall_ns = clock_.wall_ns() - (clock_.now_ns() - execution_ns);
    wall_ms_ = wall_ns > 0 ? static_cast<uint64_t>(wall_ns / kNsPerMs) : 0;
  }
  return wall_ms_;
}

}  // namespace atl::models
