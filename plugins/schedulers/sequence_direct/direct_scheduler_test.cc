#include <gmock/gmock.h>

#include "schedulers/common/testing/sequence_behavior.h"
#include "schedulers/sequence_direct/direct_provider.h"

namespace atl::schedulers {
namespace {

struct DirectTraits {
  using Provider = DirectProvider;
  static std::string strategy() { return "direct { }"; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Direct, SequenceBehavior, DirectTraits);

using DirectBench = SequenceBench<DirectProvider>;
using Timeline = std::vector<std::string>;

constexpr std::string_view kControls =
    "control_input { name: 'START' control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } } "
    "control_input { name: 'END' control { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] } } "
    "control_input { name: 'READY' control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } } "
    "control_input { name: 'CORRID' control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT32 } } ";

SequenceBenchSettings settings(std::string batching, uint32_t instances = 1, uint32_t max_batch_size = 2) {
  SequenceBenchSettings made;
  made.instances = instances;
  made.max_batch_size = max_batch_size;
  made.batching = std::move(batching);
  return made;
}

/// "START: 1 0 READY: 1 1", the values of two controls in each batch.
class Controls {
 public:
  explicit Controls(DirectBench& bench) {
    bench.behavior.on_execute = [this](const Batch& batch) {
      std::string text;
      for (std::string_view name : {"START", "READY"}) {
        text += cat(text.empty() ? "" : " ", name, ":");
        for (const Request* request : batch.requests) text += cat(" ", control_value(*request, name));
      }
      batches.push_back(std::move(text));
    };
  }
  Timeline batches;
};

/// Two instances with two rows each and six sequences: who gets which row, and what is executed in which batch.
TEST(DirectScheduler, SequencesHaveRowsOfTheirOwnAndFollowEachOtherThere) {
  DirectBench bench(settings(std::string(kControls), 2));
  bench.behavior.busy_ns = kNsPerMs;
  for (uint64_t sequence = 0; sequence < 6; ++sequence)
    bench.send(cat(sequence, ".1"), sequence + 1, kSequenceStart | (sequence == 5 ? kSequenceEnd : 0u));
  bench.run();
  const Timeline first = {"0.1", "- 2.1"}, second = {"1.1", "- 3.1"};
  EXPECT_EQ(bench.timeline(0), first);
  EXPECT_EQ(bench.timeline(1), second) << "sequences 4 and 5 are in the backlog";

  bench.send("0.2", 1);
  bench.send("1.2", 2, kSequenceEnd);
  bench.send("2.2", 3);
  bench.send("3.2", 4, kSequenceEnd);
  bench.send("4.2", 5, kSequenceEnd);
  bench.run();
  EXPECT_EQ(bench.timeline(0), (Timeline{"0.1", "- 2.1", "0.2", "- 2.2"}));
  EXPECT_EQ(bench.timeline(1), (Timeline{"1.1", "- 3.1", "1.2", "4.1 3.2", "4.2 5.1"}))
      << "4 takes the row of 1 when that has ended, and 5 that of 3";

  bench.send("0.3", 1, kSequenceEnd);
  bench.send("2.3", 3, kSequenceEnd);
  bench.run();
  EXPECT_EQ(bench.timeline(0), (Timeline{"0.1", "- 2.1", "0.2", "- 2.2", "0.3", "- 2.3"}));
  bench.expect_all_done();
}

/// One row that is running, and two sequences that wait for it.
TEST(DirectScheduler, SequencesThatWaitForASlotAreDescribedAndCancelledWhole) {
  DirectBench bench(settings(std::string(kControls), 1, 1));
  bool first = true;
  bench.behavior.on_execute = [&](const Batch&) {
    if (!std::exchange(first, false)) return;
    bench.send("A2", 1);
    EXPECT_EQ(bench.scheduler->describe_queue().waits_for, QueueWait::kInstance) << "behind A1";
    EXPECT_EQ(bench.scheduler->cancel_waiting(0, 10), 0u) << "its sequence executes";
    for (const char* id : {"B1", "B2"}) bench.send(id, 2, id[1] == '1' ? kSequenceStart : kSequenceEnd);
    bench.send("C1", 3, kSequenceStart | kSequenceEnd);
    const QueueDescription found = bench.scheduler->describe_queue();
    EXPECT_EQ(found.waits_for, QueueWait::kSlot);
    EXPECT_EQ(found.requests, 4u);
    EXPECT_EQ(found.sampled_requests, 3u);
    EXPECT_EQ(found.sampled_bytes, 3 * sizeof(float));
    EXPECT_EQ(bench.scheduler->cancel_waiting(0, 1), 2u) << "B ends as a whole";
    EXPECT_EQ(bench.scheduler->describe_queue().requests, 2u);
    EXPECT_TRUE(bench.scheduler->set_draining(true));
  };
  bench.send("A1", 1, kSequenceStart);
  bench.run();
  EXPECT_EQ(bench.timeline(0), (Timeline{"A1", "A2"}));
  // Open sequences go on, and others do not begin.
  EXPECT_THAT(bench.refusal("D1", 4, kSequenceStart), ::testing::HasSubstr("drains this model"));
  bench.send("A3", 1, kSequenceEnd);
  bench.run();
  EXPECT_TRUE(bench.scheduler->set_draining(false));
  bench.send("D1", 4, kSequenceStart | kSequenceEnd);
  bench.run();
  EXPECT_EQ(bench.timeline(0), (Timeline{"A1", "A2", "A3", "C1", "D1"}));
  bench.expect_all_done();
}

/// What a model of two rows sees of START and READY as requests come.
TEST(DirectScheduler, ControlsTellWhichRowsBeginAndWhichHaveARequest) {
  DirectBench bench(settings(std::string(kControls)));
  Controls controls(bench);
  bench.send("A1", 1, kSequenceStart);
  bench.run();
  // While the instance is held up, more than one comes.
  bench.behavior.answer_later = true;
  bench.send("A2", 1);
  bench.run();
  bench.send("A3", 1);
  bench.send("B1", 2, kSequenceStart);
  EXPECT_EQ(bench.instances[0]->answer_held(), 1u);
  bench.behavior.answer_later = false;
  bench.run();
  bench.send("B2", 2);
  bench.run();
  EXPECT_EQ(bench.timeline(), (Timeline{"A1", "A2", "A3 B1", "- B2"}));
  EXPECT_EQ(controls.batches, (Timeline{"START: 1 READY: 1", "START: 0 READY: 1", "START: 0 1 READY: 1 1",
                                        "START: 0 0 READY: 0 1"}));
  bench.instances[0]->answer_held();
  bench.run();
  bench.expect_all_done();
}

TEST(DirectScheduler, ARowWithoutARequestHasZerosForEverything) {
  DirectBench bench(settings(std::string(kControls)));
  bench.send("A1", 1, kSequenceStart);
  bench.run();
  bool seen = false;
  bench.behavior.on_execute = [&](const Batch& batch) {
    if (batch.requests.size() != 2) return;
    const Request& row = *batch.requests[0];
    const Request& real = *batch.requests[1];
    EXPECT_EQ(control_value(real, "END"), 1);
    EXPECT_EQ(control_value(real, "CORRID"), 2);
    for (std::string_view name : {"START", "END", "READY", "CORRID"}) EXPECT_EQ(control_value(row, name), 0);
    const InputTensor& input = *row.find_input("INPUT0");
    EXPECT_EQ(input.size_bytes, sizeof(float));
    float value = 1;
    std::memcpy(&value, input.buffers[0].data, sizeof value);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(std::vector<int64_t>(input.shape.begin(), input.shape.end()), (std::vector<int64_t>{1, 1}));
    EXPECT_TRUE(row.outputs.empty());
    EXPECT_EQ(row.batch_size, 1u);
    EXPECT_NE(row.call_flags & kShadow, 0u);
    seen = true;
  };
  bench.send("B1", 2, kSequenceStart | kSequenceEnd);
  bench.run();
  EXPECT_TRUE(seen);
  bench.expect_all_done();
}

// Without a READY control a model cannot tell such a row from a request.
TEST(DirectScheduler, ARowWithoutARequestMayBeRescheduledByAnIterativeModel) {
  DirectBench bench(settings("direct { } iterative_sequence: true"));
  int steps = 0, refused = 0;
  bench.behavior.reschedules = [&](Request& request) {
    return (request.call_flags & kShadow) != 0 || (request.id == "B" && ++steps < 3);
  };
  bench.behavior.respond = [&](Request& request) {
    refused += (request.call_flags & kShadow) != 0;
    test::answer_identity(request);
  };
  bench.send("A", 1, kSequenceStart);
  bench.send("B", 2, kSequenceStart);
  bench.run();
  EXPECT_THAT(bench.timeline(), ::testing::Contains("- B"));
  EXPECT_EQ(refused, 0);
  bench.expect_all_done();
}

TEST(DirectScheduler, ADelayEndsWhenEnoughRowsAreReady) {
  DirectBench bench(
      settings("direct { max_queue_delay_microseconds: 1000 minimum_slot_utilization: 0.75 } "
               "max_sequence_idle_microseconds: 90000000",
               1, 4));
  const int64_t start_ns = bench.host.clock().now_ns();
  bench.send("A1", 1, kSequenceStart);
  bench.send("B1", 2, kSequenceStart);
  bench.host.run_ready();
  EXPECT_TRUE(bench.timeline().empty()) << "two of four rows";
  bench.send("C1", 3, kSequenceStart);
  bench.host.run_ready();
  EXPECT_EQ(bench.timeline(), Timeline{"A1 B1 C1"});
  bench.send("B2", 2);
  bench.host.run_until(start_ns + kNsPerMs);
  EXPECT_EQ(bench.timeline().size(), 1u);
  bench.host.run_until(start_ns + kNsPerMs + 1);
  EXPECT_EQ(bench.timeline(), (Timeline{"A1 B1 C1", "- B2"}));
  bench.run();
  bench.expect_all_done();
}

TEST(DirectScheduler, RowsOfOtherShapesGoLaterAndAreNotForgotten) {
  SequenceBenchSettings variable = settings("", 1, 3);
  variable.model = "input { name: 'INPUT0' data_type: TYPE_FP32 dims: -1 }";
  DirectBench bench(variable);
  int steps = 1;
  bench.behavior.on_execute = [&](const Batch&) {
    if (++steps <= 4) bench.send(cat("A", steps), 1, 0, 2);  // the lowest row has always one of its shape
  };
  bench.behavior.answer_later = true;
  bench.send("A1", 1, kSequenceStart, 2);
  bench.run();
  bench.send("B1", 2, kSequenceStart, 3);
  bench.send("C1", 3, kSequenceStart, 2);
  bench.behavior.answer_later = false;
  EXPECT_EQ(bench.instances[0]->answer_held(), 1u);
  bench.run();
  EXPECT_EQ(bench.timeline(), (Timeline{"A1", "- B1", "A2 - C1", "A3", "A4"}));
  bench.expect_all_done();
}

}  // namespace
}  // namespace atl::schedulers
