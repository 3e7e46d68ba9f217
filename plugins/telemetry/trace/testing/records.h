/// Records of traces with the moments that a test says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/request/trace_log.h"
#include "telemetry/trace/record.h"

namespace atl::tracing {

struct TestMoment {
  TraceActivity activity;
  int64_t at_ns;
};

inline RecordedRequest& add_request(Record& record, uint64_t id, uint64_t parent_id, std::string_view model,
                                    std::initializer_list<TestMoment> moments) {
  RecordedRequest& request = record.requests.emplace_back();
  request.id = id;
  request.parent_id = parent_id;
  request.model = model;
  request.version = 1;
  for (const TestMoment& moment : moments) {
    RecordedEvent& event = request.events.emplace_back();
    event.activity = moment.activity;
    event.timestamp_ns = moment.at_ns;
  }
  return request;
}

inline void add_named(RecordedRequest& request, std::string_view name, int64_t at_ns) {
  RecordedEvent& event = request.events.emplace_back();
  event.own_name = name;
  event.timestamp_ns = at_ns;
}

/// Of one request, which takes all of the time.
inline Record test_record(int64_t start_ns, int64_t end_ns, std::string_view model = "m") {
  Record record;
  record.start_ns = start_ns;
  record.end_ns = end_ns;
  add_request(record, 1, 0, model,
              {{TraceActivity::kRequestStart, start_ns}, {TraceActivity::kRequestEnd, end_ns}});
  return record;
}

/// "request m 8..93", deeper ones with a blank for each span that they are in.
inline std::vector<std::string> lines_of(const FinishedTrace& trace) {
  std::vector<std::string> lines;
  std::vector<size_t> depths;
  for (const TraceSpan& span : trace.spans) {
    depths.push_back(span.parent == TraceSpan::kNoParent ? 0 : depths.at(span.parent) + 1);
    lines.push_back(cat(std::string(depths.back(), ' '), span.name, span.model.empty() ? "" : " ", span.model,
                        " ", span.begin_ns, "..", span.end_ns));
  }
  return lines;
}

}  // namespace atl::tracing
