/// Traces of requests: which requests are sampled, and the settings that say so. Service "atoll.tracing/1",
/// provided by telemetry/trace; a server may have none.
///
/// Frontends use it as follows, for each request:
///
///     if (tracing && tracing->active()) {
///       request.trace = tracing->start({.model = name, .version = version, .request_id = request.id});
///     }
///
/// The settings are those of the trace extension of Triton's protocol (TraceSetting over gRPC,
/// v2/trace/setting over HTTP): trace_level, trace_rate, trace_count, log_frequency and so on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/trace.h"

namespace atl {

/// What a frontend knows of a request that may be traced. Everything is borrowed during the call.
struct TraceStart {
  std::string_view model;
  int64_t version = 0;
  std::string_view request_id;
  /// The W3C trace context that the client sent in the header of this name; empty: none. Where traces go to
  /// an OpenTelemetry collector, such a request is traced as a part of the client's trace, whatever
  /// trace_rate says.
  std::string_view traceparent;
  /// The client's header "tracestate", which belongs to its "traceparent".
  std::string_view tracestate;
};

/// One setting as the protocol shows it: "trace_rate" -> {"1000"}; only trace_level may have several values.
/// In an update an empty list clears a model's own value, so that the global one counts again.
struct TraceSetting {
  std::string key;
  std::vector<std::string> values;
};

/// Decides which requests are traced, and keeps the settings of all models and of single ones.
class Tracing {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.tracing/1";

  /// Whether any request may be traced at present. It costs a load and a branch, so a frontend asks before it
  /// gathers what start() wants. [request]
  virtual bool active() const noexcept = 0;
  /// Samples the request by the settings of its model. Null: this request is not traced. The caller owns the
  /// trace until Trace::release(). The provider is not stopped while one of its traces lasts. [request]
  virtual Trace* start(const TraceStart& request) noexcept = 0;

  // --- [any] ---
  /// The effective settings, in the protocol's order. [any]
  /// \param model  empty: the global ones
  virtual Result<std::vector<TraceSetting>> settings(std::string_view model) const noexcept = 0;
  /// Makes all of the changes or, on failure, none. Unknown keys are ignored, as in the protocol. Whether the
  /// model exists is the caller's to check. Requests that are being traced keep the settings they began with.
  /// [any]
  /// \param model  empty: the global settings, which count for every model that has no value of its own
  /// Errors: UNIMPLEMENTED the key is trace_file; INVALID_ARGUMENT a value; RESOURCE_EXHAUSTED too many
  /// models have settings of their own.
  virtual Status update(std::string_view model, std::span<const TraceSetting> changes) noexcept = 0;

 protected:
  ~Tracing() = default;
};

}  // namespace atl
