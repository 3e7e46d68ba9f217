/// The slowest requests that were traced of late, for people who look at them. Service "atoll.trace_log/1", provided by
/// plugins that take traces (`telemetry/trace`) and used by `frontends/console`.
///
///     for (const TraceSummary& one : log->slowest()) {
///       const Result<FinishedTrace> trace = log->find(one.id);
///       if (!trace.ok()) continue;  // it has gone meanwhile
///       for (const TraceSpan& span : trace.value().spans) { ... }
///     }
///
/// A provider keeps a bounded number of traces in memory, in bounded memory, beside whatever it exports them to. Tensors are
/// never among what it keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl {

/// A trace that has ended. Texts are the client's or the backend's, so they may be of any bytes; long ones are cut.
struct TraceSummary {
  /// Names the trace for TraceLog::find(). Unique in the log; never 0.
  uint64_t id = 0;
  /// Under which it was exported: the number that Trace::id() gave, in decimal digits, or the 32 hexadecimal digits of
  /// an OpenTelemetry trace.
  std::string trace_id;
  /// When it began, in nanoseconds since 1970, by the wall clock of that moment.
  int64_t begin_wall_ns = 0;
  /// From its first moment to its end.
  int64_t duration_ns = 0;
  /// Of the client's request.
  std::string model;
  int64_t version = 0;
  /// Empty: the client gave none.
  std::string request_id;
  /// How many spans FinishedTrace has.
  uint32_t spans = 0;
  /// Requests, spans and moments that are not in it, as the trace was too large to be kept whole.
  uint64_t left_out = 0;
};

/// A part of the time of a trace.
struct TraceSpan {
  static constexpr uint32_t kNoParent = UINT32_MAX;

  /// "trace", the whole of it; "request", one request in the server, of the client or of an ensemble's step; "queue",
  /// "compute input", "compute" and "compute output", the phases of one; or what a frontend or a backend has named, such as
  /// "HTTP_RECV" for the time from HTTP_RECV_START to HTTP_RECV_END. A moment without an end has a span of no length.
  std::string name;
  /// Where the span that it is a part of stands in FinishedTrace::spans, before this one.
  uint32_t parent = kNoParent;
  /// Since the begin of the trace, at least 0 and at most its duration.
  int64_t begin_ns = 0;
  /// At least begin_ns.
  int64_t end_ns = 0;
  /// Of a span "request"; empty of all others.
  std::string model;
  int64_t version = 0;
};

/// A trace and its spans. The first span is "trace", which is the only one without a parent; what is inside a span follows
/// it, in the order of their begins.
struct FinishedTrace {
  TraceSummary summary;
  std::vector<TraceSpan> spans;
};

/// Keeps the slowest traces. What the functions return is the caller's. [any]
class TraceLog {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.trace_log/1";
  /// More traces than this are never kept.
  static constexpr size_t kMost = 100;

  /// Whether any request may be traced at present, as Tracing::active() says.
  virtual bool active() const noexcept = 0;
  /// The traces that are kept, the slowest first. Takes a lock for a moment.
  virtual std::vector<TraceSummary> slowest() const noexcept = 0;
  /// One of them. Takes a lock for a moment.
  /// Errors: NOT_FOUND there never was one with this id, or it is not kept any more.
  virtual Result<FinishedTrace> find(uint64_t id) const noexcept = 0;

 protected:
  ~TraceLog() = default;
};

}  // namespace atl
