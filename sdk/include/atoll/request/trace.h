/// A sampled request's trace. Most requests have none, so every use is behind a null check.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "atoll/request/tensor.h"

namespace atl {

/// Numbers of the Triton C ABI.
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

/// [any] Owned by the request's maker; outlives the request. Timestamps are of the host's clock; 0 means now.
class Trace {
 public:
  virtual uint64_t id() const noexcept = 0;
  virtual void report(TraceActivity activity, int64_t timestamp_ns) noexcept = 0;
  /// A tensor's values, in as many buffers as it has. Ask wants_tensors() first.
  virtual void report_tensor(TraceActivity activity, std::string_view name, DataType datatype,
                             std::span<const int64_t> shape, std::span<const Buffer> buffers) noexcept = 0;
  /// A moment with a name of its own, such as a frontend's "HTTP_RECV_START". The name is copied during the call.
  virtual void report_named(const char* name, int64_t timestamp_ns) noexcept = 0;
  /// W3C trace context for whoever continues this trace elsewhere; empty: none.
  virtual std::string_view traceparent() const noexcept = 0;
  /// A trace of a request made on behalf of this one (an ensemble step), with a life of its own; null if
  /// nothing is to be recorded.
  virtual Trace* spawn_child(std::string_view model, int64_t version,
                             std::string_view request_id) noexcept = 0;
  /// The owner's last call.
  virtual void release() noexcept = 0;
  /// Whether report_tensor() keeps anything. What it keeps it copies during the call, up to a bound.
  virtual bool wants_tensors() const noexcept = 0;

 protected:
  ~Trace() = default;
};

}  // namespace atl
