#include "models/catalog/serving/statistics.h"

#include <gtest/gtest.h>

#include <thread>

#include "atoll/request/request.h"
#include "atoll/testing/fake_clock.h"

namespace atl::models {
namespace {

class StatisticsTest : public ::testing::Test {
 protected:
  test::FakeClock clock_{1'000'000};
  StatisticsRecorder recorder_{clock_, 8};
};

void start(Request& request, int64_t start_ns, int64_t queue_start_ns, uint32_t batch_size) {
  request.times.start_ns = start_ns;
  request.times.queue_start_ns = queue_start_ns;
  request.batch_size = batch_size;
}

TEST_F(StatisticsTest, CountsTheIntervalsOfSuccesses) {
  Request request;
  start(request, 100, 110, 3);
  ExecutionTimes times{150, 160, 190, 200};
  recorder_.report_request(request, true, times);
  recorder_.report_request(request, true, times);
  recorder_.report_batch(6, times);
  ModelStatistics sum = recorder_.snapshot();
  EXPECT_EQ(sum.inference_count, 6U);
  EXPECT_EQ(sum.execution_count, 1U);
  EXPECT_EQ(sum.success.count, 2U);
  EXPECT_EQ(sum.success.ns, 200U);
  EXPECT_EQ(sum.queue.ns, 80U);
  EXPECT_EQ(sum.compute_input.ns, 20U);
  EXPECT_EQ(sum.compute_infer.ns, 60U);
  EXPECT_EQ(sum.compute_output.ns, 20U);
  EXPECT_EQ(sum.compute_output.count, 2U);
  EXPECT_EQ(sum.fail.count, 0U);
  ASSERT_EQ(sum.batches.size(), 1U);
  EXPECT_EQ(sum.batches[0].batch_size, 6U);
  EXPECT_EQ(sum.batches[0].compute_infer.count, 1U);
  EXPECT_EQ(sum.batches[0].compute_infer.ns, 30U);
}

void expect(const StatisticDuration& duration, uint64_t count, uint64_t ns) {
  EXPECT_EQ(duration.count, count);
  EXPECT_EQ(duration.ns, ns);
}

TEST_F(StatisticsTest, CountsResponsesByTheirPlaceAndOutcome) {
  recorder_.report_response(0, Code::kOk, {10, 15, 30});
  recorder_.report_response(0, Code::kOk, {10, 15, 30});
  recorder_.report_response(2, Code::kOk, {10, 0, 40});
  recorder_.report_response(2, Code::kInternal, {10, 0, 40});
  recorder_.report_response(2, Code::kInternal, {10, 20, 20});
  recorder_.report_response(2, Code::kCancelled, {10, 20, 50});
  recorder_.report_response(StatisticsRecorder::kResponsesMax, Code::kOk, {10, 15, 30});
  const ModelStatistics sum = recorder_.snapshot();
  ASSERT_EQ(sum.responses.size(), 3U) << "and no more than are told apart";
  const ResponseStatistics& first = sum.responses[0];
  expect(first.compute_infer, 2, 10);
  expect(first.compute_output, 2, 30);
  expect(first.success, 2, 40);
  expect(first.fail, 0, 0);
  expect(sum.responses[1].success, 0, 0);
  const ResponseStatistics& third = sum.responses[2];
  expect(third.empty, 1, 30);
  expect(third.fail, 2, 40);
  expect(third.cancelled, 1, 40);
  expect(third.compute_infer, 3, 70);
  expect(third.compute_output, 0, 0);
  recorder_.reset();
  EXPECT_TRUE(recorder_.snapshot().responses.empty());
}

TEST_F(StatisticsTest, CountsUnbatchedRequestsAsOne) {
  Request request;
  recorder_.report_request(request, true, {});
  EXPECT_EQ(recorder_.snapshot().inference_count, 1U);
}

TEST_F(StatisticsTest, CountsOnlyTheExecutionsOfShadows) {
  Request request;
  request.call_flags = kShadow;
  recorder_.report_request(request, true, {1, 2, 3, 4});
  recorder_.report_request(request, false, {1, 2, 3, 4});
  recorder_.report_failure(request, FailureReason::kRejected);
  recorder_.report_batch(1, {1, 2, 3, 4});
  ModelStatistics sum = recorder_.snapshot();
  EXPECT_EQ(sum.inference_count, 0U);
  EXPECT_EQ(sum.success.count, 0U);
  EXPECT_EQ(sum.fail.count, 0U);
  EXPECT_EQ(sum.failures[static_cast<size_t>(FailureReason::kRejected)], 0U);
  EXPECT_EQ(sum.execution_count, 1U);
}

TEST_F(StatisticsTest, CountsFailuresByReason) {
  Request request;
  start(request, clock_.now_ns() - 500, 0, 1);
  recorder_.report_request(request, false, {1, 2, 3, 4});
  recorder_.report_failure(request, FailureReason::kRejected);
  recorder_.report_failure(request, FailureReason::kCanceled);
  recorder_.report_failure(request, FailureReason::kOther);
  recorder_.report_failure(request, static_cast<FailureReason>(77));
  ModelStatistics sum = recorder_.snapshot();
  EXPECT_EQ(sum.fail.count, 5U);
  EXPECT_EQ(sum.fail.ns, 2500U);
  EXPECT_EQ(sum.failures[0], 1U);
  EXPECT_EQ(sum.failures[1], 1U);
  EXPECT_EQ(sum.failures[2], 1U);
  EXPECT_EQ(sum.failures[3], 2U);
  EXPECT_EQ(sum.success.count, 0U);
  EXPECT_EQ(sum.inference_count, 0U);
  EXPECT_EQ(sum.queue.count, 0U);
}

TEST_F(StatisticsTest, ListsBatchSizesInOrderAndBoundsThem) {
  for (uint32_t size = 20; size >= 1; --size) recorder_.report_batch(size, {1, 2, 3, 4});
  recorder_.report_batch(20, {1, 2, 3, 4});
  ModelStatistics sum = recorder_.snapshot();
  ASSERT_EQ(sum.batches.size(), 8U);
  EXPECT_EQ(sum.batches.front().batch_size, 13U);
  EXPECT_EQ(sum.batches.back().batch_size, 20U);
  EXPECT_EQ(sum.batches.back().compute_input.count, 2U);
  EXPECT_EQ(sum.execution_count, 21U);
}

TEST_F(StatisticsTest, RemembersTheLastExecutionOnTheCalendar) {
  EXPECT_EQ(recorder_.snapshot().last_inference_ms, 0U);
  clock_.advance(5 * kNsPerMs);
  int64_t wall_ns = clock_.wall_ns();
  recorder_.report_batch(1, {0, 0, 0, clock_.now_ns()});
  clock_.advance(kNsPerSecond);
  EXPECT_EQ(recorder_.snapshot().last_inference_ms, static_cast<uint64_t>(wall_ns / kNsPerMs));
  EXPECT_EQ(recorder_.snapshot().last_inference_ms, static_cast<uint64_t>(wall_ns / kNsPerMs));
}

TEST_F(StatisticsTest, ToleratesReversedMoments) {
  Request request;
  start(request, 100, 90, 1);
  recorder_.report_request(request, true, {80, 70, 60, 50});
  ModelStatistics sum = recorder_.snapshot();
  EXPECT_EQ(sum.success.ns + sum.queue.ns + sum.compute_infer.ns, 0U);
  EXPECT_EQ(sum.success.count, 1U);
}

TEST_F(StatisticsTest, TakesNextToNothingBeforeTheFirstReport) {
  EXPECT_LE(sizeof recorder_, 256U);
  ModelStatistics none = recorder_.snapshot();
  EXPECT_EQ(none.success.count + none.fail.count + none.execution_count + none.latencies.total.count, 0U);
  recorder_.reset();
  recorder_.report_failure(Request(), FailureReason::kRejected);
  EXPECT_EQ(recorder_.snapshot().failures[0], 1U);
}

TEST_F(StatisticsTest, LosesNothingUnderContention) {
  constexpr int kThreads = 4;
  constexpr uint64_t kRounds = 5000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      Request request;
      start(request, 1, 1, 2);
      for (uint64_t round = 0; round < kRounds; ++round) {
        recorder_.report_request(request, true, {2, 3, 4, 5});
        recorder_.report_batch(1 + static_cast<uint32_t>(round % 4), {2, 3, 4, 5});
        recorder_.report_failure(request, FailureReason::kOther);
      }
    });
  }
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    uint64_t now = recorder_.snapshot().inference_count;
    EXPECT_GE(now, last);
    last = now;
  }
  for (std::thread& thread : threads) thread.join();
  ModelStatistics sum = recorder_.snapshot();
  EXPECT_EQ(sum.success.count, kThreads * kRounds);
  EXPECT_EQ(sum.inference_count, 2 * kThreads * kRounds);
  EXPECT_EQ(sum.execution_count, kThreads * kRounds);
  EXPECT_EQ(sum.failures[3], kThreads * kRounds);
  EXPECT_EQ(sum.batches.size(), 4U);
}

}  // namespace
}  // namespace atl::models
