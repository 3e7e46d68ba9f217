#include "schedulers/common/testing/sequence_behavior.h"
#include "schedulers/sequence_oldest/oldest_provider.h"

namespace atl::schedulers {
namespace {

struct OldestTraits {
  using Provider = OldestProvider;
  static std::string strategy() { return "oldest { }"; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Oldest, SequenceBehavior, OldestTraits);

using OldestBench = SequenceBench<OldestProvider>;
using Timeline = std::vector<std::string>;

SequenceBenchSettings settings(std::string batching, uint32_t max_batch_size = 2, uint32_t instances = 1) {
  SequenceBenchSettings made;
  made.instances = instances;
  made.max_batch_size = max_batch_size;
  made.batching = std::move(batching);
  return made;
}

/// One instance that works on up to four sequences and prefers batches of two. Requests of A, B, C and D come at
/// the same rate, A first; D has more of them.
TEST(OldestScheduler, BatchesAreFormedOfTheOldestOfEachSequence) {
  OldestBench bench(
      settings("oldest { max_candidate_sequences: 4 preferred_batch_size: [ 2 ] "
               "max_queue_delay_microseconds: 100 }"));
  bench.behavior.busy_ns = kNsPerMs;
  for (int step = 1; step <= 4; ++step) {
    const std::string_view names = step <= 2 ? "ABCD" : "D";
    for (char name : names) {
      const bool ends = step == (name == 'D' ? 4 : 2);
      bench.send(cat(std::string(1, name), step), static_cast<uint64_t>(name),
                 (step == 1 ? kSequenceStart : 0u) | (ends ? kSequenceEnd : 0u));
    }
  }
  bench.host.run_until_idle();
  EXPECT_EQ(bench.timeline(), (Timeline{"A1 B1", "C1 D1", "A2 B2", "C2 D2", "D3", "D4"}))
      << "the last two of D are not in one batch";
  bench.expect_all_done();
}

TEST(OldestScheduler, MoreSequencesThanABatchHoldsTakeTurns) {
  OldestBench bench(settings("oldest { max_candidate_sequences: 3 }"));
  bench.behavior.answer_later = true;
  bench.send("A1", 1, kSequenceStart);
  for (int step = 2; step <= 3; ++step) bench.send(cat("A", step), 1);
  for (int step = 1; step <= 2; ++step) bench.send(cat("B", step), 2, step == 1 ? kSequenceStart : 0u);
  for (int step = 1; step <= 2; ++step) bench.send(cat("C", step), 3, step == 1 ? kSequenceStart : 0u);
  bench.send("D1", 4, kBoth);
  bench.behavior.answer_later = false;
  bench.run();
  EXPECT_EQ(bench.timeline(), (Timeline{"A1", "B1 C1", "A2 B2", "C2 A3"})) << "D is in the backlog";
  bench.send("A4", 1, kSequenceEnd);
  bench.run();
  EXPECT_EQ(bench.timeline().back(), "D1");
  bench.expect_all_done();
}

TEST(OldestScheduler, ResponsesKeepTheOrderOfTheirRequests) {
  OldestBench bench(settings("oldest { preserve_ordering: true }", 1, 2));
  bench.behavior.answer_later = true;
  test::TestRequest& first = bench.send("A1", 1, kBoth);
  test::TestRequest& second = bench.send("B1", 2, kBoth);
  bench.run();
  EXPECT_EQ(bench.instances[1]->answer_held(), 1u);
  bench.run();
  EXPECT_FALSE(second.done()) << "the first one is not answered";
  EXPECT_EQ(bench.instances[0]->answer_held(), 1u);
  EXPECT_TRUE(first.done());
  EXPECT_TRUE(second.done());
  bench.run();
  bench.expect_all_done();
}

TEST(OldestScheduler, ADelayIsThatOfTheRequestAtTheFrontOfItsSequence) {
  OldestBench bench(settings("oldest { max_queue_delay_microseconds: 1000 }", 4));
  const int64_t start_ns = bench.host.clock().now_ns();
  bench.send("A1", 1, kSequenceStart);
  bench.send("A2", 1, kSequenceEnd);
  bench.host.run_until(start_ns + kNsPerMs - 1);
  EXPECT_TRUE(bench.timeline().empty());
  bench.host.run_until(start_ns + kNsPerMs);
  EXPECT_EQ(bench.timeline(), Timeline{"A1"});
  bench.host.run_until(start_ns + 2 * kNsPerMs - 1);
  EXPECT_EQ(bench.timeline(), Timeline{"A1"}) << "A2 waits from when it could go on";
  bench.host.run_until_idle();
  EXPECT_EQ(bench.timeline(), (Timeline{"A1", "A2"}));
  bench.expect_all_done();
}

}  // namespace
}  // namespace atl::schedulers
