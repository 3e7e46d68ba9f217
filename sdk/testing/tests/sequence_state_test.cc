/// FakeSequenceState finds what a backend does wrong, and keeps what it does right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "atoll/testing/fake_sequence_state.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/tensor_bytes.h"

namespace atl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Shape = std::vector<int64_t>;

class SequenceStateTest : public ::testing::Test {
 protected:
  SequenceStateTest() {
    state.add("IN", "OUT", {DataType::kInt32, {2}, bytes_of<int32_t>({1, 2})});
    state.add("TEXT_IN", "TEXT_OUT", {DataType::kBytes, {1}, encode_bytes_tensor({"a"})});
  }
  Status ask(std::string_view name, DataType datatype, const Shape& shape, uint64_t size_bytes,
             MemoryKind kind = MemoryKind::kCpu) {
    return state.output(name, datatype, shape, size_bytes, kind, 0, &buffer);
  }

  FakeSequenceState state;
  Buffer buffer;
};

TEST_F(SequenceStateTest, GivesTheNextRequestWhatWasCommitted) {
  Request request;
  state.attach(request);
  EXPECT_EQ(request.state, &state);
  EXPECT_EQ(input_bytes(*request.find_input("IN")), bytes_of<int32_t>({1, 2}));
  EXPECT_EQ(input_bytes(*request.find_input("TEXT_IN")), encode_bytes_tensor({"a"}));
  ASSERT_TRUE(ask("OUT", DataType::kInt32, {3}, 12).ok());
  std::memcpy(buffer.data, bytes_of<int32_t>({4, 5, 6}).data(), 12);
  ASSERT_TRUE(state.commit("OUT").ok());
  EXPECT_EQ(state.commits("OUT"), 1u);
  EXPECT_EQ(state.commits("TEXT_OUT"), 0u);
  EXPECT_EQ(state.value("OUT").shape, Shape{3});
  state.attach(request);
  EXPECT_EQ(request.inputs.size(), 2u) << "in place of those of before";
  EXPECT_EQ(input_bytes(*request.find_input("IN")), bytes_of<int32_t>({4, 5, 6}));
  EXPECT_EQ(request.find_input("IN")->shape[0], 3);
  EXPECT_THAT(state.problems(), IsEmpty());
}

TEST_F(SequenceStateTest, WhatIsNotCommittedIsForgotten) {
  Request request;
  ASSERT_TRUE(ask("OUT", DataType::kInt32, {2}, 8).ok());
  state.attach(request);
  EXPECT_EQ(state.value("OUT").bytes, bytes_of<int32_t>({1, 2}));
  EXPECT_EQ(state.commit("OUT").code(), Code::kInvalidArgument);
}

TEST_F(SequenceStateTest, BreachesAreRefusedAndListed) {
  EXPECT_EQ(ask("IN", DataType::kInt32, {2}, 8).message(), "state 'IN' is not a valid state name.");
  EXPECT_EQ(state.commit("X").code(), Code::kInvalidArgument);
  EXPECT_EQ(ask("OUT", DataType::kFp32, {2}, 8).code(), Code::kInvalidArgument);
  EXPECT_EQ(ask("OUT", DataType::kInt32, {2}, 7).code(), Code::kInvalidArgument);
  EXPECT_EQ(ask("OUT", DataType::kInt32, {-1}, 4).code(), Code::kInvalidArgument);
  EXPECT_EQ(state.commit("OUT").code(), Code::kInvalidArgument);
  EXPECT_EQ(state.problems().size(), 6u);
}

TEST_F(SequenceStateTest, BytesAroundABufferAreLookedAt) {
  ASSERT_TRUE(ask("OUT", DataType::kInt32, {2}, 8).ok());
  static_cast<char*>(buffer.data)[8] = 1;
  EXPECT_THAT(state.problems(), ElementsAre(HasSubstr("around the buffer of state 'OUT'")));
  ASSERT_TRUE(state.commit("OUT").ok());
  EXPECT_EQ(state.problems().size(), 1u);
}

TEST_F(SequenceStateTest, OutputsFailWhenTheTestSaysSo) {
  state.fail_outputs(Status(Code::kResourceExhausted, "no state"));
  EXPECT_EQ(ask("OUT", DataType::kInt32, {2}, 8).message(), "no state");
  state.fail_outputs({});
  EXPECT_TRUE(ask("OUT", DataType::kInt32, {2}, 8).ok());
  EXPECT_THAT(state.problems(), IsEmpty());
}

TEST_F(SequenceStateTest, BuffersMayBeInADevice) {
  FakeDeviceMemory gpu;
  state.give_memory_of(gpu);
  ASSERT_TRUE(ask("OUT", DataType::kInt32, {1}, 4, MemoryKind::kGpu).ok());
  EXPECT_EQ(buffer.kind, MemoryKind::kGpu);
  int32_t seven = 7;
  Buffer from;
  from.data = &seven;
  from.size_bytes = sizeof seven;
  ASSERT_TRUE(gpu.copy(buffer, from).ok());
  ASSERT_TRUE(state.commit("OUT").ok());
  EXPECT_EQ(state.value("OUT").bytes, bytes_of<int32_t>({7}));
  EXPECT_EQ(gpu.live(), 0u);
  ASSERT_TRUE(ask("OUT", DataType::kInt32, {1}, 4).ok());
  EXPECT_EQ(buffer.kind, MemoryKind::kCpu);
}

}  // namespace
}  // namespace atl::test
