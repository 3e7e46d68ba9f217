/// Conformance of "atoll.tracing/1", and of the traces that it gives out.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "atoll/request/tracing.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/passing_text.h"

namespace atl::test {

struct TracingProvider {
  std::string name;
  /// A started one that traces every request, without a bound on their number, level TIMESTAMPS. What it needs
  /// lives as long as the pointer; traces are released before that goes.
  std::function<std::shared_ptr<Tracing>()> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const TracingProvider& provider, std::ostream* out) { *out << provider.name; }
};

class TracingConformance : public Conformance<TracingProvider> {
 protected:
  static constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  using Settings = std::vector<TraceSetting>;

  void SetUp() override {
    tracing_ = GetParam().make();
    ASSERT_NE(tracing_, nullptr);
  }
  Trace* begin(std::string_view model = "m", std::string_view traceparent = {}) {
    TraceStart start;
    start.model = model;
    start.version = 1;
    start.request_id = "r";
    start.traceparent = traceparent;
    return tracing_->start(start);
  }
  /// How many of so many requests were traced.
  int traced(int requests, std::string_view model = "m") {
    int count = 0;
    for (int i = 0; i < requests; ++i) {
      Trace* trace = begin(model);
      if (trace == nullptr) continue;
      ++count;
      trace->report(TraceActivity::kRequestStart, 0);
      trace->release();
    }
    return count;
  }
  Status update(std::string_view model, const Settings& changes) { return tracing_->update(model, changes); }
  /// "trace_level=TIMESTAMPS trace_rate=1 ..."
  std::string shown(std::string_view model = {}) const {
    auto settings = tracing_->settings(model);
    EXPECT_TRUE(is_ok(settings));
    std::string text;
    if (!settings.ok()) return text;
    for (const TraceSetting& setting : *settings) {
      text += cat(text.empty() ? "" : " ", setting.key, "=");
      for (const std::string& value : setting.values) text += cat(value, ";");
    }
    return text;
  }
  bool shows(std::string_view model, std::string_view setting) const {
    return shown(model).find(setting) != std::string::npos;
  }
  /// A W3C trace context of version 00.
  static bool is_context(std::string_view text) {
    if (text.size() != 55 || !text.starts_with("00-") || text[35] != '-' || text[52] != '-') return false;
    std::string digits(text);
    std::erase(digits, '-');
    return digits.size() == 52 && digits.find_first_not_of("0123456789abcdef") == std::string::npos &&
           text.substr(3, 32) != std::string(32, '0') && text.substr(36, 16) != std::string(16, '0');
  }

  std::shared_ptr<Tracing> tracing_;
};

TEST_P(TracingConformance, EveryRequestIsTracedOrNone) {
  check([&] {
    EXPECT_TRUE(tracing_->active());
    EXPECT_EQ(traced(10), 10);
    ASSERT_TRUE(is_ok(update("", {{"trace_level", {"OFF"}}})));
    EXPECT_FALSE(tracing_->active());
    EXPECT_EQ(traced(10), 0);
    ASSERT_TRUE(is_ok(update("m", {{"trace_level", {"TIMESTAMPS"}}})));
    EXPECT_TRUE(tracing_->active()) << "some requests may be traced";
    EXPECT_EQ(traced(10), 10);
    EXPECT_EQ(traced(10, "other"), 0);
    ASSERT_TRUE(is_ok(update("m", {{"trace_level", {}}})));
    EXPECT_EQ(traced(10), 0) << "the global one counts again";
    ASSERT_TRUE(is_ok(update("", {{"trace_level", {}}})));
    EXPECT_EQ(traced(10), 10);
  });
}

TEST_P(TracingConformance, TheRateAndTheCountChooseRequests) {
  check([&] {
    ASSERT_TRUE(is_ok(update("", {{"trace_rate", {"3"}}})));
    EXPECT_EQ(traced(30), 10);
    ASSERT_TRUE(is_ok(update("", {{"trace_rate", {"1"}}, {"trace_count", {"4"}}})));
    EXPECT_EQ(traced(3), 3);
    EXPECT_TRUE(shows("", "trace_count=1;")) << shown();
    EXPECT_EQ(traced(10), 1);
    EXPECT_EQ(traced(10), 0);
    ASSERT_TRUE(is_ok(update("", {{"trace_count", {"-1"}}})));
    EXPECT_EQ(traced(10), 10);
  });
}

