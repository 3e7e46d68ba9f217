/// What is counted per model version: the numbers behind the statistics calls and the metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/latency_histogram.h"
#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl {

class Request;

struct StatisticDuration {
  uint64_t count = 0;
  uint64_t ns = 0;
};

/// Steady-clock moments of one execution, ns: start, inputs ready, outputs begun, end. Of a request that is
/// executed in several steps with time between them: what the steps took, one after the other.
struct ExecutionTimes {
  int64_t execute_start_ns = 0;
  int64_t compute_start_ns = 0;
  int64_t compute_end_ns = 0;
  int64_t execute_end_ns = 0;
  int64_t request_end_ns = 0;  ///< when the request ended, if that is later; 0: with its execution
};

/// Steady-clock moments of one of a request's responses, ns: when work on it began, when its outputs were begun, and
/// when it was sent.
struct ResponseTimes {
  int64_t start_ns = 0;
  int64_t output_start_ns = 0;  ///< 0: it has no outputs
  int64_t end_ns = 0;
};

/// Why a request failed; labels of nv_inference_request_failure.
enum class FailureReason : uint32_t { kRejected = 0, kCanceled = 1, kBackend = 2, kOther = 3 };

/// Where schedulers and backends report. Per-thread cells; costs a few nanoseconds. [any]
class InferenceReporter {
 public:
  /// Once for each executed request, before it is released. With success=false only the failure is counted.
  /// Of a request that goes through several executions (kReleaseReschedule) the last one is reported; those
  /// before it count in their batches only.
  virtual void report_request(const Request& request, bool success, const ExecutionTimes& times) noexcept = 0;
  /// Once for each executed batch. \param batch_size  sum of the requests' batch weights
  virtual void report_batch(uint32_t batch_size, const ExecutionTimes& times) noexcept = 0;
  /// A request that was not executed.
  virtual void report_failure(const Request& request, FailureReason reason) noexcept = 0;
  /// A request that was answered from the response cache. \param duration_ns  that finding the answer took
  virtual void report_cache_hit(const Request& /*request*/, uint64_t /*duration_ns*/) noexcept {}
  /// A request whose answer had to be computed, and was kept if it could be.
  /// \param duration_ns  that looking for the answer and keeping it took
  virtual void report_cache_miss(const Request& /*request*/, uint64_t /*duration_ns*/) noexcept {}
  /// One of a request's responses, by a backend that counts them one by one.
  /// \param index    of the response among those to its request, from 0 on
  /// \param outcome  kOk: it was sent, and is empty if it has no outputs; kCancelled; another: it failed
  virtual void report_response(uint64_t /*index*/, Code /*outcome*/,
                               const ResponseTimes& /*times*/) noexcept {}

 protected:
  ~InferenceReporter() = default;
};

struct BatchStatistics {
  uint64_t batch_size = 0;
  StatisticDuration compute_input, compute_infer, compute_output;
};

/// Of the responses that came at one place among those to their requests.
struct ResponseStatistics {
  StatisticDuration compute_infer, compute_output, success, fail, empty, cancelled;
};

/// Latencies of successful requests by phase.
struct LatencyHistograms {
  LatencyHistogram queue, compute_input, compute_infer, compute_output;
  LatencyHistogram total;           ///< request start to the end of its execution
  LatencyHistogram first_response;  ///< request start to its first response
};

struct MemoryUsage {
  MemoryKind kind = MemoryKind::kCpu;
  int64_t device_id = 0;
  uint64_t size_bytes = 0;
};

/// A snapshot for one model version.
struct ModelStatistics {
  std::string name;
  int64_t version = 0;
  uint64_t last_inference_ms = 0;  ///< wall clock; 0: none yet
  uint64_t inference_count = 0;
  uint64_t execution_count = 0;
  StatisticDuration success, fail, queue, compute_input, compute_infer, compute_output, cache_hit, cache_miss;
  uint64_t failures[4] = {};                  ///< by FailureReason
  uint64_t pending = 0;                       ///< requests accepted and not yet executing
  std::vector<BatchStatistics> batches;       ///< ascending by batch size
  std::vector<ResponseStatistics> responses;  ///< by their place, as far as the backend reports them
  std::vector<MemoryUsage> memory;
  LatencyHistograms latencies;
  uint64_t load_duration_ns = 0;  ///< from the start of the load to READY
};

}  // namespace atl
