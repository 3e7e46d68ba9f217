/// A sampled request's trace. Most requests have none, so every use stands behind a null check:
///
///     if (request.trace != nullptr) request.trace->report_named("TOKENIZED", host.clock().now_ns());
///
/// Traces are made by the tracing service (atoll/request/tracing.h); Triton's C API calls one a
/// TRITONSERVER_InferenceTrace. A backend need not report when its execution began and ended: the times that
/// it reports to its InferenceReporter go to the trace, too.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "atoll/request/tensor.h"

namespace atl {

/// What happened at a moment. The numbers are those of TRITONSERVER_InferenceTraceActivity in Triton's C API.
/// The catalog reports the request's start, the start of its queueing and its inputs, and passes on the
/// moments of the execution (atoll/request/statistics.h); the sink reports outputs and the request's end.
enum class TraceActivity : uint32_t {
  kRequestStart = 0,
  kQueueStart = 1,
  kComputeStart = 2,
  kComputeInputEnd = 3,
  kComputeOutputStart = 4,
  kComputeEnd = 5,
  kRequestEnd = 6,
  kTensorQueueInput = 7,
  kTensorBackendInput = 8,
  kTensorBackendOutput = 9,
  kCustomActivity = 10
};

/// The trace of one request. Owned by the request's maker, outlives the request, and ends with release(). All
/// functions may be called from any thread [any]; each takes at most a lock that this trace shares only with
/// the traces made of it by spawn_child(). Timestamps are of the host's steady clock (Clock::now_ns()), in
/// nanoseconds; 0 means now.
///
/// A trace keeps a bounded number of moments and bytes; what is beyond that is dropped and counted.
class Trace {
 public:
  /// Unique in the server since its start; never 0.
  virtual uint64_t id() const noexcept = 0;
  /// Records that the activity happened at this moment.
  virtual void report(TraceActivity activity, int64_t timestamp_ns) noexcept = 0;
  /// Records a tensor's values, in as many buffers as it has. They are copied during the call, up to a bound.
  /// Ask wants_tensors() first, which is mostly false.
  /// \param activity  kTensorQueueInput, kTensorBackendInput or kTensorBackendOutput
  virtual void report_tensor(TraceActivity activity, std::string_view name, DataType datatype,
                             std::span<const int64_t> shape, std::span<const Buffer> buffers) noexcept = 0;
  /// Records a moment with a name of its own, such as a frontend's "HTTP_RECV_START". The name is copied
  /// during the call.
  virtual void report_named(const char* name, int64_t timestamp_ns) noexcept = 0;
  /// The W3C trace context ("traceparent") to send along with a call that continues this trace in another
  /// server; empty: there is none. Valid until release().
  virtual std::string_view traceparent() const noexcept = 0;
  /// Makes the trace of a request that is made on behalf of this one, such as an ensemble's step. The child
  /// needs its own release(), and may be used after this trace was released. Null: nothing is to be recorded.
  /// The texts are copied.
  virtual Trace* spawn_child(std::string_view model, int64_t version,
                             std::string_view request_id) noexcept = 0;
  /// The owner's last call; the trace may be gone when it returns. What was recorded is exported when all
  /// traces of the request's tree are released.
  virtual void release() noexcept = 0;
  /// Whether report_tensor() keeps anything. Constant for one trace.
  virtual bool wants_tensors() const noexcept = 0;

 protected:
  ~Trace() = default;
};

}  // namespace atl
