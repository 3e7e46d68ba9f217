/// A request in the hands of foreign code, for tests.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "atoll/triton/backend.h"
#include "atoll/triton/request.h"
#include "atoll/triton/status.h"

namespace atl::triton {

/// \returns nothing if it was success
inline std::optional<Code> failure_of(TRITONSERVER_Error* error) {
  Status status = take_error(error);
  return status.ok() ? std::nullopt : std::optional(status.code());
}
inline std::string text_of(TRITONSERVER_Error* error) { return take_error(error).text(); }

#define EXPECT_DONE(call) EXPECT_EQ(::atl::triton::text_of(call), "OK")
#define EXPECT_REFUSED(call) EXPECT_EQ(::atl::triton::failure_of(call), ::atl::Code::kInvalidArgument)

/// A request with input "IN" whose outputs "A" and "B" are asked for, and the handle that foreign code got of it.
class ExecutedRequest : public testing::Test {
 protected:
  ExecutedRequest() {
    request.add_input<float>("IN", DataType::kFp32, {2}, {1, 2});
    request.add_output("A");
    request.add_output("B");
    request.mark_accepted();
    instance.name = "m_0";
    instance.reporter = &reporter;
  }
  /// Every test ends with a request that was answered and released once.
  void TearDown() override {
    if (!opened) request->sink->send(request->sink->new_response(), kFinal), (void)request->release().ok();
    EXPECT_TRUE(request.done());
    EXPECT_EQ(request.problems(), std::vector<std::string>());
  }
  TRITONBACKEND_Request* handle() {
    if (!opened) opened = open_request(*request);
    return opened->handle;
  }
  TRITONBACKEND_Response* new_response() {
    TRITONBACKEND_Response* response = nullptr;
    EXPECT_DONE(TRITONBACKEND_ResponseNew(&response, handle()));
    return response;
  }
  TRITONBACKEND_ResponseFactory* new_factory() {
    TRITONBACKEND_ResponseFactory* factory = nullptr;
    EXPECT_DONE(TRITONBACKEND_ResponseFactoryNew(&factory, handle()));
    return factory;
  }
  static TRITONBACKEND_Output* add_output(TRITONBACKEND_Response* response, const char* name,
                                          std::vector<int64_t> shape = {1}) {
    TRITONBACKEND_Output* output = nullptr;
    EXPECT_DONE(TRITONBACKEND_ResponseOutput(response, &output, name, TRITONSERVER_TYPE_INT8, shape.data(),
                                             static_cast<uint32_t>(shape.size())));
    return output;
  }
  static void write(TRITONBACKEND_Output* output, std::string_view bytes) {
    void* buffer = nullptr;
    auto type = TRITONSERVER_MEMORY_CPU;
    int64_t device = 0;
    EXPECT_DONE(TRITONBACKEND_OutputBuffer(output, &buffer, bytes.size(), &type, &device));
    ASSERT_NE(buffer, nullptr);
    std::memcpy(buffer, bytes.data(), bytes.size());
  }
  void send_final() { EXPECT_DONE(TRITONBACKEND_ResponseSend(new_response(), kFinal, nullptr)); }
  void release() { EXPECT_DONE(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_ALL)); }
  void finish() {
    send_final();
    release();
  }

  test::TestRequest request{"r1"};
  test::RecordingReporter reporter;
  TRITONBACKEND_ModelInstance instance;
  std::optional<OpenRequest> opened;
};

}  // namespace atl::triton
