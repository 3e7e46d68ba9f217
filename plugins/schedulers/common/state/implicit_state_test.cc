#include "schedulers/common/state/implicit_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "schedulers/common/testing/state_bench.h"

namespace atl::schedulers {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Values = std::vector<int32_t>;

class ImplicitStateTest : public StateBench {
 protected:
  ImplicitStatePtr start() {
    ImplicitStatePtr state = states->make();
    const Status status = state->begin();
    EXPECT_TRUE(status.ok()) << status.message();
    return state;
  }
  Status ask(ImplicitState& state, std::string_view name, DataType datatype, std::vector<int64_t> shape,
             uint64_t size_bytes) {
    Buffer buffer;
    return state.output(name, datatype, shape, size_bytes, MemoryKind::kCpu, 0, &buffer);
  }
  static Values numbers(int32_t count) {
    Values values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    return values;
  }
  /// A step for each number, which writes it behind those that are there, and nothing else.
  void append(ImplicitState& state, int32_t from, int32_t end, MemoryKind kind = MemoryKind::kCpu) {
    for (int32_t i = from; i < end; ++i) {
      Request request;
      state.attach(request);
      Buffer to, number;
      const int64_t shape[] = {i + 1};
      const auto size_bytes = static_cast<uint64_t>(i + 1) * 4;
      ASSERT_TRUE(state.output("O", DataType::kInt32, shape, size_bytes, kind, 0, &to).ok());
      EXPECT_EQ(to.kind, kind);
      to.data = static_cast<int32_t*>(to.data) + i;
      to.size_bytes = number.size_bytes = 4;
      number.data = &i;
      ASSERT_TRUE((kind == MemoryKind::kGpu ? gpu.copy(to, number) : copy_on_host(to, number)).ok());
      ASSERT_TRUE(state.commit("O").ok());
    }
  }
  static const void* address(ImplicitState& state) {
    Request request;
    state.attach(request);
    return request.find_input("I")->buffers[0].data;
  }
};

TEST_F(ImplicitStateTest, ASequenceBeginsWithItsInitialValues) {
  StateTensor zeros = state_tensor("I", "O", DataType::kInt32, {2, -1}, {2, 3});
  StateTensor data = state_tensor("D", "E", DataType::kFp32, {-1}, {2});
  set_initial_data(data, test::bytes_of<float>({1.5f, 2.5f}));
  StateTensor texts = state_tensor("T", "U", DataType::kBytes, {-1}, {3});
  make({zeros, data, texts}, true);
  ImplicitStatePtr state = start();
  for (int round = 0; round < 2; ++round) {
    Request request;
    state->attach(request);
    EXPECT_EQ(request.state, state.get());
    ASSERT_EQ(request.inputs.size(), 3u);
    EXPECT_THAT(read(request), ElementsAre(0, 0, 0, 0, 0, 0));
    EXPECT_THAT(shape_in(request, "I"), ElementsAre(1, 2, 3));
    EXPECT_EQ(text_in(request.find_input("D")->buffers[0]), test::bytes_of<float>({1.5f, 2.5f}));
    EXPECT_THAT(shape_in(request, "T"), ElementsAre(1, 3));
    EXPECT_EQ(text_in(request.find_input("T")->buffers[0]), std::string(12, '\0'));
    EXPECT_EQ(request.inputs[0].flags, InputTensor::kAddedByScheduler);
    EXPECT_EQ(request.inputs[1].datatype, DataType::kFp32);
    Buffer buffer;
    const int64_t shape[] = {1, 5};
    ASSERT_TRUE(state->output("E", DataType::kFp32, shape, 20, MemoryKind::kCpu, 0, &buffer).ok());
    std::memset(buffer.data, 1, 20);
    ASSERT_TRUE(state->commit("E").ok());
    ASSERT_TRUE(state->begin().ok()) << "anew";
  }
}

TEST_F(ImplicitStateTest, WhatIsCommittedIsTheNextInput) {
  make_one({-1}, {1});
  ImplicitStatePtr state = start();
  EXPECT_THAT(value(*state), ElementsAre(0));
  step(*state, {7});
  EXPECT_THAT(value(*state), ElementsAre(7));
  step(*state, {8, 9, 10});
  EXPECT_THAT(value(*state), ElementsAre(8, 9, 10)) << "of another shape";
  step(*state, {});
  EXPECT_THAT(value(*state), IsEmpty());
  step(*state, Values(1000, 3));
  EXPECT_EQ(value(*state), Values(1000, 3));
}

TEST_F(ImplicitStateTest, WhatIsNotCommittedIsForgotten) {
  make_one({-1}, {1});
  ImplicitStatePtr state = start();
  step(*state, {1, 2});
  write(*state, {3, 4});
  EXPECT_THAT(value(*state), ElementsAre(1, 2));
  write(*state, {5, 6, 7});
  EXPECT_THAT(value(*state), ElementsAre(1, 2));
  EXPECT_EQ(state->commit("O").code(), Code::kInvalidArgument) << "it was of the request before";
}

TEST_F(ImplicitStateTest, BuffersChangePlaces) {
  make_one({-1}, {100});
  provide("cpu", cpu);
  ImplicitStatePtr state = start();
  Request request;
  state->attach(request);
  const void* first = request.inputs[0].buffers[0].data;
  const void* second = step(*state, Values(100, 1)).data;
  EXPECT_NE(first, second);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(step(*state, Values(100, i)).data, i % 2 == 0 ? first : second);
    EXPECT_EQ(value(*state), Values(100, i));
  }
  EXPECT_EQ(cpu.allocations(), 2u);
  const uint64_t held = state->bytes_held();
  ASSERT_TRUE(state->begin().ok());
  EXPECT_EQ(value(*state), Values(100, 0));
  EXPECT_EQ(cpu.allocations(), 2u) << "a sequence that begins anew keeps its memory";
  EXPECT_EQ(state->bytes_held(), held);
  state.reset();
  EXPECT_EQ(cpu.live(), 0u);
}

