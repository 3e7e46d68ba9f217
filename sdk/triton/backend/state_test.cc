/// Implicit state of a sequence.
#include "atoll/testing/fake_sequence_state.h"
#include "testing/executed_request.h"

namespace atl::triton {
namespace {

class CState : public ExecutedRequest {
 protected:
  CState() {
    kept.add("S_IN", "S", {DataType::kInt8, {2}, "ab"});
    kept.attach(*request);
  }
  TRITONBACKEND_State* new_state(const char* name = "S") {
    TRITONBACKEND_State* state = nullptr;
    EXPECT_DONE(TRITONBACKEND_StateNew(&state, handle(), name, TRITONSERVER_TYPE_INT8, &shape, 1));
    return state;
  }
  TRITONSERVER_Error* ask(TRITONBACKEND_State* state, uint64_t size_bytes) {
    return TRITONBACKEND_StateBuffer(state, &buffer, size_bytes, &type, &device);
  }

  test::FakeSequenceState kept;
  const int64_t shape = 3;
  void* buffer = nullptr;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
};

TEST_F(CState, IsUpdatedForTheNextRequest) {
  TRITONBACKEND_State* state = new_state();
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  EXPECT_REFUSED(TRITONBACKEND_StateBufferAttributes(state, &attributes)) << "there is no buffer yet";
  EXPECT_REFUSED(TRITONBACKEND_StateUpdate(state));
  EXPECT_DONE(ask(state, 3));
  ASSERT_NE(buffer, nullptr);
  std::memcpy(buffer, "xyz", 3);
  void* first = buffer;
  EXPECT_DONE(ask(state, 3));
  EXPECT_EQ(buffer, first) << "asked for the same";
  EXPECT_DONE(TRITONBACKEND_StateBufferAttributes(state, &attributes));
  size_t size = 0;
  EXPECT_DONE(TRITONSERVER_BufferAttributesByteSize(attributes, &size));
  EXPECT_EQ(size, 3u);
  EXPECT_DONE(TRITONBACKEND_StateUpdate(state));
  EXPECT_EQ(kept.value("S").bytes, "xyz");
  EXPECT_EQ(kept.value("S").shape, std::vector<int64_t>{3});
  EXPECT_REFUSED(TRITONBACKEND_StateUpdate(state)) << "once";
  EXPECT_REFUSED(ask(state, 3)) << "it is no longer to be touched";
  EXPECT_EQ(buffer, nullptr);
  finish();
  EXPECT_EQ(kept.problems(), std::vector<std::string>());
}

TEST_F(CState, LivesAsLongAsTheRequest) {
  TRITONBACKEND_State* state = new_state();
  EXPECT_DONE(ask(state, 3));
  finish();
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  EXPECT_REFUSED(ask(state, 3));
  EXPECT_REFUSED(TRITONBACKEND_StateUpdate(state));
  EXPECT_REFUSED(TRITONBACKEND_StateBufferAttributes(state, &attributes));
  EXPECT_EQ(kept.value("S").bytes, "ab") << "it was not updated";
}

TEST_F(CState, WhatTheSchedulerRefusesIsAnError) {
  TRITONBACKEND_State* unknown = nullptr;
  EXPECT_EQ(text_of(TRITONBACKEND_StateNew(&unknown, handle(), "S2", TRITONSERVER_TYPE_INT8, &shape, 1)),
            "state 'S2' is not a valid state name.");
  EXPECT_EQ(unknown, nullptr);
  kept.fail_outputs(Status(Code::kResourceExhausted, "full"));
  EXPECT_EQ(failure_of(ask(new_state(), 3)), Code::kUnavailable);
  finish();
}

TEST_F(CState, NeedsAModelWithState) {
  request->state = nullptr;
  TRITONBACKEND_State* state = nullptr;
  EXPECT_REFUSED(TRITONBACKEND_StateNew(&state, handle(), "S", TRITONSERVER_TYPE_INT8, &shape, 1));
  EXPECT_EQ(state, nullptr);
  finish();
}

TEST_F(CState, MisuseIsAnError) {
  TRITONBACKEND_State* state = nullptr;
  const int64_t negative = -1;
  const std::vector<int64_t> deep(kMaxRank + 1, 1);
  TRITONBACKEND_State* good = new_state();
  auto wrong = static_cast<TRITONSERVER_MemoryType>(-1);
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_StateNew(nullptr, handle(), "S", TRITONSERVER_TYPE_INT8, &shape, 1),
        TRITONBACKEND_StateNew(&state, nullptr, "S", TRITONSERVER_TYPE_INT8, &shape, 1),
        TRITONBACKEND_StateNew(&state, handle(), nullptr, TRITONSERVER_TYPE_INT8, &shape, 1),
        TRITONBACKEND_StateNew(&state, handle(), "", TRITONSERVER_TYPE_INT8, &shape, 1),
        TRITONBACKEND_StateNew(&state, handle(), "S", TRITONSERVER_TYPE_INVALID, &shape, 1),
        TRITONBACKEND_StateNew(&state, handle(), "S", TRITONSERVER_TYPE_INT8, nullptr, 1),
        TRITONBACKEND_StateNew(&state, handle(), "S", TRITONSERVER_TYPE_INT8, &negative, 1),
        TRITONBACKEND_StateNew(&state, handle(), "S", TRITONSERVER_TYPE_INT8, deep.data(), 33),
        ask(nullptr, 1), TRITONBACKEND_StateBuffer(good, nullptr, 1, &type, &device),
        TRITONBACKEND_StateBuffer(good, &buffer, 1, &wrong, &device), TRITONBACKEND_StateUpdate(nullptr),
        TRITONBACKEND_StateBufferAttributes(good, nullptr)}) {
    EXPECT_REFUSED(error);
  }
  finish();
}

}  // namespace
}  // namespace atl::triton
