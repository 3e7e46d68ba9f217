// Requests and the service that admits them: asked once, told once, whatever comes between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "models/catalog/testing/admission_bench.h"

namespace atl::models {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;

/// One provider, "limits".
struct OneAdmission : AdmissionBench {
  OneAdmission() { publish(admission); }
  void publish(FakeAdmission& provider, ServiceChanged::Kind kind = ServiceChanged::Kind::kPublished) {
    AdmissionBench::publish("limits", provider, 0, kind);
  }
  void withdraw() { AdmissionBench::withdraw("limits"); }
  FakeAdmission admission;
};

TEST(Admission, AsksOnceAndTellsOnceWhenAnsweredAndReleased) {
  OneAdmission bench;
  TestRequest request;
  request.on_response(
      [&](const test::ReceivedResponse&) { EXPECT_THAT(bench.admission.tickets_ended, ElementsAre()); });
  ASSERT_EQ(bench.infer(request).text(), "OK");
  EXPECT_TRUE(request.done());
  EXPECT_THAT(request.response().outputs.at(0).shape, ElementsAre(1, 2, 2));
  EXPECT_THAT(request.problems(), ElementsAre());
  EXPECT_EQ(request->sink, &request);
  EXPECT_EQ(bench.admission.asked, 1U);
  EXPECT_THAT(bench.admission.tickets_ended, ElementsAre(1));
}

TEST(Admission, AStepOfAnAdmittedRequestIsNotAskedFor) {
  OneAdmission bench;
  bench.admission.refuses = true;
  TestRequest request;
  request->set_parent(*TestRequest());
  EXPECT_EQ(bench.infer(request).text(), "OK");
  EXPECT_EQ(bench.admission.asked, 0U);
}

TEST(Admission, ARefusedRequestIsItsMakersAgain) {
  OneAdmission bench;
  bench.admission.refuses = true;
  TestRequest request;
  Status status = bench.infer(request);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(request->retry_after_ms, 70U);
  EXPECT_EQ(request->sink, &request);
  EXPECT_THAT(request.problems(), ElementsAre());
  EXPECT_EQ(bench.failures(FailureReason::kRejected), 1U);
  EXPECT_THAT(bench.admission.tickets_ended, ElementsAre());
}

TEST(Admission, AnInvalidRequestIsNotAskedFor) {
  OneAdmission bench;
  TestRequest request;
  auto model = bench.bench.catalog().acquire("m", 1);
  EXPECT_EQ(request.infer(*model->get()).code(), Code::kInvalidArgument);
  EXPECT_EQ(bench.admission.asked, 0U);
}

TEST(Admission, AWaitingRequestGoesOnWhenResumed) {
  OneAdmission bench;
  bench.admission.waits = true;
  TestRequest request;
  ASSERT_EQ(bench.infer(request).text(), "OK");
  EXPECT_FALSE(request.got_final());
  bench.bench.host.fake_clock().advance(kNsPerMs);
  const int64_t resumed_ns = bench.bench.host.clock().now_ns();
  bench.admission.resume_all();
  EXPECT_TRUE(request.done());
  EXPECT_EQ(request->times.queue_start_ns, resumed_ns);
  EXPECT_THAT(request.problems(), ElementsAre());
  EXPECT_THAT(bench.admission.tickets_ended, ElementsAre(1));
}

TEST(Admission, AWaitingRequestThatIsRefusedIsAnsweredAndNotToldOf) {
  OneAdmission bench;
  bench.admission.waits = true;
  TestRequest shed, cancelled;
  ASSERT_EQ(bench.infer(shed).text(), "OK");
  bench.admission.resume_all(Code::kUnavailable);
  ASSERT_EQ(bench.infer(cancelled).text(), "OK");
  bench.admission.resume_all(Code::kCancelled);
  EXPECT_TRUE(shed.done() && cancelled.done());
  EXPECT_EQ(shed.response().code, Code::kUnavailable);
  EXPECT_EQ(shed.response().message, "shed");
  EXPECT_THAT(shed.problems(), ElementsAre());
  EXPECT_THAT(bench.admission.tickets_ended, ElementsAre());
  EXPECT_EQ(bench.failures(FailureReason::kRejected), 1U);
  EXPECT_EQ(bench.failures(FailureReason::kCanceled), 1U);
}

TEST(Admission, ToldOfARequestThatItsSchedulerRefuses) {
  OneAdmission bench;
  TestRequest first, refused, waited;
  ASSERT_EQ(bench.infer(first).text(), "OK");
  bench.admission.waits = true;
  ASSERT_EQ(bench.infer(waited).text(), "OK");
  bench.admission.waits = false;
  ServerStateChanged draining;
  draining.state = ServerStateChanged::State::kDraining;
  bench.bench.plugin->core().server_state_changed(draining.state);
  EXPECT_EQ(bench.infer(refused).code(), Code::kUnavailable);
  EXPECT_EQ(refused->sink, &refused);
  bench.admission.resume_all();
  EXPECT_TRUE(waited.done());
  EXPECT_EQ(waited.response().code, Code::kUnavailable);
  EXPECT_THAT(bench.admission.tickets_ended, ElementsAre(1, 2, 3));
}

TEST(Admission, AReplacedProviderIsHeldUntilItsRequestsHaveEnded) {
  OneAdmission bench;
  FakeAdmission next;
  bench.bench.scheduler.hold = true;
  TestRequest admitted, waits, later;
  ASSERT_EQ(bench.infer(admitted).text(), "OK");
  bench.admission.waits = true;
  ASSERT_EQ(bench.infer(waits).text(), "OK");
  bench.publish(next, ServiceChanged::Kind::kReplaced);
  ASSERT_EQ(bench.infer(later).text(), "OK");
  EXPECT_EQ(bench.admission.asked, 2U);
  EXPECT_EQ(next.asked, 1U);
  EXPECT_EQ(bench.holders(), 2U);
  bench.bench.scheduler.run_held();
  EXPECT_THAT(bench.admission.tickets_ended, ElementsAre(1));
  EXPECT_THAT(next.tickets_ended, ElementsAre(1));
  EXPECT_EQ(bench.holders(), 2U);  // one request still waits
  bench.admission.resume_all();
  bench.bench.scheduler.run_held();
  EXPECT_THAT(bench.admission.tickets_ended, ElementsAre(1, 2));
  EXPECT_EQ(bench.holders(), 1U);
}

TEST(Admission, ProvidersComeAndGo) {
  OneAdmission bench;
  for (int i = 0; i < 100; ++i) {
    bench.withdraw();
    TestRequest unasked, asked;
    EXPECT_EQ(bench.infer(unasked).text(), "OK");
    EXPECT_EQ(bench.holders(), 0U);
    bench.publish(bench.admission);
    EXPECT_EQ(bench.infer(asked).text(), "OK");
    EXPECT_EQ(bench.admission.asked, static_cast<uint64_t>(i + 1));
  }
  EXPECT_EQ(bench.admission.tickets_ended.size(), 100U);
  EXPECT_EQ(bench.holders(), 1U);
  bench.held.clear();
  bench.bench.end();
  EXPECT_EQ(bench.holders(), 0U);
}

TEST(Admission, AnInactiveProviderIsLetGo) {
  OneAdmission bench;
  FakeAdmission idle;
  idle.is_active = false;
  bench.publish(idle, ServiceChanged::Kind::kReplaced);
  EXPECT_EQ(bench.holders(), 0U);
  TestRequest request;
  EXPECT_EQ(bench.infer(request).text(), "OK");
  EXPECT_EQ(idle.asked + bench.admission.asked, 0U);
}

TEST(Admission, ThePriorityIsTheOneThatCountsForTheModel) {
  OneAdmission bench;
  test::FakeSchedulerProvider dynamic("dynamic");
  bench.bench.host.registry().publish<SchedulerProvider>("dynamic", dynamic);
  bench.bench.put("levels",
                  cat(kSimpleConfig, "dynamic_batching { priority_levels: 3 default_priority_level: 2 }"));
  ASSERT_EQ(bench.bench.load_one("levels").text(), "OK");
  const auto priority_of = [&](std::string_view name, uint64_t priority) {
    auto model = bench.bench.catalog().acquire(name, 1);
    TestRequest request;
    request->priority = priority;
    if (name == "levels") {
      fill_simple(request);
    } else {
      request.add_input<float>("INPUT0", DataType::kFp32, {1, 2, 2}, {1, 2, 3, 4});
    }
    EXPECT_EQ(request.infer(*model->get()).text(), "OK");
    return bench.admission.last_priority;
  };
  EXPECT_EQ(priority_of("m", 0), 0U);  // this one has no levels
  EXPECT_EQ(priority_of("m", 7), 7U);
  EXPECT_EQ(priority_of("levels", 0), 2U);
  EXPECT_EQ(priority_of("levels", 3), 3U);
  EXPECT_EQ(priority_of("levels", 4), 2U);
  bench.bench.end();
}

}  // namespace
}  // namespace atl::models
