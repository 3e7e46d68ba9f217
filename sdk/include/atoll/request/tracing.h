/// Traces of requests: which are sampled, and the settings that say so. Service "atoll.tracing/1".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/trace.h"

namespace atl {

/// What a frontend knows of a request that may be traced. Borrowed during the call.
struct TraceStart {
  std::string_view model;
  int64_t version = 0;
  std::string_view request_id;
  std::string_view traceparent;  ///< W3C trace context as the client sent it; empty: none
  std::string_view tracestate;
};

/// One setting as the wire shows it: "trace_rate" -> {"1000"}. In an update an empty list clears a model's
/// own value, so that the global one counts again.
struct TraceSetting {
  std::string key;
  std::vector<std::string> values;
};

class Tracing {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.tracing/1";

  /// [request] Whether any request may be traced at present: a load and a branch, to be asked before anything
  /// is gathered for start().
  virtual bool active() const noexcept = 0;
  /// [request] Null: this request is not traced. The caller owns the trace until Trace::release().
  virtual Trace* start(const TraceStart& request) noexcept = 0;

  // --- [any] ---
  /// The effective settings, in the protocol's order. \param model  empty: the global ones.
  virtual Result<std::vector<TraceSetting>> settings(std::string_view model) const noexcept = 0;
  /// All of the changes or, on failure, none. Unknown keys are ignored, as the protocol has it. Whether the
  /// model exists is the caller's to check.
  /// Errors: UNIMPLEMENTED trace_file; INVALID_ARGUMENT a value.
  virtual Status update(std::string_view model, std::span<const TraceSetting> changes) noexcept = 0;

 protected:
  ~Tracing() = default;
};

}  // namespace atl
