#include "frontends/console/traces/traces_json.h"

#include <utility>

#include "atoll/core/registry.h"
#include "atoll/lib/json_writer.h"
#include "frontends/console/answer_json.h"
#include "frontends/console/query_parts.h"

namespace atl::frontends::console {
namespace {

constexpr std::string_view kNobodyKeepsThem =
    "No plugin keeps traces. Add telemetry/trace to the manifest: [plugin.trace] with use = \"telemetry/trace\".";
constexpr std::string_view kOff =
    "No request is traced, as the level is OFF. Set trace_level to TIMESTAMPS on the page Trace settings or by POST "
    "/v2/trace/setting. In the mode triton this needs trace_file of telemetry/trace in the manifest, too.";
constexpr std::string_view kNoneYet =
    "No trace of these models has ended in the last 15 minutes. One request in trace_rate is traced: the page Trace "
    "settings, or POST /v2/trace/setting, changes that.";

void write_summary(CheckedWriter& json, const TraceSummary& one) {
  write_member(json, "id", one.id);
  write_member(json, "trace_id", one.trace_id);
  write_member(json, "begin_ms", one.begin_wall_ns / kNsPerMs);
  write_member(json, "duration_ns", one.duration_ns);
  write_member(json, "model", one.model);
  write_member(json, "version", std::to_string(one.version));
  write_member(json, "request_id", one.request_id);
  write_member(json, "span_count", one.spans);
  write_member(json, "left_out", one.left_out);
}

void write_span(CheckedWriter& json, const TraceSpan& span, const Identity* identity) {
  write_object(json, [&] {
    write_member(json, "name", span.name);
    if (span.parent != TraceSpan::kNoParent) write_member(json, "parent", span.parent);
    write_member(json, "begin_ns", span.begin_ns);
    write_member(json, "end_ns", span.end_ns);
    if (span.model.empty() || !may_see(identity, span.model)) return;
    write_member(json, "model", span.model);
    write_member(json, "version", std::to_string(span.version));
  });
}

void answer_list(HttpExchange& exchange, const TracesQuery& query, const TraceLog* log,
                 const ProcessStart& start, int64_t now_ms) {
  const bool is_active = log != nullptr && log->active();
  const std::string_view why = log == nullptr ? kNobodyKeepsThem : is_active ? kNoneYet : kOff;
  const std::vector<TraceSummary> traces = log == nullptr ? std::vector<TraceSummary>() : log->slowest();
  answer_json(exchange, 200, traces_json(traces, query, why, is_active, start, now_ms, exchange.identity()));
}

void answer_one(HttpExchange& exchange, uint64_t id, const TraceLog* log, const ProcessStart& start) {
  if (log == nullptr) return answer_failure(exchange, not_found(kNobodyKeepsThem));
  const Result<FinishedTrace> found = log->find(id);
  // A trace that the caller may not see is answered as one that is not there.
  if (!found.ok() || !may_see(exchange.identity(), found.value().summary.model))
    return answer_failure(
        exchange, not_found("trace ", id, " is not kept: there are the slowest of the last 15 minutes"));
  answer_json(exchange, 200, trace_json(found.value(), start, exchange.identity()));
}

}  // namespace

Result<TracesQuery> TracesQuery::parse(std::string_view text) {
  TracesQuery query;
  bool is_list = false;
  for (auto& [name, value] : query_parts(text)) {
    is_list = is_list || name != "id";
    if (name == "id") {
      ATOLL_RETURN_IF_ERROR(read_number(name, value, &query.id.emplace()));
    } else if (name == "model") {
      query.model = std::move(value);
    } else if (name == "limit") {
      ATOLL_RETURN_IF_ERROR(read_number(name, value, &query.limit));
    } else {
      return invalid_argument("found '", name, "', expected id, model or limit");
    }
  }
  if (query.id && is_list)
    return invalid_argument("found an id beside a model or a limit, expected the id alone");
  if (query.limit > TraceLog::kMost) return invalid_argument("the limit may be at most ", TraceLog::kMost);
  return query;
}

std::string traces_json(const std::vector<TraceSummary>& traces, const TracesQuery& query,
                        std::string_view why, bool is_active, const ProcessStart& start, int64_t now_ms,
                        const Identity* identity) {
  std::vector<const TraceSummary*> seen;
  for (const TraceSummary& one : traces) {
    if (!query.model.empty() && one.model != query.model) continue;
    if (may_see(identity, one.model)) seen.push_back(&one);
  }
  const uint64_t matching = seen.size();
  if (seen.size() > query.limit) seen.resize(query.limit);
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "time_ms", now_ms);
    write_member(json, "active", is_active);
    if (matching == 0) write_member(json, "why", why);
    write_member(json, "matching", matching);
    write_array(json, "traces", seen,
                [&](const TraceSummary* one) { write_object(json, [&] { write_summary(json, *one); }); });
  });
}

std::string trace_json(const FinishedTrace& trace, const ProcessStart& start, const Identity* identity) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_summary(json, trace.summary);
    write_array(json, "spans", trace.spans, [&](const TraceSpan& span) { write_span(json, span, identity); });
  });
}

void answer_traces(Host& host, HttpExchange& exchange, const TracesQuery& query, const ProcessStart& start) {
  const Result<Service<TraceLog>> held = host.registry().find<TraceLog>();
  const TraceLog* const log = held.ok() ? held.value().get() : nullptr;
  if (query.id) return answer_one(exchange, *query.id, log, start);
  answer_list(exchange, query, log, start, host.clock().wall_ns() / kNsPerMs);
}

}  // namespace atl::frontends::console
