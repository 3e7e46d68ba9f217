#include "schedulers/common/state/null_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedulers/common/testing/state_bench.h"

namespace atl::schedulers {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class NullStateTest : public StateBench {
 protected:
  void make_variable() {
    make({state_tensor("I", "O", DataType::kInt32, {-1}, {1}),
          state_tensor("T", "U", DataType::kBytes, {-1}, {2})});
    sequence = states->make();
    ASSERT_TRUE(sequence->begin().ok());
  }
  void TearDown() override { sequence.reset(); }
  ImplicitStatePtr sequence;
};

TEST_F(NullStateTest, ARowLooksLikeTheOthers) {
  make_variable();
  step(*sequence, {1, 2, 3});
  Request reference, row;
  sequence->attach(reference);
  NullState null(*states);
  null.begin_batch();
  ASSERT_TRUE(null.attach_like(row, reference).ok());
  EXPECT_EQ(row.state, &null);
  EXPECT_THAT(read(row), ElementsAre(0, 0, 0));
  EXPECT_THAT(shape_in(row, "T"), ElementsAre(2));
  EXPECT_EQ(text_in(row.find_input("T")->buffers[0]), std::string(8, '\0'));
  EXPECT_EQ(row.inputs[0].flags, InputTensor::kAddedByScheduler);
}

TEST_F(NullStateTest, WhatIsCommittedIsThrownAway) {
  make_variable();
  Request reference;
  sequence->attach(reference);
  NullState null(*states);
  for (int batch = 0; batch < 3; ++batch) {
    null.begin_batch();
    Request rows[3];
    for (Request& row : rows) ASSERT_TRUE(null.attach_like(row, reference).ok());
    for (int i = 0; i < 3; ++i) {
      write(null, {7, 8});
      EXPECT_TRUE(null.commit("O").ok());
    }
    for (Request& row : rows) EXPECT_THAT(read(row), ElementsAre(0));
  }
  EXPECT_THAT(value(*sequence), ElementsAre(0)) << "nobody else's is touched";
}

TEST_F(NullStateTest, BackendsAreHeldToTheSameRules) {
  make_variable();
  NullState null(*states);
  null.begin_batch();
  Buffer buffer;
  const int64_t shape[] = {1};
  EXPECT_EQ(null.output("X", DataType::kInt32, shape, 4, MemoryKind::kCpu, 0, &buffer).message(),
            "state 'X' is not a valid state name.");
  EXPECT_EQ(null.output("O", DataType::kInt32, shape, 8, MemoryKind::kCpu, 0, &buffer).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(null.commit("O").code(), Code::kInvalidArgument);
  EXPECT_EQ(null.commit("X").message(), "state 'X' is not a valid state name.");
}

TEST_F(NullStateTest, MemoryIsKeptAndBounded) {
  make_one({-1}, {1});
  provide("cpu", cpu);
  sequence = states->make();
  ASSERT_TRUE(sequence->begin().ok());
  NullState null(*states);
  auto batch = [&](size_t size) {
    step(*sequence, std::vector<int32_t>(size, 1));
    Request reference;
    sequence->attach(reference);
    null.begin_batch();
    Request rows[4];
    for (Request& row : rows) {
      ASSERT_TRUE(null.attach_like(row, reference).ok());
      EXPECT_THAT(read(row), SizeIs(size));
      EXPECT_THAT(read(row), Each(0));
      write(null, std::vector<int32_t>(size, 2));
    }
  };
  batch(1000);
  batch(1000);
  EXPECT_EQ(null.bytes_held(), 8000u) << "one for all rows";
  const uint64_t allocations = cpu.allocations();
  for (int i = 0; i < 10; ++i) batch(1000);
  EXPECT_EQ(cpu.allocations(), allocations);
  for (size_t size : {2000, 4000, 8000, 10, 10}) batch(size);
  EXPECT_EQ(null.bytes_held(), 80u);
  cpu.set_limit(1);
  Request reference, row;
  step(*sequence, {1});
  null.begin_batch();
  null.begin_batch();
  sequence->attach(reference);
  EXPECT_EQ(null.attach_like(row, reference).code(), Code::kResourceExhausted);
}

TEST_F(NullStateTest, WhatIsLargeIsNotKeptUntilTheNextBatch) {
  make_one({-1}, {1});
  provide("cpu", cpu);
  sequence = states->make();
  ASSERT_TRUE(sequence->begin().ok());
  NullState null(*states);
  auto batch = [&](size_t size) {
    step(*sequence, std::vector<int32_t>(size, 1));
    Request reference, row;
    sequence->attach(reference);
    null.begin_batch();
    ASSERT_TRUE(null.attach_like(row, reference).ok());
    write(null, std::vector<int32_t>(size, 2));
  };
  batch(1 << 20);
  EXPECT_EQ(null.bytes_held(), uint64_t{8} << 20);
  EXPECT_THAT(null.end_batch(), SizeIs(2));
  EXPECT_EQ(null.bytes_held(), 0u);
  batch(1000);
  EXPECT_THAT(null.end_batch(), SizeIs(0)) << "what is small is kept";
  EXPECT_EQ(null.bytes_held(), 8000u);
}

TEST_F(NullStateTest, ARowThatIsLargerThanTheOneBeforeLeavesThatItsMemory) {
  make_one({-1}, {1});
  NullState null(*states);
  null.begin_batch();
  const Buffer small = write(null, {1});
  const Buffer large = write(null, std::vector<int32_t>(1000, 1));
  EXPECT_NE(small.data, large.data);
  std::memset(small.data, 0, small.size_bytes);
  null.begin_batch();
  EXPECT_EQ(null.bytes_held(), 4000u);
}

}  // namespace
}  // namespace atl::schedulers
