// The parts of an ensemble, each alone.
#include <gmock/gmock.h>

#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/testing/random.h"
#include "atoll/testing/recording_sink.h"
#include "schedulers/ensemble/block_pool.h"
#include "schedulers/ensemble/sequence_parameters.h"
#include "schedulers/ensemble/shapes.h"
#include "schedulers/ensemble/tensor_memory.h"
#include "schedulers/ensemble/tensor_values.h"

namespace atl::ensemble {
namespace {

using ::testing::ElementsAre;

// --- BlockPool ---

TEST(BlockPoolTest, ABlockIsUsedAgainForItsSize) {
  BlockPool pool(1 << 20);
  void* block = pool.take(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % BlockPool::kAlignment, 0u);
  std::memset(block, 1, 1000);
  pool.give_back(block, 1000);
  EXPECT_EQ(pool.kept_bytes(), 1024u);
  void* again = pool.take(900);
  EXPECT_EQ(again, block) << "of the same size class, 897 to 1024 bytes";
  EXPECT_EQ(pool.kept_bytes(), 0u);
  pool.give_back(again, 900);
}

TEST(BlockPoolTest, ABlockIsAtMostAQuarterLarger) {
  BlockPool pool(uint64_t{1} << 40);
  for (uint64_t size = 65; size < (uint64_t{1} << 20); size += size / 13) {
    void* block = pool.take(size);
    pool.give_back(block, size);
    EXPECT_GE(pool.kept_bytes(), size);
    EXPECT_LE(pool.kept_bytes(), size + size / 4 + 1) << size;
    EXPECT_EQ(pool.take(size), block);
    std::free(block);  // the pool has forgotten it
  }
}

TEST(BlockPoolTest, WhatNobodyTakesGivesWay) {
  BlockPool pool(1 << 20);
  std::vector<void*> small;
  for (int i = 0; i < 1024; ++i) small.push_back(pool.take(1024));
  for (void* block : small) pool.give_back(block, 1024);
  EXPECT_EQ(pool.kept_bytes(), uint64_t{1} << 20);
  void* large = pool.take(512 << 10);
  pool.give_back(large, 512 << 10);
  EXPECT_LE(pool.kept_bytes(), uint64_t{1} << 20);
  EXPECT_EQ(pool.take(512 << 10), large) << "it is kept, and half of the small ones are gone";
  pool.give_back(large, 512 << 10);
}

TEST(BlockPoolTest, KeepsNoMoreThanItMay) {
  BlockPool none(0);
  none.give_back(none.take(100), 100);
  EXPECT_EQ(none.kept_bytes(), 0u);
  BlockPool little(1000);
  little.give_back(little.take(2000), 2000);
  EXPECT_EQ(little.kept_bytes(), 0u);
}

TEST(BlockPoolTest, SizesThatThereAreNot) {
  BlockPool pool(1 << 20);
  EXPECT_EQ(pool.take(UINT64_MAX), nullptr);
  EXPECT_EQ(pool.take(UINT64_MAX / 2), nullptr);
  void* none = pool.take(0);
  EXPECT_NE(none, nullptr);
  pool.give_back(none, 0);
}

TEST(BlockPoolTest, ThreadsGetBlocksOfTheirOwn) {
  BlockPool pool(1 << 20);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      test::Random random(t);
      for (int i = 0; i < 20000; ++i) {
        const uint64_t size = 1 + random.below(40000);
        auto* block = static_cast<uint64_t*>(pool.take(size + sizeof(uint64_t)));
        *block = t;
        std::this_thread::yield();
        EXPECT_EQ(*block, t);
        pool.give_back(block, size + sizeof(uint64_t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool.kept_bytes(), uint64_t{1} << 20);
}

// --- TensorMemory ---

class TensorMemoryTest : public ::testing::Test {
 protected:
  Status allocate(OutputTensor& output, uint64_t size, MemoryKind kind = MemoryKind::kCpu) {
    output.name = "OUT";
    return memory_.allocate(output, size, kind, 0);
  }
  BlockPool pool_{1 << 20};
  schedulers::StateMemory others_;
  TensorMemory memory_{pool_, others_, 1000};
};

TEST_F(TensorMemoryTest, HasALimit) {
  OutputTensor first, second;
  ASSERT_TRUE(allocate(first, 600).ok());
  EXPECT_EQ(first.sink_data % 2, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.buffer.data) % BlockPool::kAlignment, 0u);
  const Status refused = allocate(second, 401);
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_EQ(
      refused.message(),
      "output 'OUT' takes 401 bytes, the tensors between the steps of the ensemble take 600 bytes, and the "
      "limit of both is 1000 bytes (option 'tensor_memory')");
  ASSERT_TRUE(allocate(second, 400).ok());
  EXPECT_EQ(memory_.used_bytes(), 1000u);
  first.buffer.size_bytes = 1;  // as backends make it smaller
  EXPECT_EQ(memory_.free(first), 600u);
  EXPECT_EQ(memory_.free(first), 0u) << "once";
  EXPECT_EQ(memory_.free(second), 400u);
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(TensorMemoryTest, IsOfTheCpuWhereNobodyHasTheOtherKind) {
  OutputTensor output;
  ASSERT_TRUE(allocate(output, 100, MemoryKind::kGpu).ok());
  EXPECT_EQ(output.buffer.kind, MemoryKind::kCpu);
  EXPECT_EQ(memory_.free(output), 100u);
}

TEST_F(TensorMemoryTest, ThatThereIsNotIsAnError) {
  TensorMemory unlimited(pool_, others_, 0);
  OutputTensor output;
  output.name = "OUT";
  for (const uint64_t size : {UINT64_MAX, UINT64_MAX / 2}) {
    const Status refused = unlimited.allocate(output, size, MemoryKind::kCpu, 0);
    EXPECT_EQ(refused.code(), Code::kResourceExhausted);
    EXPECT_EQ(refused.message(), cat("no memory for the ", size, " bytes of output 'OUT'"));
    EXPECT_EQ(unlimited.used_bytes(), 0u);
  }
}

// --- shapes ---

class ShapesTest : public ::testing::Test {
 protected:
  std::vector<int64_t> shape(std::vector<int64_t> shape, bool batched, bool reader_batches,
                             std::vector<int64_t> dims) {
    const auto read = shape_for(shape, batched, reader_batches, dims, arena_);
    return {read.begin(), read.end()};
  }
  Arena arena_;
};

TEST_F(ShapesTest, StaysWhereBothBatchOrNeither) {
  EXPECT_THAT(shape({2, 3}, true, true, {9}), ElementsAre(2, 3));
  EXPECT_THAT(shape({2, 3}, false, false, {9}), ElementsAre(2, 3));
}

TEST_F(ShapesTest, ABatchOfOneIsReadAsNone) {
  EXPECT_THAT(shape({1, 3}, true, false, {3}), ElementsAre(3));
  EXPECT_THAT(shape({1, 3}, true, false, {-1, 3}), ElementsAre(1, 3)) << "it fits as it is";
  EXPECT_THAT(shape({2, 3}, true, false, {3}), ElementsAre(2, 3)) << "the member says what is wrong";
}

TEST_F(ShapesTest, WithoutABatchItIsReadAsOne) {
  EXPECT_THAT(shape({3}, false, true, {3}), ElementsAre(1, 3));
  EXPECT_THAT(shape({3}, false, true, {-1}), ElementsAre(1, 3));
  EXPECT_THAT(shape({2, 3}, false, true, {3}), ElementsAre(2, 3)) << "its first dimension is the batch";
  EXPECT_THAT(shape({}, false, true, {}), ElementsAre(1));
}

// --- TensorValues ---

TEST(TensorValuesTest, AreThereFromAddToDrop) {
  TensorValues values;
  EXPECT_EQ(values.find(0), nullptr);
  EXPECT_EQ(values.find(5), nullptr);
  values.add(0).uses = 1;
  for (uint64_t iteration = 1; iteration < 10; ++iteration) values.add(iteration).uses = 10;
  EXPECT_EQ(values.find(0)->uses, 1u);
  EXPECT_EQ(values.find(9)->uses, 10u);
  EXPECT_EQ(values.find(10), nullptr);
  for (const uint64_t iteration : {3, 1, 2, 0}) {
    values.drop(iteration);
    EXPECT_EQ(values.find(iteration), nullptr);
  }
  EXPECT_NE(values.find(4), nullptr);
  std::set<Value*> here;
  values.for_each([&](Value& value) { here.insert(&value); });
  EXPECT_EQ(here.size(), 6u);
  values.clear();
  for (uint64_t iteration = 0; iteration < 10; ++iteration) EXPECT_EQ(values.find(iteration), nullptr);
  values.add(0);
  values.add(1);
  EXPECT_NE(values.find(1), nullptr) << "a new request";
}

TEST(TensorValuesTest, MayComeInAnyOrder) {
  TensorValues values;
  values.add(3);
  EXPECT_EQ(values.find(1), nullptr);
  EXPECT_NE(values.find(3), nullptr);
  values.drop(3);
  values.add(1);
  EXPECT_NE(values.find(1), nullptr);
  EXPECT_EQ(values.find(3), nullptr);
}

// --- sequence parameters ---

class SequenceParametersTest : public ::testing::Test {
 protected:
  Parameter& add(std::string_view key, ParameterType type) {
    Parameter& parameter = response_.parameters.add(response_.arena());
    parameter.key = key;
    parameter.type = type;
    return parameter;
  }
  Response response_;
  SequenceFields fields_{{7, {}}, kSequenceStart, false};
};

TEST_F(SequenceParametersTest, OfAResponseTakeThePlaceOfTheRequests) {
  add("sequence_id", ParameterType::kInt).int_value = 42;
  add("sequence_end", ParameterType::kBool).bool_value = true;
  override_sequence(response_, &fields_);
  EXPECT_TRUE(fields_.overridden);
  EXPECT_EQ(fields_.id.number, 42u);
  EXPECT_EQ(fields_.flags, static_cast<uint32_t>(kSequenceStart | kSequenceEnd)) << "what is not said stays";
}

TEST_F(SequenceParametersTest, MayBeATextAndMayTakeAFlagAway) {
  add("sequence_id", ParameterType::kString).text = "mine";
  add("sequence_start", ParameterType::kBool).bool_value = false;
  override_sequence(response_, &fields_);
  EXPECT_EQ(fields_.id.text, "mine");
  EXPECT_EQ(fields_.flags, 0u);
}

TEST_F(SequenceParametersTest, OfOtherTypesMeanNothing) {
  add("sequence_id", ParameterType::kBool).bool_value = true;
  add("sequence_start", ParameterType::kInt).int_value = 0;
  add("other", ParameterType::kInt).int_value = 1;
  override_sequence(response_, &fields_);
  EXPECT_FALSE(fields_.overridden);
  EXPECT_EQ(fields_.id.number, 7u);
  EXPECT_EQ(fields_.flags, static_cast<uint32_t>(kSequenceStart));
}

TEST_F(SequenceParametersTest, AreToldInEachResponse) {
  add_sequence_parameters(fields_, response_);
  ASSERT_EQ(response_.parameters.size(), 3u);
  EXPECT_EQ(response_.parameters[0].key, "sequence_id");
  EXPECT_EQ(response_.parameters[0].int_value, 7);
  EXPECT_TRUE(response_.parameters[1].bool_value);
  EXPECT_FALSE(response_.parameters[2].bool_value);
  Response other;
  add_sequence_parameters({{0, "text"}, kSequenceEnd, false}, other);
  EXPECT_EQ(other.parameters[0].text, "text");
  EXPECT_TRUE(other.parameters[2].bool_value);
}

}  // namespace
}  // namespace atl::ensemble
