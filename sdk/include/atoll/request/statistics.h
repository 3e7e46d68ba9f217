/// What is counted per model version: the numbers behind the statistics calls and the metrics.
///
/// Schedulers and backends report to an InferenceReporter, which the catalog gives them
/// (SchedulerContext::reporter, InstanceSpec::reporter). ModelCatalog::statistics() gives the sums as
/// ModelStatistics; the frontends show these as the ModelStatistics message of KServe's statistics extension,
/// and as the metrics nv_inference_* on the page of metrics.
///
/// A backend reports each request, then the batch, and only then sends the responses, so that a client that
/// has its answer finds itself counted. atl::backends::BatchResponder does all of it:
///
///     reporter->report_request(*request, /*success=*/true, times);  // each request of the batch
///     reporter->report_batch(batch.total_batch_size, times);         // once
///     ... send the responses, release the requests
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/latency_histogram.h"
#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl {

class Request;

/// How often something happened and how long all of it took together: StatisticDuration of the statistics
/// extension.
struct StatisticDuration {
  uint64_t count = 0;
  uint64_t ns = 0;  ///< nanoseconds
};

/// Moments of one execution by the host's steady clock (Clock::now_ns()), in nanoseconds. Between them lie
/// the phases that are counted: compute_input, compute_infer, compute_output. Triton's C API has the same
/// four as exec_start_ns, compute_start_ns, compute_end_ns and exec_end_ns. For a request that is executed in
/// several steps with time between them (an ensemble): the durations of all steps, put one after the other.
///
/// If a moment is earlier than the one before it, the phase between them counts as 0 ns.
struct ExecutionTimes {
  /// The backend got the batch: queueing ends here.
  int64_t execute_start_ns = 0;
  /// The inputs are ready: the phase compute_input ends here.
  int64_t compute_start_ns = 0;
  /// The model has computed, and the outputs are begun: compute_infer ends here.
  int64_t compute_end_ns = 0;
  /// The outputs are made: compute_output ends here, and with it the request's duration.
  int64_t execute_end_ns = 0;
  /// When the request ended, if that is later than its last execution; 0: with its execution.
  int64_t request_end_ns = 0;
};

/// Moments of one of a request's responses by the host's steady clock, in nanoseconds.
struct ResponseTimes {
  /// Work on the response began.
  int64_t start_ns = 0;
  /// Its outputs were begun; 0: the response has no outputs.
  int64_t output_start_ns = 0;
  /// The response was sent.
  int64_t end_ns = 0;
};

/// Why a request failed: the label `reason` of the metric nv_inference_request_failure, with the values
/// REJECTED (never executed: refused, full queue, timeout), CANCELED, BACKEND (its execution failed) and
/// OTHER.
enum class FailureReason : uint32_t { kRejected = 0, kCanceled = 1, kBackend = 2, kOther = 3 };

/// Where schedulers and backends report what became of requests. May be called from any thread [any], and
/// outlives the model's scheduler and instances. A call does not make threads wait for each other, because
/// they count in cells of their own. Requests with kShadow are left out of all counts but those of batches
/// and of the cache.
class InferenceReporter {
 public:
  /// Reports one executed request, before it is released. With success=false only the failure is counted,
  /// with the reason kBackend, and the times are not looked at. The times of a success also go to the
  /// request's trace, if it has one.
  ///
  /// A request that goes through several executions (kReleaseReschedule) is reported with the last one; those
  /// before it count in their batches only.
  virtual void report_request(const Request& request, bool success, const ExecutionTimes& times) noexcept = 0;
  /// Reports one executed batch. Batches whose requests have all failed are not reported.
  /// \param batch_size  sum of the requests' batch weights (Request::batch_weight())
  virtual void report_batch(uint32_t batch_size, const ExecutionTimes& times) noexcept = 0;
  /// Reports a request that was not executed, by whoever answers it instead: the scheduler that cancels it,
  /// the admission that refuses it.
  virtual void report_failure(const Request& request, FailureReason reason) noexcept = 0;
  /// Reports a request that was answered from the response cache: a success without execution.
  /// \param duration_ns  that finding the answer took
  virtual void report_cache_hit(const Request& /*request*/, uint64_t /*duration_ns*/) noexcept {}
  /// Reports a request whose answer had to be computed, and was kept if it could be. Its execution is
  /// reported as any other.
  /// \param duration_ns  that looking for the answer and keeping it took
  virtual void report_cache_miss(const Request& /*request*/, uint64_t /*duration_ns*/) noexcept {}
  /// Reports one of a request's responses, by a backend that counts them one by one, beside report_request().
  /// The first 1,024 places are told apart; responses behind them are not counted.
  /// \param index    place of the response among those to its request, from 0 on
  /// \param outcome  kOk: the response was sent (it is an empty one if it has no outputs); kCancelled: the
  /// request was cancelled; any other: the response is a failure
  virtual void report_response(uint64_t /*index*/, Code /*outcome*/,
                               const ResponseTimes& /*times*/) noexcept {}

