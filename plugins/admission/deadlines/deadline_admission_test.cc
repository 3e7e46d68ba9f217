#include "admission/deadlines/deadline_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/deadlines/testing/admission_bench.h"
#include "atoll/testing/recording_sink.h"

namespace atl::deadlines {
namespace {

using ::testing::HasSubstr;

class NoWaiter final : public AdmissionWaiter {
 public:
  virtual ~NoWaiter() = default;
  void resume(Request&, Status, const AdmissionTicket&) noexcept override { ADD_FAILURE() << "nobody waits"; }
};

/// Asks for a request that has just come.
Status ask(AdmissionBench& bench, test::TestRequest& request, const char* model = "m",
           int64_t timeout_ns = 0) {
  test::FakeServedModel named(named_model(model));
  NoWaiter waiter;
  AdmissionTicket ticket;
  request->model = &named;
  request->times.start_ns = bench.clock.now_ns();
  if (timeout_ns != 0) request->times.deadline_ns = bench.clock.now_ns() + timeout_ns;
  auto outcome = bench.admission.ask(*request, 0, waiter, &ticket);
  return outcome.ok() ? Status() : std::move(outcome).status();
}

TEST(DeadlineAdmission, WhoCanNotBeInTimeIsRefusedWithATimeToTryAgain) {
  AdmissionBench bench(15 * kNsPerMs);
  bench.teach();
  test::TestRequest first, second;
  EXPECT_EQ(ask(bench, first).text(), "OK");
  ASSERT_TRUE(bench.instance->ask(bench, nullptr, false));
  bench.instance->begins(1, 0);
  const Status refusal = ask(bench, second);
  EXPECT_EQ(refusal.code(), Code::kUnavailable);
  EXPECT_THAT(refusal.text(), HasSubstr("could not be answered in time"));
  EXPECT_EQ(second->retry_after_ms, 10U);
  bench.clock.advance(6 * kNsPerMs);
  EXPECT_EQ(ask(bench, second).text(), "OK") << "4 + 10 of 15 ms";
  bench.instance->end(true);
}

TEST(DeadlineAdmission, TheClientsTimeoutCounts) {
  AdmissionBench bench;
  bench.teach();
  test::TestRequest none, enough, little, parameter;
  EXPECT_EQ(ask(bench, none).text(), "OK");
  EXPECT_EQ(ask(bench, enough, "m", 11 * kNsPerMs).text(), "OK");
  EXPECT_EQ(ask(bench, little, "m", 9 * kNsPerMs).code(), Code::kUnavailable);
  parameter->timeout_us = 9'000;
  EXPECT_EQ(ask(bench, parameter).code(), Code::kUnavailable);
}

TEST(DeadlineAdmission, ModelsThatItDoesNotKnowAreLetThrough) {
  AdmissionBench bench;
  bench.teach();
  test::TestRequest request;
  EXPECT_EQ(ask(bench, request, "ensemble", kNsPerMs).text(), "OK");
}

TEST(DeadlineAdmission, ModelsTakeTurnsOnADevice) {
  AdmissionBench bench;
  auto other = bench.add("other");
  ASSERT_TRUE(bench.instance->ask(bench, nullptr, false));
  EXPECT_FALSE(other->ask(bench, nullptr, false));
  bench.instance->end(true);
  EXPECT_EQ(bench.told, 1);
  other->end(true);
  EXPECT_EQ(other->turn(), 1U);
}

TEST(DeadlineAdmission, AGpuIsAnotherDevice) {
  AdmissionBench bench;
  ExecutionDemand demand;
  demand.model = "gpu";
  demand.on_gpu = true;
  auto gpu = bench.admission.add_instance(demand).value();
  demand.device_id = 1;
  auto second = bench.admission.add_instance(demand).value();
  ASSERT_TRUE(bench.instance->ask(bench, nullptr, false));
  EXPECT_TRUE(gpu->ask(bench, nullptr, false));
  EXPECT_TRUE(second->ask(bench, nullptr, false));
  for (AdmittedInstance* one : {bench.instance.get(), gpu.get(), second.get()}) one->end(true);
}

TEST(DeadlineAdmission, InstancesOnSeveralDevicesHaveOneQueue) {
  AdmissionBench bench;
  ExecutionDemand demand;
  demand.model = "m";
  demand.version = 1;
  demand.max_batch_size = 4;
  demand.on_gpu = true;
  auto gpu = bench.admission.add_instance(demand).value();
  bench.teach();
  for (int i = 0; i < 3; ++i) bench.instance->arrived({bench.clock.now_ns(), 0, 1});
  ASSERT_TRUE(gpu->ask(bench, nullptr, false));
  gpu->begins(2, 1);
  ASSERT_TRUE(bench.instance->ask(bench, nullptr, false));
  EXPECT_EQ(bench.instance->grant().batch_size_max, 1U) << "the others are taken";
  bench.instance->begins(1, 0);
  gpu->end(true);
  bench.instance->end(true);
}

}  // namespace
}  // namespace atl::deadlines
