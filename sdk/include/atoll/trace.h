/// A sampled request's trace. Most requests have none, so every use is behind a null check.
#pragma once

#include <cstdint>

#include "atoll/tensor.h"

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

/// [any] Owned by the request's maker; outlives the request.
class Trace {
 public:
  virtual uint64_t id() const noexcept = 0;
  virtual void report(TraceActivity activity, int64_t timestamp_ns) noexcept = 0;
  virtual void report_tensor(TraceActivity activity, std::string_view name, DataType datatype,
                             std::span<const int64_t> shape, const Buffer& buffer) noexcept = 0;
  /// A trace of a request made on behalf of this one (an ensemble step); null if nothing is to be recorded.
  virtual Trace* spawn_child() noexcept = 0;
  virtual void release() noexcept = 0;

 protected:
  ~Trace() = default;
};

}  // namespace atl
