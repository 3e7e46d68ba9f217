#include "telemetry/trace/trace_spans.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/hex.h"

namespace atl::tracing {
namespace {

/// Bytes of a text that is kept.
constexpr size_t kTextMax = 256;
/// A frontend has received the begin of a request before it knows that the request is traced. What is said to be
/// earlier than this is not believed.
constexpr int64_t kEarliestNs = 3600 * kNsPerSecond;
/// The activities that stand for a request's phases, kRequestStart to kRequestEnd.
constexpr size_t kPhaseMoments = 7;
constexpr uint32_t kRoot = 0;

/// When each activity was reported first and last.
struct PhaseTimes {
  std::array<std::optional<int64_t>, kPhaseMoments> first, last;
  int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;

  std::optional<int64_t> begin_of(TraceActivity activity) const noexcept {
    return first[static_cast<size_t>(activity)];
  }
  std::optional<int64_t> end_of(TraceActivity activity) const noexcept {
    return last[static_cast<size_t>(activity)];
  }
  bool empty() const noexcept { return begin_ns == INT64_MAX; }
};

bool is_phase(const RecordedEvent& event) noexcept {
  return event.tensor == nullptr && static_cast<size_t>(event.activity) < kPhaseMoments;
}

uint64_t size_of_span(const TraceSpan& span) noexcept {
  return sizeof span + span.name.size() + span.model.size();
}

uint64_t size_of_summary(const FinishedTrace& trace) noexcept {
  return sizeof trace + trace.summary.model.size() + trace.summary.request_id.size() +
         trace.summary.trace_id.size();
}

/// When its first moment was, or it was begun, by the host's clock.
int64_t begin_of(const Record& record) noexcept {
  int64_t begin_ns = record.start_ns;
  for (const RecordedRequest& request : record.requests) {
    for (const RecordedEvent& event : request.events) {
      if (event.tensor == nullptr && event.timestamp_ns >= record.start_ns - kEarliestNs)
        begin_ns = std::min(begin_ns, event.timestamp_ns);
    }
  }
  return begin_ns;
}

/// Makes the spans of one record, request after request.
class SpanMaker {
 public:
  SpanMaker(const Record& record, uint64_t bytes_max)
      : record_(record), bytes_max_(bytes_max), begin_ns_(begin_of(record)) {}

  FinishedTrace make() {
    TraceSummary& summary = made_.summary;
    const RecordedRequest& client = record_.requests.front();
    summary.trace_id = record_.trace_id == TraceIdBytes{} ? cat(client.id) : hex(record_.trace_id);
    summary.begin_wall_ns = begin_ns_ + record_.wall_offset_ns;
    summary.duration_ns = duration_of(record_);
    summary.model = client.model.substr(0, kTextMax);
    summary.version = client.version;
    summary.request_id = client.request_id.substr(0, kTextMax);
    summary.left_out = record_.dropped_events;
    bytes_ = size_of_summary(made_);
    add("trace", TraceSpan::kNoParent, begin_ns_, record_.end_ns);
    note_first_children();
    for (const RecordedRequest& request : record_.requests) add_request(request);
    order();
    summary.spans = static_cast<uint32_t>(made_.spans.size());
    return std::move(made_);
  }

 private:
  int64_t relative(int64_t host_ns) const noexcept {
    return std::clamp(host_ns, begin_ns_, begin_ns_ + made_.summary.duration_ns) - begin_ns_;
  }
  PhaseTimes times_of(const RecordedRequest& request) const noexcept {
    PhaseTimes times;
    for (const RecordedEvent& event : request.events) {
      if (!is_phase(event)) continue;
      const auto index = static_cast<size_t>(event.activity);
      if (!times.first[index]) times.first[index] = event.timestamp_ns;
      times.last[index] = event.timestamp_ns;
      times.begin_ns = std::min(times.begin_ns, event.timestamp_ns);
      times.end_ns = std::max(times.end_ns, event.timestamp_ns);
    }
    return times;
  }
  /// When the first request was made on behalf of each: there its own queueing has ended.
  void note_first_children() {
    for (const RecordedRequest& request : record_.requests) {
      const PhaseTimes times = times_of(request);
      if (request.parent_id == 0 || times.empty()) continue;
      const auto [place, is_new] = first_children_.emplace(request.parent_id, times.begin_ns);
      place->second = std::min(place->second, times.begin_ns);
    }
  }