TEST_P(TracingConformance, TheSettingsAreInTheProtocolsOrder) {
  check([&] {
    for (std::string_view model : {std::string_view(), std::string_view("m")}) {
      auto settings = tracing_->settings(model);
      ASSERT_TRUE(is_ok(settings));
      ASSERT_GE(settings->size(), 3u);
      EXPECT_EQ((*settings)[0].key, "trace_level");
      EXPECT_EQ((*settings)[0].values, std::vector<std::string>{"TIMESTAMPS"});
      EXPECT_EQ((*settings)[1].key, "trace_rate");
      EXPECT_EQ((*settings)[2].key, "trace_count");
      std::set<std::string> keys;
      for (const TraceSetting& setting : *settings) {
        EXPECT_TRUE(keys.insert(setting.key).second) << setting.key << " twice";
        EXPECT_FALSE(setting.values.empty()) << setting.key;
      }
    }
  });
}

TEST_P(TracingConformance, AModelsOwnValuesCountUntilTheyAreCleared) {
  check([&] {
    ASSERT_TRUE(is_ok(update("m", {{"trace_rate", {"2"}}})));
    EXPECT_TRUE(shows("m", "trace_rate=2;"));
    EXPECT_TRUE(shows("", "trace_rate=1;"));
    EXPECT_TRUE(shows("other", "trace_rate=1;"));
    ASSERT_TRUE(is_ok(update("", {{"trace_rate", {"7"}}})));
    EXPECT_TRUE(shows("m", "trace_rate=2;")) << "it has its own";
    EXPECT_TRUE(shows("other", "trace_rate=7;"));
    ASSERT_TRUE(is_ok(update("m", {{"trace_rate", {}}})));
    EXPECT_EQ(shown("m"), shown());
    ASSERT_TRUE(is_ok(update("", {{"trace_rate", {}}})));
    EXPECT_TRUE(shows("m", "trace_rate=1;")) << "as at the start";
  });
}

TEST_P(TracingConformance, AllOfAnUpdateCountsOrNothing) {
  check([&] {
    const std::string before = shown("m");
    for (std::string_view model : {std::string_view(), std::string_view("m")}) {
      for (const char* value : {"x", "", "1.5", "-2", "99999999999999999999"}) {
        EXPECT_TRUE(is_failure(update(model, {{"trace_rate", {"5"}}, {"trace_count", {value}}}),
                               Code::kInvalidArgument))
            << value;
      }
      EXPECT_TRUE(is_failure(update(model, {{"trace_rate", {"5"}}, {"trace_level", {"OFF", "TIMESTAMPS"}}}),
                             Code::kInvalidArgument));
      EXPECT_TRUE(is_failure(update(model, {{"trace_rate", {"5"}}, {"trace_file", {"/tmp/x"}}}),
                             Code::kUnimplemented));
      EXPECT_EQ(shown("m"), before);
    }
    EXPECT_TRUE(is_ok(update("", {{"no_such_setting", {"1"}}, {"trace_rate", {"1"}}}))) << "is ignored";
    EXPECT_EQ(shown("m"), before);
    EXPECT_TRUE(is_ok(update("", {})));
  });
}