TEST_F(ImplicitStateTest, ASequenceWithASmallStateIsOneAllocation) {
  make_one({1}, {1});
  provide("cpu", cpu);
  std::vector<ImplicitStatePtr> many;
  for (int i = 0; i < 1000; ++i) {
    many.push_back(start());
    step(*many.back(), {i});
    step(*many.back(), {i + 1});
  }
  EXPECT_EQ(cpu.allocations(), 0u) << "but for the object itself";
  EXPECT_LE(states->bytes_held(), 1000u * 512u);
  EXPECT_EQ(states->bytes_held(), 1000 * many[0]->bytes_held());
  for (int i = 0; i < 1000; ++i) EXPECT_THAT(value(*many[i]), ElementsAre(i + 1));
  many.clear();
  EXPECT_EQ(states->bytes_held(), 0u);
}

TEST_F(ImplicitStateTest, MemoryIsCounted) {
  make_one({-1}, {1});
  ImplicitStatePtr state = start();
  const uint64_t bare = states->bytes_held();
  step(*state, Values(10'000));
  EXPECT_EQ(states->bytes_held(), bare + 40'000);
  step(*state, Values(10'000));
  EXPECT_EQ(states->bytes_held(), bare + 80'000);
  step(*state, {1});
  step(*state, {2});
  step(*state, {3});
  EXPECT_EQ(states->bytes_held(), bare) << "what is much too large is given back";
  EXPECT_THAT(value(*state), ElementsAre(3));
}

TEST_F(ImplicitStateTest, TheRequestsOwnInputOfThatNameIsReplaced) {
  make_one({1}, {1});
  ImplicitStatePtr state = start();
  step(*state, {5});
  TestRequest request;
  request.add_input<int32_t>("X", DataType::kInt32, {1}, {1});
  request.add_input<int32_t>("I", DataType::kInt32, {3}, {1, 2, 3});
  state->attach(*request);
  EXPECT_EQ(request->inputs.size(), 2u);
  EXPECT_THAT(read(*request), ElementsAre(5));
}

TEST_F(ImplicitStateTest, ARequestThatComesBackTakesNoMoreMemory) {
  make_one({-1}, {1});
  ImplicitStatePtr state = start();
  Request request;
  state->attach(request);
  const int64_t* shape = request.inputs[0].shape.data();
  for (int i = 1; i < 50; ++i) {
    write(*state, Values(static_cast<size_t>(i), i));
    ASSERT_TRUE(state->commit("O").ok());
    state->attach(request);
    EXPECT_EQ(read(request), Values(static_cast<size_t>(i), i));
    EXPECT_EQ(request.inputs[0].shape.data(), shape);
  }
  EXPECT_EQ(request.inputs.size(), 1u);
}

TEST_F(ImplicitStateTest, SeveralStatesGoByTheirEntries) {
  make({state_tensor("A", "Z", DataType::kInt32, {1}, {1}),
        state_tensor("B", "Y", DataType::kInt32, {1}, {1})});
  ImplicitStatePtr state = start();
  Request request, next;
  state->attach(request);
  for (const auto& [name, number] : {std::pair("Y", 2), std::pair("Z", 1)}) {
    Buffer buffer;
    const int64_t shape[] = {1};
    ASSERT_TRUE(state->output(name, DataType::kInt32, shape, 4, MemoryKind::kCpu, 0, &buffer).ok());
    std::memcpy(buffer.data, &number, 4);
  }
  ASSERT_TRUE(state->commit("Z").ok());
  state->attach(next);
  EXPECT_EQ(text_in(next.find_input("A")->buffers[0]), test::bytes_of<int32_t>({1}));
  EXPECT_EQ(text_in(next.find_input("B")->buffers[0]), test::bytes_of<int32_t>({0})) << "was not committed";
}

TEST_F(ImplicitStateTest, WhatDoesNotFitIsRefused) {
  StateTensor texts = state_tensor("T", "U", DataType::kBytes, {-1}, {1});
  make({state_tensor("I", "O", DataType::kInt32, {2, -1}, {2, 1}), texts}, true);
  ImplicitStatePtr state = start();
  Request request;
  state->attach(request);
  struct Case {
    const char* name;
    DataType datatype;
    std::vector<int64_t> shape;
    uint64_t size_bytes;
    const char* text;
  };
  for (const Case& one : {
           Case{"I", DataType::kInt32, {1, 2, 1}, 8, "state 'I' is not a valid state name."},
           Case{"O", DataType::kFp32, {1, 2, 1}, 8, "state 'O' is given type FP32, expected INT32"},
           Case{"O", DataType::kInt32, {2, 1}, 8, "state 'O' is given shape [2,1], expected [1,2,-1]"},
           Case{"O", DataType::kInt32, {1, 3, 1}, 12, "state 'O' is given shape [1,3,1], expected [1,2,-1]"},
           Case{"O", DataType::kInt32, {2, 2, 1}, 16, "state 'O' is given shape [2,2,1], expected [1,2,-1]"},
           Case{"O", DataType::kInt32, {1, 2, -1}, 8, "state 'O' is given shape [1,2,-1], expected [1,2,-1]"},
           Case{"O",
                DataType::kInt32,
                {1, 2, 2},
                8,
                "state 'O' of shape [1,2,2] is given 8 bytes, expected 16"},
           Case{"O", DataType::kInt32, {1, 2, int64_t{1} << 62}, 8, "expected a number of 63 bits"},
           Case{"U",
                DataType::kBytes,
                {1, 3},
                11,
                "state 'U' of shape [1,3] is given 11 bytes, expected at least 12"},
       }) {
    const Status status = ask(*state, one.name, one.datatype, one.shape, one.size_bytes);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << one.text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(one.text));
    EXPECT_EQ(state->commit(one.name).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(state->commit("X").message(), "state 'X' is not a valid state name.");
  EXPECT_THAT(std::string(state->commit("O").message()), HasSubstr("no buffer was asked for"));
  EXPECT_TRUE(ask(*state, "U", DataType::kBytes, {1, 3}, 100).ok());
}

TEST_F(ImplicitStateTest, AModelWithoutStateSaysSo) {
  make({});
  EXPECT_TRUE(states->empty());
  ImplicitStatePtr state = start();
  EXPECT_EQ(ask(*state, "x", DataType::kInt32, {1}, 4).message(),
            "unable to add state 'x'. State configuration is missing for model 'm'.");
  EXPECT_EQ(state->commit("x").message(),
            "unable to add state 'x'. State configuration is missing for model 'm'.");
}

TEST_F(ImplicitStateTest, OneBufferForBoth) {
  make_one({-1}, {2}, true);
  ImplicitStatePtr state = start();
  Request request;
  state->attach(request);
  const Buffer buffer = write(*state, {3, 4});
  EXPECT_EQ(buffer.data, request.inputs[0].buffers[0].data);
  EXPECT_THAT(read(request), ElementsAre(3, 4)) << "seen at once";
  EXPECT_THAT(value(*state), ElementsAre(3, 4)) << "also without commit()";
  write(*state, {5, 6});
  EXPECT_TRUE(state->commit("O").ok());
  EXPECT_EQ(state->commit("O").code(), Code::kInvalidArgument);
  EXPECT_THAT(value(*state), ElementsAre(5, 6));
  ASSERT_TRUE(state->begin().ok());
  EXPECT_THAT(value(*state), ElementsAre(0, 0));
}

TEST_F(ImplicitStateTest, OneBufferThatGrowsKeepsItsValue) {
  make_one({-1}, {1000}, true);
  provide("cpu", cpu);
  ImplicitStatePtr state = start();
  step(*state, Values(1000, 5));
  Request request;
  state->attach(request);
  const int64_t shape[] = {3000};
  Buffer buffer;
  ASSERT_TRUE(state->output("O", DataType::kInt32, shape, 12'000, MemoryKind::kCpu, 0, &buffer).ok());
  EXPECT_EQ(read(request), Values(1000, 5)) << "what the request has stays";
  static_cast<int32_t*>(buffer.data)[2999] = 6;
  const Values grown = value(*state);
  ASSERT_EQ(grown.size(), 3000u);
  EXPECT_EQ(Values(grown.begin(), grown.begin() + 1000), Values(1000, 5));
  EXPECT_EQ(grown.back(), 6);
  EXPECT_EQ(cpu.live(), 1u) << "the one before was given back";
}

class GrowingState : public ImplicitStateTest {
 protected:
  ImplicitStatePtr start_growing() {
    StateTensor tensor = state_tensor("I", "O", DataType::kInt32, {-1}, {1});
    tensor.same_buffer = tensor.growable = true;
    make({tensor});
    provide("cpu", cpu);
    provide("gpu", gpu);
    return start();
  }
  uint64_t used_bytes() const { return cpu.used_bytes() + gpu.used_bytes(); }
};

class GrowingStateOfKind : public GrowingState, public ::testing::WithParamInterface<MemoryKind> {};

TEST_P(GrowingStateOfKind, StaysWhereItIs) {
  ImplicitStatePtr state = start_growing();
  append(*state, 1, 65, GetParam());  // more than is kept inside of the object
  const void* const data = address(*state);
  append(*state, 65, 2500, GetParam());
  EXPECT_EQ(address(*state), data) << "10,000 bytes were reserved";
  EXPECT_EQ(used_bytes(), 10'000u) << "and no more than is needed was used";
  EXPECT_EQ(value(*state), numbers(2500));
  const uint64_t held_bytes = state->bytes_held();
  append(*state, 2500, 2501, GetParam());
  EXPECT_NE(address(*state), data) << "it has outgrown them";
  EXPECT_EQ(used_bytes(), 10'004u);
  EXPECT_EQ(state->bytes_held(), held_bytes + 4);
  const void* const moved = address(*state);
  append(*state, 2501, 3600, GetParam());
  EXPECT_EQ(address(*state), moved);
  EXPECT_EQ(value(*state), numbers(3600));
  state.reset();
  EXPECT_EQ(cpu.live() + gpu.live(), 0u);
}

TEST_P(GrowingStateOfKind, BeginsSmallAgain) {
  ImplicitStatePtr state = start_growing();
  append(*state, 1, 2500, GetParam());
  ASSERT_TRUE(state->begin().ok());
  EXPECT_EQ(value(*state), Values{0});
  append(*state, 1, 2500, GetParam());
  EXPECT_EQ(value(*state), numbers(2500));
  EXPECT_EQ(cpu.live() + gpu.live(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GrowingStateOfKind, ::testing::Values(MemoryKind::kCpu, MemoryKind::kGpu));

TEST_F(GrowingState, WithoutMemoryItStaysAsItIs) {
  ImplicitStatePtr state = start_growing();
  append(*state, 1, 1000);
  cpu.set_limit(cpu.used_bytes() + 100);
  EXPECT_EQ(ask(*state, "O", DataType::kInt32, {1026}, 4104).code(), Code::kResourceExhausted);
  EXPECT_EQ(value(*state), numbers(1000));
  append(*state, 1000, 1025);
  EXPECT_EQ(value(*state), numbers(1025));
}

TEST_F(ImplicitStateTest, WhatCanNotGrowWhereItIsIsSeldomCopied) {
  StateTensor tensor = state_tensor("I", "O", DataType::kInt32, {-1}, {1});
  tensor.same_buffer = tensor.growable = true;
  make({tensor});
  provide("cpu", cpu, Memory::kDevicesMinor);
  ImplicitStatePtr state = start();
  append(*state, 1, 3000);
  EXPECT_EQ(value(*state), numbers(3000));
  EXPECT_LE(cpu.allocations(), 20u);
  EXPECT_EQ(cpu.live(), 1u);
  const uint64_t allocations = cpu.allocations();
  ASSERT_TRUE(ask(*state, "O", DataType::kInt32, {2}, 8).ok());
  EXPECT_THAT(value(*state), ElementsAre(0, 1));
  EXPECT_EQ(cpu.allocations(), allocations) << "it never shrinks";
  cpu.set_limit(cpu.used_bytes() + 26'000);
  ASSERT_TRUE(ask(*state, "O", DataType::kInt32, {6000}, 24'000).ok()) << "no room but for what is needed";
}

TEST_F(ImplicitStateTest, WhatARequestReadsOutlivesABufferOfAnotherSize) {
  make_one({-1}, {1000});
  ImplicitStatePtr state = start();
  step(*state, Values(1000, 1));
  Request request;
  state->attach(request);
  for (size_t size : {3000, 9000, 27'000}) {
    write(*state, Values(size, 2));
    ASSERT_TRUE(state->commit("O").ok());
    EXPECT_EQ(read(request), Values(1000, 1));
  }
}

TEST_F(ImplicitStateTest, ValuesStayWhereTheBackendWantsThem) {
  make_one({-1}, {2});
  provide("gpu", gpu);
  ImplicitStatePtr state = start();
  for (int i = 1; i < 5; ++i) {
    EXPECT_EQ(step(*state, {i, i}, MemoryKind::kGpu).kind, MemoryKind::kGpu);
    Request request;
    state->attach(request);
    EXPECT_EQ(request.inputs[0].buffers[0].kind, MemoryKind::kGpu);
    EXPECT_THAT(read(request), ElementsAre(i, i));
  }
  EXPECT_EQ(gpu.live(), 2u);
  EXPECT_EQ(step(*state, {9, 9}).kind, MemoryKind::kCpu);
  EXPECT_THAT(value(*state), ElementsAre(9, 9));
  step(*state, {7, 7}, MemoryKind::kGpu);
  ASSERT_TRUE(state->begin().ok());
  EXPECT_THAT(value(*state), ElementsAre(0, 0));
  state.reset();
  EXPECT_EQ(gpu.live(), 0u);
}

TEST_F(ImplicitStateTest, OneBufferMovesWithItsValue) {
  make_one({-1}, {2}, true);
  provide("gpu", gpu);
  ImplicitStatePtr state = start();
  step(*state, {1, 2});
  Buffer buffer;
  const int64_t shape[] = {2};
  ASSERT_TRUE(state->output("O", DataType::kInt32, shape, 8, MemoryKind::kGpu, 1, &buffer).ok());
  EXPECT_EQ(buffer.device_id, 1);
  EXPECT_THAT(value(*state), ElementsAre(1, 2));
  gpu.fail_copies(internal_error("the device is lost"));
  EXPECT_EQ(ask(*state, "O", DataType::kInt32, {2}, 8).code(), Code::kInternal);
  gpu.fail_copies({});
  EXPECT_THAT(value(*state), ElementsAre(1, 2)) << "as it was";
}

TEST_F(ImplicitStateTest, MemoryThatCanNotBeHadIsAskedForOnce) {
  make_one({-1}, {1000});
  provide("cpu", cpu);
  ImplicitStatePtr state = start();
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(step(*state, Values(1000, i), MemoryKind::kGpu).kind, MemoryKind::kCpu);
  EXPECT_LE(cpu.allocations(), 3u);
}

TEST_F(ImplicitStateTest, WithoutMemoryTheStateIsAsItWas) {
  make_one({-1}, {1000});
  provide("cpu", cpu);
  ImplicitStatePtr state = start();
  step(*state, Values(100, 4));
  cpu.set_limit(1);
  const Status status = ask(*state, "O", DataType::kInt32, {100'000}, 400'000);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "state 'O': the limit of 1 bytes is reached");
  EXPECT_EQ(state->commit("O").code(), Code::kInvalidArgument);
  EXPECT_EQ(value(*state), Values(100, 4));
  EXPECT_EQ(states->make()->begin().code(), Code::kResourceExhausted);
}

TEST_F(ImplicitStateTest, ABeginningThatFailsChangesNothing) {
  StateTensor large = state_tensor("L", "M", DataType::kInt32, {-1}, {10'000});
  make({state_tensor("I", "O", DataType::kInt32, {-1}, {1}), large});
  provide("cpu", cpu);
  provide("gpu", gpu);
  ImplicitStatePtr state = start();
  step(*state, {4});
  Buffer buffer;
  const int64_t shape[] = {1};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(state->output("M", DataType::kInt32, shape, 4, MemoryKind::kGpu, 0, &buffer).ok());
    ASSERT_TRUE(state->commit("M").ok());
  }
  cpu.set_limit(1);
  EXPECT_EQ(state->begin().code(), Code::kResourceExhausted);
  EXPECT_THAT(value(*state), ElementsAre(4));
  cpu.set_limit(0);
  ASSERT_TRUE(state->begin().ok());
  EXPECT_THAT(value(*state), ElementsAre(0));
}

TEST_F(ImplicitStateTest, AProviderThatGoesIsLeft) {
  for (bool same_buffer : {false, true}) {
    for (MemoryKind kind : {MemoryKind::kCpu, MemoryKind::kGpu}) {
      make_one({-1}, {1000}, same_buffer);
      HostMemoryFake second(MemoryKind::kCpu);
      test::FakeDeviceMemory second_gpu;
      provide("cpu", cpu);
      provide("gpu", gpu);
      ImplicitStatePtr state = start();
      step(*state, Values(1000, 4), kind);
      step(*state, Values(1000, 5), kind);
      provide("cpu", second);
      provide("gpu", second_gpu);
      EXPECT_EQ(value(*state), Values(1000, 5));
      EXPECT_EQ(cpu.live() + gpu.live(), 0u);
      EXPECT_EQ(second.live(), 1u);
      state.reset();
      EXPECT_EQ(second.live(), 0u);
      provide("cpu", cpu);
      provide("gpu", gpu);
    }
  }
}

}  // namespace
}  // namespace atl::schedulers