  /// Times are of the host. \returns where it is; nothing if there is no room
  std::optional<uint32_t> add(std::string_view name, uint32_t parent, int64_t begin_ns, int64_t end_ns,
                              const RecordedRequest* request = nullptr) {
    TraceSpan span;
    span.name = name;
    span.parent = parent;
    span.begin_ns = relative(begin_ns);
    span.end_ns = std::max(relative(end_ns), span.begin_ns);
    if (request != nullptr) {
      span.model = request->model.substr(0, kTextMax);
      span.version = request->version;
    }
    const uint64_t size = size_of_span(span);
    if (bytes_ + size > bytes_max_) {
      is_full_ = true;
      ++made_.summary.left_out;
      return std::nullopt;
    }
    bytes_ += size;
    made_.spans.push_back(std::move(span));
    return static_cast<uint32_t>(made_.spans.size() - 1);
  }
  void add_request(const RecordedRequest& request) {
    if (is_full_) {
      ++made_.summary.left_out;
      return;
    }
    const PhaseTimes times = times_of(request);
    const auto found = places_.find(request.parent_id);
    uint32_t place = found == places_.end() ? kRoot : found->second;
    if (!times.empty()) {
      const int64_t begin_ns = times.begin_of(TraceActivity::kRequestStart).value_or(times.begin_ns);
      const int64_t end_ns = times.end_of(TraceActivity::kRequestEnd).value_or(times.end_ns);
      const std::optional<uint32_t> own = add("request", place, begin_ns, end_ns, &request);
      if (!own) return;
      place = *own;
      add_phases(request, times, place, end_ns);
    }
    places_.emplace(request.id, place);
    add_named(request, place);
  }
  void add_phases(const RecordedRequest& request, const PhaseTimes& times, uint32_t place,
                  int64_t request_end_ns) {
    const auto start = times.begin_of(TraceActivity::kComputeStart);
    const auto input_end = times.end_of(TraceActivity::kComputeInputEnd);
    const auto output_start = times.begin_of(TraceActivity::kComputeOutputStart);
    const auto end = times.end_of(TraceActivity::kComputeEnd);
    if (const auto queued = times.begin_of(TraceActivity::kQueueStart)) {
      const auto child = first_children_.find(request.id);
      add("queue", place, *queued,
          start                            ? *start
          : child == first_children_.end() ? request_end_ns
                                           : child->second);
    }
    if (start && input_end) add("compute input", place, *start, *input_end);
    const auto compute_begin = input_end ? input_end : start;
    const auto compute_end = output_start ? output_start : end;
    if (compute_begin && compute_end) add("compute", place, *compute_begin, *compute_end);
    if (output_start && end) add("compute output", place, *output_start, *end);
  }
  /// What is named X_START and X_END becomes one span X, everything else a span of no length.
  void add_named(const RecordedRequest& request, uint32_t place) {
    constexpr std::string_view kStart = "_START", kEnd = "_END";
    std::map<std::string_view, uint32_t> open;
    for (const RecordedEvent& event : request.events) {
      if (event.tensor != nullptr || is_phase(event)) continue;
      const std::string_view name = event.name();
      if (name.ends_with(kEnd)) {
        const std::string_view begun = name.substr(0, name.size() - kEnd.size());
        if (const auto found = open.find(begun); found != open.end()) {
          TraceSpan& span = made_.spans[found->second];
          span.name = begun;
          span.end_ns = std::max(relative(event.timestamp_ns), span.begin_ns);
          if (span.end_ns > made_.spans[place].end_ns) span.parent = kRoot;
          open.erase(found);
          continue;
        }
      }
      // A frontend's moments lie before and behind the request.
      const TraceSpan& around = made_.spans[place];
      const int64_t at_ns = relative(event.timestamp_ns);
      const bool is_inside = around.begin_ns <= at_ns && at_ns <= around.end_ns;
      const auto added = add(name, is_inside ? place : kRoot, event.timestamp_ns, event.timestamp_ns);
      if (added && name.ends_with(kStart)) open[name.substr(0, name.size() - kStart.size())] = *added;
    }
  }

  /// Puts each span behind the one that it is in, siblings in the order of their begins.
  void order() {
    std::vector<TraceSpan>& spans = made_.spans;
    std::vector<std::vector<uint32_t>> inside(spans.size());
    for (uint32_t i = 1; i < spans.size(); ++i) inside[spans[i].parent].push_back(i);
    std::vector<TraceSpan> ordered;
    ordered.reserve(spans.size());
    std::vector<std::pair<uint32_t, uint32_t>> next = {{kRoot, TraceSpan::kNoParent}};
    while (!next.empty()) {
      const auto [from, parent] = next.back();
      next.pop_back();
      const auto place = static_cast<uint32_t>(ordered.size());
      ordered.push_back(std::move(spans[from]));
      ordered.back().parent = parent;
      std::vector<uint32_t>& children = inside[from];
      std::stable_sort(children.begin(), children.end(),
                       [&](uint32_t a, uint32_t b) { return spans[a].begin_ns < spans[b].begin_ns; });
      // The last one that is put there is the first one that is taken.
      for (auto child = children.rbegin(); child != children.rend(); ++child)
        next.emplace_back(*child, place);
    }
    spans = std::move(ordered);
  }

  const Record& record_;
  const uint64_t bytes_max_;
  const int64_t begin_ns_;  ///< of the host's clock
  FinishedTrace made_;
  uint64_t bytes_ = 0;
  bool is_full_ = false;
  std::map<uint64_t, uint32_t> places_;         ///< of requests, by their ids
  std::map<uint64_t, int64_t> first_children_;  ///< by the id of the parent
};

}  // namespace

int64_t duration_of(const Record& record) noexcept {
  const int64_t begin_ns = begin_of(record);
  return std::max(record.end_ns, begin_ns) - begin_ns;
}

FinishedTrace finished_trace(const Record& record, uint64_t bytes_max) {
  return SpanMaker(record, bytes_max).make();
}

uint64_t size_of(const FinishedTrace& trace) noexcept {
  uint64_t size = size_of_summary(trace);
  for (const TraceSpan& span : trace.spans) size += size_of_span(span);
  return size;
}

}  // namespace atl::tracing