TEST_P(TracingConformance, ATraceTakesWhateverIsReportedUntilItsRelease) {
  check([&] {
    Trace* trace = begin();
    ASSERT_NE(trace, nullptr);
    for (uint32_t i = 0; i <= static_cast<uint32_t>(TraceActivity::kCustomActivity); ++i) {
      trace->report(static_cast<TraceActivity>(i), i % 2 == 0 ? 0 : 1'000'000'000 + i);
    }
    // Whoever named the moment may be unloaded before it is exported.
    trace->report_named(PassingText("HTTP_RECV_START").c_str(), 0);
    float values[] = {1, 2, 3};
    Buffer buffers[] = {{values, 4}, {values + 1, 8}, {}};
    const int64_t shape[] = {3};
    (void)trace->wants_tensors();
    trace->report_tensor(TraceActivity::kTensorQueueInput, "x", DataType::kFp32, shape, buffers);
    trace->report_tensor(TraceActivity::kTensorBackendOutput, "", DataType::kFp32, {}, {});
    Trace* step = trace->spawn_child("step", 2, "r");
    if (step != nullptr) {
      EXPECT_NE(step->id(), trace->id());
      step->report(TraceActivity::kRequestStart, 0);
    }
    trace->release();
    if (step == nullptr) return;
    step->report(TraceActivity::kRequestEnd, 0);  // it has a life of its own
    Trace* inner = step->spawn_child("inner", 1, {});
    step->release();
    if (inner != nullptr) inner->release();
  });
}

TEST_P(TracingConformance, IdsAreDistinct) {
  check([&] {
    std::set<uint64_t> ids;
    std::vector<Trace*> open;
    for (int i = 0; i < 200; ++i) {
      open.push_back(begin(i % 2 == 0 ? "m" : "n"));
      ASSERT_NE(open.back(), nullptr);
      EXPECT_TRUE(ids.insert(open.back()->id()).second);
      if (i % 3 != 0) continue;
      open.back()->release();
      open.pop_back();
    }
    for (Trace* trace : open) trace->release();
  });
}

TEST_P(TracingConformance, AClientsContextIsContinued) {
  check([&] {
    Trace* own = begin();
    ASSERT_NE(own, nullptr);
    const std::string context(own->traceparent());
    own->release();
    Trace* trace = begin("m", kParent);
    ASSERT_NE(trace, nullptr);
    const std::string continued(trace->traceparent());
    trace->release();
    EXPECT_EQ(context.empty(), continued.empty());
    if (context.empty()) return;  // it hands no context on
    EXPECT_TRUE(is_context(context)) << context;
    EXPECT_TRUE(is_context(continued)) << continued;
    EXPECT_EQ(continued.substr(3, 32), kParent.substr(3, 32));
    EXPECT_NE(continued.substr(36, 16), kParent.substr(36, 16)) << "a span of its own";
    EXPECT_NE(context.substr(3, 32), kParent.substr(3, 32));
  });
}

TEST_P(TracingConformance, WhatClientsSendIsAnyText) {
  check([&] {
    std::string zeros(kParent);
    std::fill(zeros.begin() + 3, zeros.begin() + 35, '0');
    const std::string long_text(100'000, '\xff');
    for (std::string_view parent :
         {std::string_view("00-"), std::string_view("-----"), std::string_view(zeros), kParent.substr(0, 54),
          std::string_view(long_text)}) {
      TraceStart start;
      start.model = start.request_id = long_text;
      start.version = -1;
      start.traceparent = parent;
      start.tracestate = long_text;
      Trace* trace = tracing_->start(start);
      ASSERT_NE(trace, nullptr);
      EXPECT_TRUE(trace->traceparent().empty() || is_context(trace->traceparent())) << trace->traceparent();
      EXPECT_NE(trace->traceparent().substr(0, 35), std::string_view(zeros).substr(0, 35));
      trace->report(TraceActivity::kRequestStart, 0);
      trace->release();
    }
  });
}

TEST_P(TracingConformance, ThreadsTraceWhileTheSettingsChange) {
  check([&] {
    constexpr int kThreads = 4, kRequests = 1'000;
    std::atomic<int> taken = 0, running = kThreads;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int n = 0; n < kRequests || (taken == 0 && n < 1'000 * kRequests); ++n) {
          if (!tracing_->active() && n % 2 == 0) continue;
          Trace* trace = begin(i % 2 == 0 ? "even" : "odd");
          if (trace == nullptr) continue;
          ++taken;
          trace->report(TraceActivity::kRequestStart, 0);
          trace->release();
        }
        --running;
      });
    }
    int updates = 0;
    while (running != 0) {
      EXPECT_TRUE(is_ok(update("", {{"trace_level", {updates % 3 == 0 ? "OFF" : "TIMESTAMPS"}}})));
      EXPECT_TRUE(is_ok(update("even", {{"trace_rate", {cat(updates % 2 + 1)}}})));
      EXPECT_FALSE(shown("even").empty());
      ++updates;
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(taken, 0) << "nothing was tested";
    ASSERT_TRUE(is_ok(update("", {{"trace_level", {"TIMESTAMPS"}}})));
    EXPECT_EQ(traced(5, "other"), 5);
  });
}

}  // namespace atl::test
