/// A program that sends requests in process, for tests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/testing/recording_sink.h"
#include "atoll/triton/status.h"
#include "testing/fake_server.h"

namespace atl::triton::test {

inline void expect_ok(TRITONSERVER_Error* error) {
  const Status status = take_error(error);
  EXPECT_TRUE(status.ok()) << status.text();
}
inline void expect_error(TRITONSERVER_Error* error, TRITONSERVER_Error_Code code,
                         std::string_view text = {}) {
  ASSERT_NE(error, nullptr) << text;
  EXPECT_EQ(TRITONSERVER_ErrorCode(error), code) << TRITONSERVER_ErrorMessage(error);
  if (!text.empty()) {
    EXPECT_EQ(TRITONSERVER_ErrorMessage(error), text);
  }
  TRITONSERVER_ErrorDelete(error);
}
inline void expect_invalid(TRITONSERVER_Error* error, std::string_view text = {}) {
  expect_error(error, TRITONSERVER_ERROR_INVALID_ARG, text);
}

/// What a response says, copied; problems are breaches of what its getters promise.
atl::test::ReceivedResponse copy_of(TRITONSERVER_InferenceResponse* response, uint32_t flags);

/// Memory of the heap, or of a place, and what it was asked. [any]
class ProgramAllocator {
 public:
  ProgramAllocator() { expect_ok(TRITONSERVER_ResponseAllocatorNew(&handle_, allocate, release, start)); }
  ~ProgramAllocator() { expect_ok(TRITONSERVER_ResponseAllocatorDelete(handle_)); }
  ProgramAllocator(const ProgramAllocator&) = delete;
  TRITONSERVER_ResponseAllocator* handle() const { return handle_; }

  std::atomic<int> starts{0};
  std::atomic<int> allocations{0};
  std::atomic<int> releases{0};
  std::atomic<bool> fails{false};  ///< to allocate
  std::atomic<bool> gives_nothing{false};
  std::span<char> place;  ///< of the output "PLACED"

 private:
  static TRITONSERVER_Error* start(TRITONSERVER_ResponseAllocator*, void* userp);
  static TRITONSERVER_Error* allocate(TRITONSERVER_ResponseAllocator*, const char*, size_t,
                                      TRITONSERVER_MemoryType, int64_t, void*, void**, void**,
                                      TRITONSERVER_MemoryType*, int64_t*);
  static TRITONSERVER_Error* release(TRITONSERVER_ResponseAllocator*, void*, void*, size_t,
                                     TRITONSERVER_MemoryType, int64_t);
  TRITONSERVER_ResponseAllocator* handle_ = nullptr;
};

/// One request with its callbacks, which note what comes; responses are deleted at once. [any] once it is sent.
class ProgramRequest {
 public:
  ProgramRequest(FakeServer& server, ProgramAllocator& allocator, const char* model = "m");
  ~ProgramRequest();
  ProgramRequest(const ProgramRequest&) = delete;
  TRITONSERVER_InferenceRequest* handle() const { return handle_; }

  void add_input(const char* name, std::string_view bytes,
                 TRITONSERVER_DataType type = TRITONSERVER_TYPE_UINT8);
  TRITONSERVER_Error* infer(TRITONSERVER_InferenceTrace* trace = nullptr) {
    return TRITONSERVER_ServerInferAsync(&server_, handle_, trace);
  }
  /// For the final response and the release. False after a minute.
  [[nodiscard]] bool wait_done(int times = 1);
  std::vector<atl::test::ReceivedResponse> responses() const;
  int releases() const;
  /// Deleted by the test, or by a hook.
  void forget() { handle_ = nullptr; }

  std::function<void(TRITONSERVER_InferenceResponse*, uint32_t)> on_response;  ///< who then has it
  std::function<void(TRITONSERVER_InferenceRequest*)> on_release;

 private:
  static void respond(TRITONSERVER_InferenceResponse* response, const uint32_t flags, void* userp);
  static void release(TRITONSERVER_InferenceRequest* request, const uint32_t flags, void* userp);

  FakeServer& server_;
  TRITONSERVER_InferenceRequest* handle_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int finals_ = 0;
  int releases_ = 0;
  std::vector<atl::test::ReceivedResponse> responses_;
};

class InProcess : public testing::Test {
 protected:
  FakeServer server;
  /// INPUT0 and OUTPUT0.
  atl::test::FakeServedModel& model = server.catalog.add_identity("m", DataType::kUint8);
  ProgramAllocator allocator;
};

}  // namespace atl::triton::test
