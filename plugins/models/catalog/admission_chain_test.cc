// Several providers of request admission: asked in their order, each told once of what it admitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/catalog/testing/admission_bench.h"

namespace atl::models {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;

/// "a" before "b" before "c". What they are asked ("a?") and told ("a.") goes into one log.
struct Chain : AdmissionBench {
  Chain() {
    publish("b", b, 5);
    publish("c", c, -1);
    publish("a", a, 7);
  }
  std::vector<std::string> take_log() { return std::exchange(log, {}); }

  std::vector<std::string> log;
  FakeAdmission a{&log, "a"}, b{&log, "b"}, c{&log, "c"};
};

TEST(AdmissionChain, AllAreAskedByRankAndToldWhenItHasEnded) {
  Chain chain;
  TestRequest request;
  request.on_response(
      [&](const test::ReceivedResponse&) { EXPECT_THAT(chain.log, ElementsAre("a?", "b?", "c?")); });
  ASSERT_EQ(chain.infer(request).text(), "OK");
  EXPECT_TRUE(request.done());
  EXPECT_THAT(request.problems(), ElementsAre());
  EXPECT_THAT(chain.log, ElementsAre("a?", "b?", "c?", "c.", "b.", "a."));
}

TEST(AdmissionChain, ThoseOfOneRankAreAskedByName) {
  AdmissionBench bench;
  std::vector<std::string> log;
  FakeAdmission one(&log, "one"), two(&log, "two");
  bench.publish("two", two, 3);
  bench.publish("one", one, 3);
  TestRequest request;
  ASSERT_EQ(bench.infer(request).text(), "OK");
  EXPECT_THAT(log, ElementsAre("one?", "two?", "two.", "one."));
  EXPECT_EQ(bench.bench.host.log().count(LogLevel::kError, "admi"), 0U);
}

TEST(AdmissionChain, TheFirstRefusalEndsIt) {
  Chain chain;
  chain.b.refuses = true;
  TestRequest request;
  Status status = chain.infer(request);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(request->retry_after_ms, 70U);
  EXPECT_EQ(request->sink, &request);
  EXPECT_THAT(request.problems(), ElementsAre());
  EXPECT_THAT(chain.log, ElementsAre("a?", "b?", "a."));
  EXPECT_EQ(chain.failures(FailureReason::kRejected), 1U);
}

TEST(AdmissionChain, OneThatMakesItWaitHandsItToTheNext) {
  Chain chain;
  chain.a.waits = chain.b.waits = true;
  TestRequest request;
  ASSERT_EQ(chain.infer(request).text(), "OK");
  EXPECT_THAT(chain.take_log(), ElementsAre("a?"));
  chain.a.resume_all();
  EXPECT_THAT(chain.take_log(), ElementsAre("b?"));
  EXPECT_FALSE(request.got_final());
  chain.b.resume_all();
  EXPECT_TRUE(request.done());
  EXPECT_EQ(request.response().code, Code::kOk);
  EXPECT_THAT(request.problems(), ElementsAre());
  EXPECT_THAT(chain.take_log(), ElementsAre("c?", "c.", "b.", "a."));
}

TEST(AdmissionChain, OneThatWaitedAndIsRefusedLaterIsAnswered) {
  Chain chain;
  chain.b.waits = true;
  chain.c.refuses = true;
  TestRequest request;
  ASSERT_EQ(chain.infer(request).text(), "OK");
  request.on_response(
      [&](const test::ReceivedResponse&) { EXPECT_THAT(chain.log, ElementsAre("a?", "b?", "c?")); });
  chain.b.resume_all();
  EXPECT_TRUE(request.done());
  EXPECT_EQ(request.response().code, Code::kResourceExhausted);
  EXPECT_EQ(request->retry_after_ms, 70U);
  EXPECT_THAT(request.problems(), ElementsAre());
  EXPECT_THAT(chain.log, ElementsAre("a?", "b?", "c?", "b.", "a."));
  EXPECT_EQ(chain.failures(FailureReason::kRejected), 1U);
}

TEST(AdmissionChain, OneThatEndsWhileItWaitsIsTakenBackFromTheOnesBefore) {
  for (const Code code : {Code::kCancelled, Code::kDeadlineExceeded, Code::kUnavailable}) {
    SCOPED_TRACE(code_name(code));
    Chain chain;
    chain.b.waits = true;
    TestRequest request;
    ASSERT_EQ(chain.infer(request).text(), "OK");
    chain.b.resume_all(code);
    EXPECT_TRUE(request.done());
    EXPECT_EQ(request.response().code, code);
    EXPECT_THAT(request.problems(), ElementsAre());
    EXPECT_THAT(chain.log, ElementsAre("a?", "b?", "a."));
    const auto reason = code == Code::kCancelled ? FailureReason::kCanceled : FailureReason::kRejected;
    EXPECT_EQ(chain.failures(reason), 1U);
  }
}

TEST(AdmissionChain, AllAreToldOfOneThatItsSchedulerRefuses) {
  Chain chain;
  chain.bench.plugin->core().server_state_changed(ServerStateChanged::State::kDraining);
  TestRequest refused, waited;
  EXPECT_EQ(chain.infer(refused).code(), Code::kUnavailable);
  EXPECT_EQ(refused->sink, &refused);
  EXPECT_THAT(chain.take_log(), ElementsAre("a?", "b?", "c?", "c.", "b.", "a."));
  chain.a.waits = true;
  ASSERT_EQ(chain.infer(waited).text(), "OK");
  chain.a.resume_all();
  EXPECT_TRUE(waited.done());
  EXPECT_EQ(waited.response().code, Code::kUnavailable);
  EXPECT_THAT(chain.take_log(), ElementsAre("a?", "b?", "c?", "c.", "b.", "a."));
}

TEST(AdmissionChain, WhoWaitsStaysWithTheProvidersItCameTo) {
  Chain chain;
  std::vector<std::string>& log = chain.log;
  FakeAdmission late(&log, "late");
  chain.a.waits = true;
  TestRequest before, after;
  ASSERT_EQ(chain.infer(before).text(), "OK");
  chain.withdraw("b");
  chain.publish("late", late, 100);
  chain.a.waits = false;
  ASSERT_EQ(chain.infer(after).text(), "OK");
  EXPECT_TRUE(after.done());
  EXPECT_THAT(chain.take_log(), ElementsAre("a?", "late?", "a?", "c?", "c.", "a.", "late."));
  EXPECT_EQ(chain.holders(), 6U) << "a, b and c by the one that waits; late, a and c by who comes";
  chain.a.resume_all();
  EXPECT_TRUE(before.done());
  EXPECT_THAT(chain.take_log(), ElementsAre("b?", "c?", "c.", "b.", "a."));
  EXPECT_EQ(chain.holders(), 3U);
}

TEST(AdmissionChain, InactiveOnesAreLeftOut) {
  Chain chain;
  chain.b.is_active = false;
  chain.publish("b", chain.b, 5, ServiceChanged::Kind::kReplaced);
  TestRequest request;
  ASSERT_EQ(chain.infer(request).text(), "OK");
  EXPECT_THAT(chain.log, ElementsAre("a?", "c?", "c.", "a."));
  EXPECT_EQ(chain.holders(), 2U);
}

TEST(AdmissionChain, TooManyAreCutOffAndToldOf) {
  AdmissionBench bench;
  std::vector<std::string> log;
  std::vector<std::unique_ptr<FakeAdmission>> providers;
  for (int i = 0; i < 10; ++i) {
    providers.push_back(std::make_unique<FakeAdmission>(&log, cat(i)));
    bench.publish(cat("p", i), *providers.back(), -i);
  }
  EXPECT_EQ(
      bench.bench.host.log().count(LogLevel::kError,
                                   "10 providers of request admission are enabled, at most 8 are asked: "
                                   "those of the highest ranks"),
      1U);
  TestRequest request;
  ASSERT_EQ(bench.infer(request).text(), "OK");
  EXPECT_EQ(log.size(), 16U);
  EXPECT_EQ(log.front(), "0?");
}

}  // namespace
}  // namespace atl::models
