/// What one trace has recorded, on its way from the request to the exporter.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/request/tensor.h"
#include "atoll/request/trace.h"
#include "telemetry/trace/scope.h"
#include "telemetry/trace/trace_context.h"

namespace atl::tracing {

/// A name on the wire: "REQUEST_START"; "<unknown>" for other numbers.
const char* activity_name(TraceActivity activity) noexcept;

/// A tensor's description and the beginning of its values.
struct RecordedTensor {
  std::string name;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> shape;
  std::string bytes;
  bool cut = false;  ///< bytes are not all that the tensor has
};

/// A moment or a tensor.
struct RecordedEvent {
  TraceActivity activity = TraceActivity::kCustomActivity;
  int64_t timestamp_ns = 0;
  /// Of a moment that has one; a copy, because whoever gave it may be unloaded before the export.
  std::string own_name;
  std::unique_ptr<RecordedTensor> tensor;

  /// What a moment is called.
  std::string_view name() const noexcept {
    return own_name.empty() ? std::string_view(activity_name(activity)) : own_name;
  }
};

/// One request of the trace: the client's, or a step of an ensemble.
struct RecordedRequest {
  uint64_t id = 0;
  uint64_t parent_id = 0;  ///< 0: the client's
  std::string model;
  int64_t version = 0;
  std::string request_id;
  SpanId span{};
  std::vector<RecordedEvent> events;
};

struct Record {
  std::shared_ptr<Scope> scope;
  Sampled sampled = Sampled::kByRate;
  int64_t start_ns = 0;  ///< host clock
  int64_t end_ns = 0;
  int64_t wall_offset_ns = 0;  ///< added to a host time gives a calendar time
  TraceIdBytes trace_id{};
  SpanId root_span{};
  SpanId remote_parent{};  ///< zeros: none
  std::string tracestate;
  std::deque<RecordedRequest> requests;  ///< the client's first
  uint64_t dropped_events = 0;           ///< over the bounds
  uint64_t size_bytes = 0;               ///< memory it takes, about

  /// Spans it becomes at most.
  uint64_t span_count() const noexcept { return 1 + 2 * requests.size(); }
};

}  // namespace atl::tracing
