/// Conformance of "atoll.trace_log/1".
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "atoll/request/trace_log.h"
#include "atoll/testing/conformance/conformance.h"

namespace atl::test {

/// A started log that has nothing yet, and what is traced for it.
class TraceLogUnderTest {
 public:
  virtual ~TraceLogUnderTest() = default;
  virtual TraceLog& log() = 0;
  /// Has a request of the model traced that takes so long. Returns when the log knows of it. The texts are any bytes.
  virtual void trace(std::string_view model, std::string_view request_id, int64_t duration_ns) = 0;
  /// Switches tracing off.
  virtual void switch_off() = 0;
};

struct TraceLogProvider {
  std::string name;
  std::function<std::shared_ptr<TraceLogUnderTest>()> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const TraceLogProvider& provider, std::ostream* out) { *out << provider.name; }
};

class TraceLogConformance : public Conformance<TraceLogProvider> {
 protected:
  static constexpr int64_t kMs = 1'000'000;

  void SetUp() override {
    made_ = GetParam().make();
    ASSERT_NE(made_, nullptr);
  }
  TraceLog& log() const { return made_->log(); }
  void trace(std::string_view model, std::string_view request_id, int64_t duration_ns) {
    made_->trace(model, request_id, duration_ns);
  }
  /// Spans are inside the trace, and each follows what it is in, in the order of begins.
  static void expect_sound(const FinishedTrace& trace) {
    ASSERT_EQ(trace.spans.size(), trace.summary.spans);
    ASSERT_FALSE(trace.spans.empty());
    EXPECT_EQ(trace.spans[0].name, "trace");
    EXPECT_EQ(trace.spans[0].parent, TraceSpan::kNoParent);
    EXPECT_EQ(trace.spans[0].end_ns, trace.summary.duration_ns);
    std::vector<int64_t> last_begins(trace.spans.size(), 0);
    for (uint32_t i = 0; i < trace.spans.size(); ++i) {
      const TraceSpan& span = trace.spans[i];
      EXPECT_GE(span.begin_ns, 0);
      EXPECT_LE(span.begin_ns, span.end_ns);
      EXPECT_LE(span.end_ns, trace.summary.duration_ns);
      EXPECT_EQ(span.model.empty(), span.name != "request") << span.name;
      if (i == 0) continue;
      ASSERT_LT(span.parent, i);
      EXPECT_GE(span.begin_ns, last_begins[span.parent]);
      last_begins[span.parent] = span.begin_ns;
    }
  }

  std::shared_ptr<TraceLogUnderTest> made_;
};

TEST_P(TraceLogConformance, NothingIsKeptBeforeATraceHasEnded) {
  check([&] {
    EXPECT_TRUE(log().active());
    EXPECT_TRUE(log().slowest().empty());
    for (const uint64_t id : {uint64_t{0}, uint64_t{1}, UINT64_MAX})
      EXPECT_TRUE(is_failure(log().find(id), Code::kNotFound));
  });
}

TEST_P(TraceLogConformance, TheSlowestIsFirst) {
  check([&] {
    trace("a", "first", 3 * kMs);
    trace("b", "", 9 * kMs);
    trace("a", "third", 5 * kMs);
    const std::vector<TraceSummary> seen = log().slowest();
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_EQ(seen[0].model + seen[1].model + seen[2].model, "baa");
    EXPECT_EQ(seen[0].request_id + "," + seen[1].request_id + "," + seen[2].request_id, ",third,first");
    const int64_t least[] = {9 * kMs, 5 * kMs, 3 * kMs};
    for (size_t i = 0; i < seen.size(); ++i) {
      EXPECT_GE(seen[i].duration_ns, least[i]);
      EXPECT_FALSE(seen[i].trace_id.empty());
      EXPECT_EQ(seen[i].left_out, 0u);
    }
    EXPECT_LE(seen[1].duration_ns, seen[0].duration_ns);
    EXPECT_LE(seen[2].duration_ns, seen[1].duration_ns);
  });
}

TEST_P(TraceLogConformance, ATraceIsFoundByItsId) {
  check([&] {
    for (int i = 1; i <= 10; ++i) trace(i % 2 == 0 ? "even" : "odd", "r", i * kMs);
    std::set<uint64_t> ids;
    for (const TraceSummary& one : log().slowest()) {
      EXPECT_NE(one.id, 0u);
      EXPECT_TRUE(ids.insert(one.id).second) << one.id << " twice";
      const Result<FinishedTrace> found = log().find(one.id);
      ASSERT_TRUE(is_ok(found));
      EXPECT_EQ(found.value().summary.id, one.id);
      EXPECT_EQ(found.value().summary.model, one.model);
      EXPECT_EQ(found.value().summary.trace_id, one.trace_id);
      EXPECT_EQ(found.value().summary.duration_ns, one.duration_ns);
      expect_sound(found.value());
    }
    ASSERT_EQ(ids.size(), 10u);
    EXPECT_TRUE(is_failure(log().find(*ids.rbegin() + 1), Code::kNotFound));
  });
}

TEST_P(TraceLogConformance, NoMoreThanTheMostAreKept) {
  check([&] {
    trace("slow", "", 1000 * kMs);
    for (size_t i = 0; i < TraceLog::kMost + 20; ++i) trace("fast", "", kMs);
    const std::vector<TraceSummary> seen = log().slowest();
    ASSERT_FALSE(seen.empty());
    EXPECT_LE(seen.size(), TraceLog::kMost);
    EXPECT_EQ(seen[0].model, "slow");
  });
}

TEST_P(TraceLogConformance, TextsAreAny) {
  check([&] {
    const std::string long_text(100'000, '\xff');
    trace(long_text, long_text, kMs);
    trace("<b>", std::string("a\0b", 3), 2 * kMs);
    const std::vector<TraceSummary> seen = log().slowest();
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].model, "<b>");
    EXPECT_EQ(seen[0].request_id, std::string("a\0b", 3));
    EXPECT_LT(seen[1].model.size(), 1000u);
    EXPECT_LT(seen[1].request_id.size(), 1000u);
    for (const TraceSummary& one : seen) expect_sound(log().find(one.id).value());
  });
}

TEST_P(TraceLogConformance, WhatIsKeptOutlivesTheTracing) {
  check([&] {
    trace("m", "", kMs);
    made_->switch_off();
    EXPECT_FALSE(log().active());
    EXPECT_EQ(log().slowest().size(), 1u);
  });
}

TEST_P(TraceLogConformance, OthersLookMeanwhile) {
  check([&] {
    std::atomic<bool> ended = false;
    std::atomic<uint64_t> looks = 0;
    std::thread other([&] {
      while (!ended) {
        for (const TraceSummary& one : log().slowest()) {
          if (const Result<FinishedTrace> found = log().find(one.id); found.ok()) expect_sound(found.value());
        }
        ++looks;
      }
    });
    for (int i = 0; i < 150 || looks == 0; ++i) {
      trace("m", "r", (1 + i) * kMs);
      std::this_thread::yield();
    }
    ended = true;
    other.join();
    EXPECT_LE(log().slowest().size(), TraceLog::kMost);
  });
}

}  // namespace atl::test
