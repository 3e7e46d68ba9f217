#include "telemetry/trace/otlp_text.h"

#include <algorithm>

#include "atoll/core/text.h"
#include "atoll/lib/hex.h"
#include "atoll/lib/json_writer.h"

namespace atl::tracing {
namespace {

/// The instrumentation scope under which Triton's spans are known.
constexpr std::string_view kScopeName = "triton-server";
constexpr int kSpanKindServer = 2;

/// One span before it is written.
struct Span {
  SpanId id{}, parent{};
  std::string_view name;
  int64_t start_ns = 0, end_ns = 0;
  const RecordedRequest* request = nullptr;  ///< its attributes; null: none
  std::vector<const RecordedEvent*> events;
};

bool is_compute(TraceActivity activity) noexcept {
  return activity >= TraceActivity::kComputeStart && activity <= TraceActivity::kComputeEnd;
}
bool is_request(TraceActivity activity) noexcept {
  return activity <= TraceActivity::kQueueStart || activity == TraceActivity::kRequestEnd;
}

void add_event(Span& span, const RecordedEvent& event) {
  span.start_ns = span.events.empty() ? event.timestamp_ns : std::min(span.start_ns, event.timestamp_ns);
  span.end_ns = std::max(span.end_ns, event.timestamp_ns);
  span.events.push_back(&event);
}

const RecordedRequest* find(const Record& record, uint64_t id) noexcept {
  for (const RecordedRequest& request : record.requests) {
    if (request.id == id) return &request;
  }
  return nullptr;
}

/// A request's own span and its compute span; the frontend's moments go to the root.
void add_spans(const Record& record, const RecordedRequest& request, IdSource& ids, Span& root,
               std::vector<Span>* spans) {
  Span own, compute;
  for (const RecordedEvent& event : request.events) {
    if (event.tensor != nullptr) continue;
    if (is_compute(event.activity)) {
      add_event(compute, event);
    } else if (is_request(event.activity)) {
      add_event(own, event);
    } else {
      root.events.push_back(&event);
      root.start_ns = std::min(root.start_ns, event.timestamp_ns);
      root.end_ns = std::max(root.end_ns, event.timestamp_ns);
    }
  }
  if (own.events.empty()) return;
  const RecordedRequest* parent = find(record, request.parent_id);
  own.id = request.span;
  own.parent = parent != nullptr ? parent->span : record.root_span;
  own.name = request.model;
  own.request = &request;
  if (!compute.events.empty()) {
    own.end_ns = std::max(own.end_ns, compute.end_ns);
    compute.id = ids.span_id();
    compute.parent = request.span;
    compute.name = "compute";
  }
  root.start_ns = std::min(root.start_ns, own.start_ns);
  root.end_ns = std::max(root.end_ns, own.end_ns);
  spans->push_back(std::move(own));
  if (!compute.events.empty()) spans->push_back(std::move(compute));
}

std::vector<Span> spans_of(const Record& record, IdSource& ids) {
  std::vector<Span> spans(1);
  Span root;
  root.id = record.root_span;
  root.parent = record.remote_parent;
  root.name = "InferRequest";
  root.start_ns = record.start_ns;
  root.end_ns = record.end_ns;
  for (const RecordedRequest& request : record.requests) add_spans(record, request, ids, root, &spans);
  spans.front() = std::move(root);
  return spans;
}

void write_attribute(CheckedWriter& json, std::string_view key, const char* type, std::string_view value) {
  json.StartObject();
  write_member(json, "key", key);
  write_key(json, "value");
  json.StartObject();
  write_member(json, type, value);
  json.EndObject();
  json.EndObject();
}

void write_attributes(CheckedWriter& json, const RecordedRequest& request) {
  write_key(json, "attributes");
  json.StartArray();
  // 64-bit integers are strings in this encoding.
  write_attribute(json, "triton.model_name", "stringValue", request.model);
  write_attribute(json, "triton.model_version", "intValue", cat(request.version));
  write_attribute(json, "triton.trace_id", "intValue", cat(request.id));
  write_attribute(json, "triton.trace_parent_id", "intValue", cat(request.parent_id));
  if (!request.request_id.empty()) {
    write_attribute(json, "triton.request_id", "stringValue", request.request_id);
  }
  json.EndArray();
}

void write_time(CheckedWriter& json, const char* key, int64_t host_ns, const Record& record) {
  write_member(json, key, cat(std::max<int64_t>(host_ns + record.wall_offset_ns, 0)));
}

void write_span(CheckedWriter& json, const Span& span, const Record& record) {
  json.StartObject();
  write_member(json, "traceId", hex(record.trace_id));
  write_member(json, "spanId", hex(span.id));
  if (span.parent != SpanId{}) {
    write_member(json, "parentSpanId", hex(span.parent));
  }
  if (!record.tracestate.empty()) {
    write_member(json, "traceState", record.tracestate);
  }
  write_member(json, "name", span.name);
  write_member(json, "kind", kSpanKindServer);
  write_time(json, "startTimeUnixNano", span.start_ns, record);
  write_time(json, "endTimeUnixNano", span.end_ns, record);
  if (span.request != nullptr) write_attributes(json, *span.request);
  write_key(json, "events");
  json.StartArray();
  for (const RecordedEvent* event : span.events) {
    json.StartObject();
    write_time(json, "timeUnixNano", event->timestamp_ns, record);
    write_member(json, "name", event->name());
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void begin_list(CheckedWriter& json, const char* key) {
  write_key(json, key);
  json.StartArray();
  json.StartObject();
}
void end_list(CheckedWriter& json) {
  json.EndObject();
  json.EndArray();
}

}  // namespace

std::string otlp_text(std::span<const std::unique_ptr<Record>> records,
                      std::span<const std::pair<std::string, std::string>> resource, IdSource& ids) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  json.StartObject();
  begin_list(json, "resourceSpans");
  write_key(json, "resource");
  json.StartObject();
  write_key(json, "attributes");
  json.StartArray();
  for (const auto& [key, value] : resource) write_attribute(json, key, "stringValue", value);
  json.EndArray();
  json.EndObject();
  begin_list(json, "scopeSpans");
  write_key(json, "scope");
  json.StartObject();
  write_member(json, "name", kScopeName);
  json.EndObject();
  write_key(json, "spans");
  json.StartArray();
  for (const auto& record : records) {
    for (const Span& span : spans_of(*record, ids)) write_span(json, span, *record);
  }
  json.EndArray();
  end_list(json);
  end_list(json);
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace atl::tracing
