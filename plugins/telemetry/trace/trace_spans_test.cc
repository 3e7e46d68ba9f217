/// What becomes of a record's moments.
#include "telemetry/trace/trace_spans.h"

#include <gtest/gtest.h>

#include "telemetry/trace/testing/records.h"

namespace atl::tracing {
namespace {

using enum TraceActivity;
using Lines = std::vector<std::string>;
constexpr uint64_t kRoom = 1 << 20;

TEST(TraceSpans, PhasesOfARequestAndMomentsOfItsFrontend) {
  Record record;
  record.start_ns = 9;
  record.end_ns = 100;
  record.wall_offset_ns = 1000;
  RecordedRequest& request = add_request(record, 7, 0, "m",
                                         {{kRequestStart, 10},
                                          {kQueueStart, 12},
                                          {kComputeStart, 30},
                                          {kComputeInputEnd, 35},
                                          {kComputeOutputStart, 80},
                                          {kComputeEnd, 90},
                                          {kRequestEnd, 95}});
  request.request_id = "r";
  add_named(request, "HTTP_RECV_START", 2);
  add_named(request, "HTTP_RECV_END", 8);
  add_named(request, "INFER_RESPONSE_COMPLETE", 94);
  add_named(request, "TOKENS_START", 40);
  add_named(request, "TOKENS_END", 50);
  add_named(request, "HTTP_SEND_START", 94);
  add_named(request, "HTTP_SEND_END", 99);
  const FinishedTrace trace = finished_trace(record, kRoom);
  EXPECT_EQ(lines_of(trace),
            (Lines{"trace 0..98", " HTTP_RECV 0..6", " request m 8..93", "  queue 10..28",
                   "  compute input 28..33", "  compute 33..78", "  TOKENS 38..48", "  compute output 78..88",
                   "  INFER_RESPONSE_COMPLETE 92..92", " HTTP_SEND 92..97"}));
  EXPECT_EQ(trace.summary.trace_id, "7");
  EXPECT_EQ(trace.summary.begin_wall_ns, 1002);
  EXPECT_EQ(trace.summary.duration_ns, 98);
  EXPECT_EQ(trace.summary.model, "m");
  EXPECT_EQ(trace.summary.version, 1);
  EXPECT_EQ(trace.summary.request_id, "r");
  EXPECT_EQ(trace.summary.spans, 10u);
  EXPECT_EQ(trace.summary.left_out, 0u);
  EXPECT_EQ(duration_of(record), 98);
}

TEST(TraceSpans, StepsAreBelowTheRequestThatMadeThem) {
  Record record;
  record.end_ns = 100;
  add_request(record, 1, 0, "pair", {{kRequestStart, 0}, {kQueueStart, 1}, {kRequestEnd, 100}});
  add_request(record, 2, 1, "late", {{kRequestStart, 50}, {kRequestEnd, 90}});
  add_request(
      record, 3, 1, "early",
      {{kRequestStart, 5}, {kQueueStart, 6}, {kComputeStart, 8}, {kComputeEnd, 20}, {kRequestEnd, 40}});
  add_request(record, 4, 2, "inner", {{kRequestStart, 60}, {kRequestEnd, 70}});
  EXPECT_EQ(lines_of(finished_trace(record, kRoom)),
            (Lines{"trace 0..100", " request pair 0..100", "  queue 1..5", "  request early 5..40",
                   "   queue 6..8", "   compute 8..20", "  request late 50..90", "   request inner 60..70"}))
      << "an ensemble's own queueing ends with its first step";
}

TEST(TraceSpans, WhatDidNotComeToItsEnd) {
  Record record;
  record.end_ns = 50;
  RecordedRequest& request =
      add_request(record, 1, 0, "m", {{kRequestStart, 1}, {kQueueStart, 2}, {kRequestEnd, 40}});
  add_named(request, "A_END", 3);
  add_named(request, "B_START", 4);
  request.events.emplace_back().tensor = std::make_unique<RecordedTensor>();
  EXPECT_EQ(lines_of(finished_trace(record, kRoom)),
            (Lines{"trace 0..50", " request m 1..40", "  queue 2..40", "  A_END 3..3", "  B_START 4..4"}));
  // A request of which only a frontend knows.
  Record other;
  other.end_ns = 9;
  add_named(add_request(other, 1, 0, "m", {}), "GRPC_WAITREAD_START", 2);
  EXPECT_EQ(lines_of(finished_trace(other, kRoom)), (Lines{"trace 0..9", " GRPC_WAITREAD_START 2..2"}));
}

TEST(TraceSpans, TimesOutsideOfTheTraceAreNotBelieved) {
  constexpr int64_t kDay = 24 * 3600 * kNsPerSecond;
  Record record = test_record(kDay, kDay + 10);
  for (const int64_t at_ns : {int64_t{-5}, int64_t{1}, INT64_MIN, INT64_MAX})
    add_named(record.requests.front(), "X", at_ns);
  EXPECT_EQ(lines_of(finished_trace(record, kRoom)),
            (Lines{"trace 0..10", " request m 0..10", "  X 0..0", "  X 0..0", "  X 0..0", "  X 10..10"}));
  EXPECT_EQ(duration_of(test_record(10, 5)), 0);
}

TEST(TraceSpans, ATraceThatIsTooLargeKeepsItsFirstRequests) {
  constexpr uint64_t kSmall = 4096;
  Record record = test_record(0, 1000);
  record.dropped_events = 5;
  for (uint64_t id = 2; id <= 100; ++id)
    add_request(record, id, 1, cat("step", id),
                {{kRequestStart, static_cast<int64_t>(id)}, {kRequestEnd, 999}});
  const FinishedTrace trace = finished_trace(record, kSmall);
  EXPECT_LE(size_of(trace), kSmall);
  ASSERT_GT(trace.spans.size(), 10u);
  EXPECT_EQ(trace.spans[2].model, "step2");
  EXPECT_EQ(trace.summary.left_out, 5 + 101 - trace.spans.size());
  // Of one request that has too many moments.
  for (int64_t i = 0; i < 4000; ++i) add_named(record.requests.front(), "TOKEN", i);
  const FinishedTrace stream = finished_trace(record, kSmall);
  EXPECT_LE(size_of(stream), kSmall);
  EXPECT_EQ(stream.spans[1].name, "request");
  EXPECT_GT(stream.summary.left_out, 3900u);
}

TEST(TraceSpans, LongTextsAreCut) {
  const std::string text(100'000, 'x');
  Record record = test_record(0, 1, text);
  record.requests.front().request_id = text;
  const FinishedTrace trace = finished_trace(record, kRoom);
  EXPECT_EQ(trace.summary.model, std::string(256, 'x'));
  EXPECT_EQ(trace.summary.request_id, std::string(256, 'x'));
  EXPECT_EQ(trace.spans[1].model, std::string(256, 'x'));
  record.trace_id = {0xab};
  EXPECT_EQ(finished_trace(record, kRoom).summary.trace_id, "ab" + std::string(30, '0'));
}

}  // namespace
}  // namespace atl::tracing
