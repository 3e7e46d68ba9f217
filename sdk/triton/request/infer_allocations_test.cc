/// What a request costs when it is not the first one.
#include <gtest/gtest.h>

#include "testing/allocations.h"
#include "testing/program.h"

namespace atl::triton::test {
namespace {

class InferAllocations : public InProcess {
 protected:
  static void drop(TRITONSERVER_InferenceResponse* response, const uint32_t, void*) {
    EXPECT_EQ(TRITONSERVER_InferenceResponseDelete(response), nullptr);
  }
  static void keep(TRITONSERVER_InferenceRequest*, const uint32_t, void*) {}
  static void remove(TRITONSERVER_InferenceRequest* request, const uint32_t, void*) {
    EXPECT_EQ(TRITONSERVER_InferenceRequestDelete(request), nullptr);
  }
  TRITONSERVER_InferenceRequest* make(TRITONSERVER_InferenceRequestReleaseFn_t release) {
    const int64_t shape[] = {1, 3};
    TRITONSERVER_InferenceRequest* made = nullptr;
    for (TRITONSERVER_Error* error :
         {TRITONSERVER_InferenceRequestNew(&made, &server, "m", -1),
          TRITONSERVER_InferenceRequestSetId(made,
                                             "an id that is longer than any text without memory of its own"),
          TRITONSERVER_InferenceRequestSetCorrelationIdString(made,
                                                              "and a sequence that is as long as the id"),
          TRITONSERVER_InferenceRequestAddInput(made, "INPUT0", TRITONSERVER_TYPE_UINT8, shape, 2),
          TRITONSERVER_InferenceRequestAppendInputData(made, "INPUT0", "abc", 3, TRITONSERVER_MEMORY_CPU, 0),
          TRITONSERVER_InferenceRequestAddRequestedOutput(made, "OUTPUT0"),
          TRITONSERVER_InferenceRequestSetStringParameter(made, "key",
                                                          "a value that is longer than a short text"),
          TRITONSERVER_InferenceRequestSetReleaseCallback(made, release, nullptr),
          TRITONSERVER_InferenceRequestSetResponseCallback(made, allocator.handle(), &allocator, drop,
                                                           nullptr)}) {
      EXPECT_EQ(error, nullptr);
    }
    return made;
  }
};

TEST_F(InferAllocations, ARequestThatIsSentAgainAllocatesNothing) {
  TRITONSERVER_InferenceRequest* request = make(keep);
  for (int i = 0; i < 3; ++i) expect_ok(TRITONSERVER_ServerInferAsync(&server, request, nullptr));
  const uint64_t before = allocations();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(TRITONSERVER_ServerInferAsync(&server, request, nullptr), nullptr);
  EXPECT_EQ(allocations(), before);
  expect_ok(TRITONSERVER_InferenceRequestDelete(request));
}

TEST_F(InferAllocations, NorDoesANewOneAfterOthers) {
  for (int i = 0; i < 3; ++i) expect_ok(TRITONSERVER_ServerInferAsync(&server, make(remove), nullptr));
  const uint64_t before = allocations();
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(TRITONSERVER_ServerInferAsync(&server, make(remove), nullptr), nullptr);
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace atl::triton::test
