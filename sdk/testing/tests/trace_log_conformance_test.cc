/// The suite of logs of traces, against one that is right and ones that are broken on purpose.
#include <algorithm>
#include <mutex>

#include "atoll/testing/conformance/trace_log.h"

namespace atl::test {
namespace {

enum class TraceFault { kNone, kFastestFirst, kEndless, kOneId, kParentless, kTooLong, kWhole, kForgets };

class ListedTraces final : public TraceLogUnderTest, public TraceLog {
 public:
  explicit ListedTraces(TraceFault fault) : fault_(fault) {}
  virtual ~ListedTraces() = default;
  TraceLog& log() override { return *this; }
  void trace(std::string_view model, std::string_view request_id, int64_t duration_ns) override {
    const size_t most = fault_ == TraceFault::kWhole ? SIZE_MAX : 100;
    FinishedTrace trace;
    trace.summary.id = fault_ == TraceFault::kOneId ? 1 : next_id_++;
    trace.summary.trace_id = "1";
    trace.summary.duration_ns = duration_ns;
    trace.summary.model = model.substr(0, most);
    trace.summary.request_id = request_id.substr(0, most);
    trace.summary.spans = 2;
    trace.spans = {{"trace", TraceSpan::kNoParent, 0, duration_ns, "", 0},
                   {"request", 0, 1, duration_ns - 1, trace.summary.model, 1}};
    if (fault_ == TraceFault::kParentless) trace.spans[1].parent = TraceSpan::kNoParent;
    if (fault_ == TraceFault::kTooLong) trace.spans[1].end_ns = duration_ns + 1;
    std::lock_guard lock(mutex_);
    traces_.push_back(std::move(trace));
    std::stable_sort(traces_.begin(), traces_.end(), [&](const FinishedTrace& a, const FinishedTrace& b) {
      const int64_t first = a.summary.duration_ns, second = b.summary.duration_ns;
      return fault_ == TraceFault::kFastestFirst ? first < second : first > second;
    });
    if (fault_ != TraceFault::kEndless && traces_.size() > kMost) traces_.pop_back();
  }
  void switch_off() override {
    std::lock_guard lock(mutex_);
    is_active_ = false;
    if (fault_ == TraceFault::kForgets) traces_.clear();
  }

  bool active() const noexcept override { return is_active_; }
  std::vector<TraceSummary> slowest() const noexcept override {
    std::lock_guard lock(mutex_);
    std::vector<TraceSummary> all;
    for (const FinishedTrace& one : traces_) all.push_back(one.summary);
    return all;
  }
  Result<FinishedTrace> find(uint64_t id) const noexcept override {
    std::lock_guard lock(mutex_);
    for (const FinishedTrace& one : traces_) {
      if (one.summary.id == id) return one;
    }
    return not_found("no trace ", id);
  }

 private:
  const TraceFault fault_;
  mutable std::mutex mutex_;
  std::atomic<bool> is_active_{true};
  uint64_t next_id_ = 1;
  std::vector<FinishedTrace> traces_;
};

TraceLogProvider trace_log(std::string name, TraceFault fault, const std::vector<std::string>& fails = {}) {
  TraceLogProvider provider{std::move(name), [fault] { return std::make_shared<ListedTraces>(fault); }, {}};
  for (const std::string& check : fails) provider.exceptions.push_back(expected_failure(check, "on purpose"));
  return provider;
}

const std::vector<std::string> kUnsound = {"ATraceIsFoundByItsId", "TextsAreAny", "OthersLookMeanwhile"};
INSTANTIATE_TEST_SUITE_P(
    Fakes, TraceLogConformance,
    ::testing::Values(trace_log("right", TraceFault::kNone),
                      trace_log("fastest first", TraceFault::kFastestFirst,
                                {"TheSlowestIsFirst", "NoMoreThanTheMostAreKept", "TextsAreAny"}),
                      trace_log("endless", TraceFault::kEndless,
                                {"NoMoreThanTheMostAreKept", "OthersLookMeanwhile"}),
                      trace_log("one id", TraceFault::kOneId, {"ATraceIsFoundByItsId"}),
                      trace_log("parentless", TraceFault::kParentless, kUnsound),
                      trace_log("too long", TraceFault::kTooLong, kUnsound),
                      trace_log("whole texts", TraceFault::kWhole, {"TextsAreAny"}),
                      trace_log("forgets", TraceFault::kForgets, {"WhatIsKeptOutlivesTheTracing"})));

}  // namespace
}  // namespace atl::test