 protected:
  ~InferenceReporter() = default;
};

/// What executions of one batch size took: an entry of "batch_stats" in the statistics extension.
struct BatchStatistics {
  uint64_t batch_size = 0;  ///< in items, see Request::batch_weight()
  StatisticDuration compute_input, compute_infer, compute_output;
};

/// What was counted of the responses that came first, second, ... among those to their requests: an entry of
/// "response_stats" in the statistics extension. Only backends that call report_response() have any.
struct ResponseStatistics {
  StatisticDuration compute_infer, compute_output, success, fail, empty, cancelled;
};

/// Latencies of successful requests, one histogram a phase, in nanoseconds.
struct LatencyHistograms {
  /// The phases of ExecutionTimes; `queue` is from RequestTimes::queue_start_ns to the execution.
  LatencyHistogram queue, compute_input, compute_infer, compute_output;
  /// From RequestTimes::start_ns to the end of the request's execution.
  LatencyHistogram total;
  /// From RequestTimes::start_ns to the moment when the frontend got the first response: the metric
  /// nv_inference_first_response_histogram_ms.
  LatencyHistogram first_response;
};

/// Memory that a loaded model takes, as its backend knows it (BackendModel::memory_usage()): an entry of
/// "memory_usage" in the statistics extension.
struct MemoryUsage {
  MemoryKind kind = MemoryKind::kCpu;
  int64_t device_id = 0;  ///< of kGpu the CUDA ordinal
  uint64_t size_bytes = 0;
};

/// A snapshot of the counts of one model version. It is put together while requests go on being counted, so
/// numbers may differ by the requests of that moment. It takes about 11 kB, mostly for the histograms. Counts
/// go on when a version is rebuilt because a service behind it was replaced, and begin anew when its files or
/// its configuration changed.
struct ModelStatistics {
  std::string name;
  int64_t version = 0;
  /// End of the last execution, by the wall clock, in milliseconds since 1970; 0: there was none.
  uint64_t last_inference_ms = 0;
  /// Items inferred: the sum of the batch weights of successful requests, without those that the cache
  /// answered.
  uint64_t inference_count = 0;
  /// Executed batches.
  uint64_t execution_count = 0;
  /// `success` and `fail` last from RequestTimes::start_ns to the end; the others are the phases of
  /// successful requests. cache_hit and cache_miss are of the response cache.
  StatisticDuration success, fail, queue, compute_input, compute_infer, compute_output, cache_hit, cache_miss;
  /// Requests that failed, by FailureReason; the count of `fail` is their sum.
  uint64_t failures[4] = {};
  /// Requests that the scheduler has accepted and no instance is executing:
  /// nv_inference_pending_request_count.
  uint64_t pending = 0;
  /// Ascending by batch size; at most 1,024 sizes are told apart.
  std::vector<BatchStatistics> batches;
  /// By the place of the response, from 0 on.
  std::vector<ResponseStatistics> responses;
  std::vector<MemoryUsage> memory;
  LatencyHistograms latencies;
  /// From the start of the load to READY, in nanoseconds: nv_model_load_duration_secs.
  uint64_t load_duration_ns = 0;
};

}  // namespace atl
