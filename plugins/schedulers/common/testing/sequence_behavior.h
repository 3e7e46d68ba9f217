/// What is the same for all strategies of scheduling sequences: how they begin, wait, end and are refused.
/// Instantiate SequenceBehavior with a Traits: `using Provider`, and `static std::string strategy()`, the field
/// of sequence_batching.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/recorded_metrics.h"
#include "schedulers/common/testing/sequence_bench.h"

namespace atl::schedulers {

template <class Traits>
class SequenceBehavior : public ::testing::Test {
 protected:
  using Bench = SequenceBench<typename Traits::Provider>;

  /// Its instances have one slot each, unless `batching` or the batch size says more.
  static SequenceBenchSettings settings(std::string more = {}, uint32_t max_batch_size = 1,
                                        uint32_t instances = 1) {
    SequenceBenchSettings made;
    made.instances = instances;
    made.max_batch_size = max_batch_size;
    made.batching = cat(Traits::strategy(), " ", more);
    return made;
  }
};
TYPED_TEST_SUITE_P(SequenceBehavior);

constexpr uint32_t kBoth = kSequenceStart | kSequenceEnd;

TYPED_TEST_P(SequenceBehavior, RequestsOfASequenceGoInOrderToOneInstance) {
  typename TestFixture::Bench bench(this->settings({}, 1, 2));
  bench.send("A1", 1, kSequenceStart);
  bench.send("B1", 2, kSequenceStart);
  for (int i = 2; i < 5; ++i) {
    bench.send(cat("A", i), 1);
    bench.send(cat("B", i), 2);
  }
  bench.run();
  EXPECT_EQ(bench.timeline(0), (std::vector<std::string>{"A1", "A2", "A3", "A4"}));
  EXPECT_EQ(bench.timeline(1), (std::vector<std::string>{"B1", "B2", "B3", "B4"}));
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, WhoHasNoSlotWaitsWithAllItsRequests) {
  typename TestFixture::Bench bench(this->settings());
  bench.send("A1", 1, kSequenceStart);
  bench.send("B1", 2, kSequenceStart);
  bench.send("B2", 2, kSequenceEnd);
  bench.send("C1", 3, kBoth);
  bench.run();
  EXPECT_EQ(bench.timeline(), std::vector<std::string>{"A1"});
  bench.send("A2", 1, kSequenceEnd);
  bench.run();
  EXPECT_EQ(bench.timeline(), (std::vector<std::string>{"A1", "A2", "B1", "B2", "C1"}));
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, TheNextRequestGoesWhenTheLastOneIsReleased) {
  typename TestFixture::Bench bench(this->settings());
  bench.behavior.answer_later = true;
  bench.send("A1", 1, kSequenceStart);
  bench.send("A2", 1);
  bench.run();
  EXPECT_EQ(bench.timeline(), std::vector<std::string>{"A1"})
      << "execute() has returned, the request has not";
  EXPECT_EQ(bench.instances[0]->answer_held(), 1u);
  bench.run();
  EXPECT_EQ(bench.timeline(), (std::vector<std::string>{"A1", "A2"}));
  EXPECT_EQ(bench.instances[0]->answer_held(), 1u);
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, WhatCanNotBeTakenIsRefusedWithTheReason) {
  typename TestFixture::Bench bench(this->settings());
  EXPECT_EQ(bench.refusal("r", 0, kSequenceStart),
            "INVALID_ARGUMENT inference request to model 'test' must specify a non-zero or "
            "non-empty correlation ID");
  EXPECT_EQ(bench.refusal("r", 7),
            "INVALID_ARGUMENT inference request for sequence 7 to model 'test' must specify "
            "the START flag on the first request of the sequence");
  test::TestRequest& wide = bench.make("r", 7, kSequenceStart);
  wide->batch_size = 2;
  EXPECT_EQ(wide.enqueue(*bench.scheduler).text(),
            "inference request to model 'test' must specify batch-size 1 due "
            "to requirements of sequence batcher");
  bench.requests.clear();
  bench.send("A1", 7, kBoth);
  bench.run();
  EXPECT_TRUE(bench.refusal("r", 7).starts_with("INVALID_ARGUMENT")) << "it has ended";
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, ASequenceThatIsSilentForTooLongEnds) {
  typename TestFixture::Bench bench(this->settings("max_sequence_idle_microseconds: 1000"));
  bench.behavior.busy_ns = 5 * kNsPerMs;
  bench.send("A1", 1, kSequenceStart);
  bench.send("B1", 2, kBoth);
  bench.host.run_until(bench.host.clock().now_ns() + 6 * kNsPerMs - 2);
  EXPECT_EQ(bench.timeline(), std::vector<std::string>{"A1"}) << "what executes is not silent";
  bench.host.run_until_idle();
  EXPECT_EQ(bench.timeline(), (std::vector<std::string>{"A1", "B1"}));
  EXPECT_TRUE(bench.refusal("A2", 1).starts_with("INVALID_ARGUMENT"));
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, TheShortestTimeoutInTheBacklogEndsTheWholeSequence) {
  typename TestFixture::Bench bench(this->settings("max_sequence_idle_microseconds: 9000000"));
  bench.send("A1", 1, kSequenceStart);
  test::TestRequest& first = bench.make("B1", 2, kSequenceStart);
  ASSERT_TRUE(first.enqueue(*bench.scheduler).ok());
  test::TestRequest& second = bench.make("B2", 2);
  second->timeout_us = 500;
  ASSERT_TRUE(second.enqueue(*bench.scheduler).ok());
  bench.host.run_for(kNsPerMs);
  for (test::TestRequest* request : {&first, &second}) {
    ASSERT_TRUE(request->done());
    EXPECT_EQ(request->response().code, Code::kUnavailable);
    EXPECT_EQ(request->response().message, "timeout of the corresponding sequence has been expired");
  }
  EXPECT_TRUE(bench.refusal("B3", 2).starts_with("INVALID_ARGUMENT"));
  bench.send("A2", 1, kSequenceEnd);
  bench.run();
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, ACancelledRequestEndsItsSequence) {
  typename TestFixture::Bench bench(this->settings());
  bench.behavior.on_execute = [&](const Batch&) {
    bench.behavior.on_execute = {};
    bench.send("A2", 1).cancel();
    bench.host.run_ready();
    EXPECT_TRUE(bench.refusal("A3", 1).starts_with("INVALID_ARGUMENT"));
  };
  bench.send("A1", 1, kSequenceStart);
  test::TestRequest& behind = bench.send("B1", 2, kSequenceStart);
  bench.run();
  EXPECT_EQ(bench.timeline(), (std::vector<std::string>{"A1", "B1"}));
  EXPECT_TRUE(behind.done());
  EXPECT_EQ(bench.requests[2]->response().code, Code::kCancelled);
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, ACancelledRequestTakesThoseBehindItAlong) {
  typename TestFixture::Bench bench(this->settings());
  bench.behavior.on_execute = [&](const Batch&) {
    bench.behavior.on_execute = {};
    bench.send("A2", 1);
    bench.send("A3", 1);
    bench.requests[1]->cancel();
  };
  bench.send("A1", 1, kSequenceStart);
  bench.run();
  EXPECT_EQ(bench.timeline(), std::vector<std::string>{"A1"});
  for (size_t i : {1, 2}) EXPECT_EQ(bench.requests[i]->response().code, Code::kCancelled) << i;
  bench.send("B1", 2, kBoth);
  bench.run();
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, ALateRequestEndsItsSequenceWhenItsTurnComes) {
  typename TestFixture::Bench bench(this->settings());
  bench.behavior.busy_ns = kNsPerMs;
  bench.behavior.on_execute = [&](const Batch&) {
    bench.behavior.on_execute = {};
    test::TestRequest& late = bench.make("A2", 1);
    late->times.deadline_ns = bench.host.clock().now_ns() + 1;
    ASSERT_TRUE(late.enqueue(*bench.scheduler).ok());
    bench.send("A3", 1);
  };
  bench.send("A1", 1, kSequenceStart);
  bench.run();
  EXPECT_EQ(bench.timeline(), std::vector<std::string>{"A1"});
  for (size_t i : {1, 2}) EXPECT_EQ(bench.requests[i]->response().code, Code::kCancelled) << i;
  EXPECT_TRUE(bench.refusal("A4", 1).starts_with("INVALID_ARGUMENT"));
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, AFailedExecutionLeavesTheSequenceOpen) {
  typename TestFixture::Bench bench(this->settings());
  bench.behavior.fail_executes = 1;
  bench.send("A1", 1, kSequenceStart);
  bench.run();
  EXPECT_EQ(bench.requests[0]->response().code, Code::kInternal);
  bench.send("A2", 1, kSequenceEnd);
  bench.run();
  EXPECT_EQ(bench.timeline(), std::vector<std::string>{"A2"});
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, AnOpenSequenceMayBeginAgain) {
  typename TestFixture::Bench bench(this->settings());
  bench.send("A1", 1, kSequenceStart);
  bench.send("A2", 1, kSequenceStart);
  bench.send("A3", 1, kSequenceEnd);
  bench.run();
  EXPECT_EQ(bench.timeline(), (std::vector<std::string>{"A1", "A2", "A3"}));
  EXPECT_TRUE(bench.host.log().contains("sequence 1 is begun again before it has ended"));
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, WhileItStopsRunningSequencesGoOn) {
  typename TestFixture::Bench bench(this->settings());
  bench.send("A1", 1, kSequenceStart);
  bench.run();
  bench.scheduler->stop_accepting();
  EXPECT_EQ(bench.refusal("B1", 2, kSequenceStart),
            "UNAVAILABLE [request id: B1] Server is stopping, scheduler for model has stopped accepting new "
            "inference requests");
  bench.send("A2", 1);
  bench.send("A3", 1, kSequenceEnd);
  bench.run();
  test::TestRequest& step = bench.make("C1", 3, kSequenceStart | kSequenceEnd);
  step->call_flags = kIsStep;
  EXPECT_TRUE(step.enqueue(*bench.scheduler).ok()) << "what is being executed may wait for it";
  bench.run();
  EXPECT_EQ(bench.timeline(), (std::vector<std::string>{"A1", "A2", "A3", "C1"}));
  bench.scheduler->end_sequences();
  test::TestRequest late("D1");
  late->sequence.number = 4;
  late->sequence_flags = kSequenceStart;
  late->call_flags = kIsStep;
  EXPECT_EQ(late.enqueue(*bench.scheduler).code(), Code::kUnavailable);
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, NoMoreWaitThanTheQueueTakes) {
  SequenceBenchSettings settings = this->settings();
  settings.provider.queue_size_max = 2;
  typename TestFixture::Bench bench(settings);
  bench.send("A1", 1, kSequenceStart);
  bench.send("A2", 1);
  bench.send("A3", 1);
  EXPECT_EQ(bench.refusal("A4", 1), "UNAVAILABLE [request id: A4] Exceeds maximum queue size");
  bench.run();
  bench.send("A5", 1, kSequenceEnd);
  bench.run();
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, RequestsCanBeHeldUntilEnoughWait) {
  SequenceBenchSettings settings = this->settings();
  settings.provider.hold_until = 2;
  settings.provider.hold_until_backlog = 1;
  typename TestFixture::Bench bench(settings);
  bench.send("A1", 1, kSequenceStart);
  bench.send("A2", 1, kSequenceEnd);
  bench.run();
  EXPECT_TRUE(bench.timeline().empty()) << "nobody is in the backlog";
  bench.send("B1", 2, kBoth);
  bench.run();
  EXPECT_EQ(bench.timeline(), (std::vector<std::string>{"A1", "A2", "B1"}));
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, AnIterativeRequestIsExecutedUntilItsBackendIsDone) {
  typename TestFixture::Bench bench(this->settings("iterative_sequence: true", 4));
  std::map<std::string, int> steps = {{"A", 3}, {"B", 1}, {"C", 2}};
  std::vector<std::string> flags;
  bench.behavior.reschedules = [&](Request& request) {
    if ((request.call_flags & kShadow) != 0) return false;
    flags.push_back(cat(request.id, " ", request.sequence_flags));
    return --steps[std::string(request.id)] > 0;
  };
  for (std::string_view id : {"A", "B", "C"}) bench.send(id, 0);
  EXPECT_EQ(bench.requests[0]->request().sequence.number, 1u);
  EXPECT_EQ(bench.requests[1]->request().sequence.number, 2u) << "every request is a sequence of its own";
  bench.run();
  std::sort(flags.begin(), flags.end());
  EXPECT_EQ(flags, (std::vector<std::string>{"A 0", "A 0", "A 1", "B 1", "C 0", "C 1"}));
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, NewIterativeRequestsJoinThoseThatGoOn) {
  typename TestFixture::Bench bench(this->settings("iterative_sequence: true", 4));
  std::map<std::string, int> steps = {{"A", 4}, {"B", 2}};
  bench.behavior.reschedules = [&](Request& request) { return --steps[std::string(request.id)] > 0; };
  int executions = 0;
  bench.behavior.on_execute = [&](const Batch&) {
    if (++executions == 2) bench.send("B", 0);
  };
  bench.send("A", 0);
  bench.run();
  EXPECT_EQ(executions, 4) << "B takes part in the executions of A";
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, ACancelledIterativeRequestIsNotExecutedAgain) {
  typename TestFixture::Bench bench(this->settings("iterative_sequence: true"));
  bench.behavior.reschedules = [&](Request& request) {
    if (request.id == "A") bench.requests[0]->cancel();
    return request.id == "A";
  };
  bench.send("A", 0);
  bench.send("B", 0);
  bench.run();
  EXPECT_EQ(bench.timeline(), (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(bench.requests[0]->response().code, Code::kCancelled);
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, IdsThatAreMadeAndGivenDoNotMeet) {
  typename TestFixture::Bench bench(this->settings("iterative_sequence: true", 4));
  std::map<std::string, int> steps = {{"given", 3}, {"made", 3}, {"again", 2}};
  bench.behavior.reschedules = [&](Request& request) { return --steps[std::string(request.id)] > 0; };
  bench.send("given", 1, kSequenceStart);
  bench.send("made", 0);
  EXPECT_EQ(bench.requests[1]->request().sequence.number, 2u) << "1 is open";
  bench.send("again", 2, kSequenceStart);
  bench.run();
  std::string order;
  for (const std::string& batch : bench.timeline()) order += batch + " ";
  EXPECT_LT(order.rfind("made"), order.find("again")) << "requests of one id are never mixed: " << order;
  EXPECT_TRUE(bench.refusal("without", 9).starts_with("INVALID_ARGUMENT"));
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, OnlyIterativeModelsTakeRequestsBack) {
  typename TestFixture::Bench bench(this->settings());
  bench.behavior.reschedules = [](Request&) { return true; };
  bench.send("A1", 1, kBoth);
  bench.run();
  EXPECT_EQ(bench.timeline(), std::vector<std::string>{"A1"});
  bench.expect_all_done();
}

TYPED_TEST_P(SequenceBehavior, OperatorsSeeItsFigures) {
  typename TestFixture::Bench bench(this->settings("max_sequence_idle_microseconds: 1000000"));
  const auto value = [&](std::string_view family) {
    const auto& provider = static_cast<typename TypeParam::Provider&>(*bench.provider);
    return test::RecordedMetrics(provider).values().at(cat(family, "{model=test,version=1}"));
  };
  bench.send("A1", 1, kSequenceStart);
  bench.send("B1", 2, kSequenceStart);
  bench.host.run_for(250 * kNsPerMs);
  EXPECT_EQ(value("atoll_sequences_open"), 2);
  EXPECT_EQ(value("atoll_sequence_slots_in_use"), 1);
  EXPECT_EQ(value("atoll_sequence_backlog_length"), 1);
  EXPECT_DOUBLE_EQ(value("atoll_sequence_backlog_oldest_seconds"), 0.25);
  bench.host.run_until_idle();
  EXPECT_EQ(value("atoll_sequences_open"), 0);
  EXPECT_EQ(value("atoll_sequence_idle_ended_total"), 2);
  EXPECT_EQ(value("atoll_sequence_backlog_oldest_seconds"), 0);
}

REGISTER_TYPED_TEST_SUITE_P(
    SequenceBehavior, RequestsOfASequenceGoInOrderToOneInstance, WhoHasNoSlotWaitsWithAllItsRequests,
    TheNextRequestGoesWhenTheLastOneIsReleased, WhatCanNotBeTakenIsRefusedWithTheReason,
    ASequenceThatIsSilentForTooLongEnds, TheShortestTimeoutInTheBacklogEndsTheWholeSequence,
    ACancelledRequestEndsItsSequence, ACancelledRequestTakesThoseBehindItAlong,
    ALateRequestEndsItsSequenceWhenItsTurnComes, AFailedExecutionLeavesTheSequenceOpen,
    AnOpenSequenceMayBeginAgain, WhileItStopsRunningSequencesGoOn, NoMoreWaitThanTheQueueTakes,
    RequestsCanBeHeldUntilEnoughWait, AnIterativeRequestIsExecutedUntilItsBackendIsDone,
    NewIterativeRequestsJoinThoseThatGoOn, ACancelledIterativeRequestIsNotExecutedAgain,
    IdsThatAreMadeAndGivenDoNotMeet, OnlyIterativeModelsTakeRequestsBack, OperatorsSeeItsFigures);

}  // namespace atl::schedulers
