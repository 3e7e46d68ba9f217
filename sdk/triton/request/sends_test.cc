// Responses of a backend whose client takes its time in the callback, while other threads use the same request.
#include <array>
#include <atomic>
#include <thread>

#include "atoll/triton/request.h"
#include "testing/program.h"

namespace atl::triton::test {
namespace {

/// A request of a program that a backend has, with a factory.
class Sends : public InProcess {
 protected:
  void SetUp() override {
    model.respond = [this](Request& request) { handle_ = open_request(request).handle; };
    expect_ok(request_.infer());
    expect_ok(TRITONBACKEND_ResponseFactoryNew(&factory_, handle_));
  }
  void TearDown() override {
    expect_ok(TRITONBACKEND_ResponseFactoryDelete(factory_));
    if (!is_released_) release();
    EXPECT_TRUE(request_.wait_done());
  }
  void release() {
    is_released_ = true;
    expect_ok(TRITONBACKEND_RequestRelease(handle_, TRITONSERVER_REQUEST_RELEASE_ALL));
  }
  TRITONBACKEND_Response* new_response(const char* bytes = nullptr) {
    TRITONBACKEND_Response* response = nullptr;
    expect_ok(TRITONBACKEND_ResponseNewFromFactory(&response, factory_));
    if (bytes != nullptr) add_output(response, bytes);
    return response;
  }
  static void add_output(TRITONBACKEND_Response* response, const char* bytes) {
    TRITONBACKEND_Output* output = nullptr;
    const auto size = static_cast<int64_t>(std::strlen(bytes));
    expect_ok(TRITONBACKEND_ResponseOutput(response, &output, "OUTPUT0", TRITONSERVER_TYPE_UINT8, &size, 1));
    void* buffer = nullptr;
    auto type = TRITONSERVER_MEMORY_CPU;
    int64_t device = 0;
    expect_ok(TRITONBACKEND_OutputBuffer(output, &buffer, static_cast<uint64_t>(size), &type, &device));
    std::memcpy(buffer, bytes, std::strlen(bytes));
  }
  static void send(TRITONBACKEND_Response* response, uint32_t flags = 0) {
    expect_ok(TRITONBACKEND_ResponseSend(response, flags, nullptr));
  }
  void finish() { expect_ok(TRITONBACKEND_ResponseFactorySendFlags(factory_, kFinal)); }
  /// Within the callback for the first response; the response is noted as others are.
  void in_first_callback(std::function<void()> act) {
    request_.on_response = [this, act = std::move(act), left = 1](auto* response, uint32_t flags) mutable {
      if (left-- > 0) act();
      received_.push_back(copy_of(response, flags));
      if (response != nullptr) expect_ok(TRITONSERVER_InferenceResponseDelete(response));
    };
  }
  /// Done by another thread, which is waited for.
  static void elsewhere(const std::function<void()>& act) { std::thread(act).join(); }
  std::string bytes_of(size_t i) { return received_.at(i).outputs.at(0).bytes; }

  ProgramRequest request_{server, allocator};
  TRITONBACKEND_Request* handle_ = nullptr;
  TRITONBACKEND_ResponseFactory* factory_ = nullptr;
  bool is_released_ = false;
  std::vector<atl::test::ReceivedResponse> received_;
};

TEST_F(Sends, ACallbackMayWaitForWhatAnotherThreadDoesWithTheRequest) {
  bool cancelled = true;
  in_first_callback([&] {
    elsewhere([&] {
      expect_ok(TRITONBACKEND_RequestIsCancelled(handle_, &cancelled));
      expect_ok(TRITONBACKEND_ResponseFactoryIsCancelled(factory_, &cancelled));
      TRITONBACKEND_ResponseFactory* another = nullptr;
      expect_ok(TRITONBACKEND_ResponseFactoryNew(&another, handle_));
      expect_ok(TRITONBACKEND_ResponseFactoryDelete(another));
      expect_ok(TRITONBACKEND_ResponseDelete(new_response("dropped")));
      send(new_response("second"));
      EXPECT_TRUE(received_.empty()) << "it comes after the first";
      release();
    });
  });
  send(new_response("first"));
  EXPECT_FALSE(cancelled);
  ASSERT_EQ(received_.size(), 2u);
  EXPECT_EQ(bytes_of(0), "first");
  EXPECT_EQ(bytes_of(1), "second");
  finish();
}

TEST_F(Sends, TheEndMayBeSentWhileTheFirstIsTaken) {
  TRITONBACKEND_Response* forgotten = new_response("forgotten");
  in_first_callback([&] {
    elsewhere([&] {
      finish();
      expect_invalid(TRITONBACKEND_ResponseSend(forgotten, 0, nullptr));
      TRITONBACKEND_Response* late = nullptr;
      expect_invalid(TRITONBACKEND_ResponseNewFromFactory(&late, factory_));
      release();
    });
  });
  send(new_response("first"));
  ASSERT_EQ(received_.size(), 2u);
  EXPECT_FALSE(received_[0].final());
  EXPECT_TRUE(received_[1].final() && received_[1].empty);
}

TEST_F(Sends, TheCallbackItselfMayUseTheRequest) {
  in_first_callback([&] {
    send(new_response("second"));
    send(new_response("third"), kFinal);
    EXPECT_TRUE(received_.empty());
    release();
  });
  send(new_response("first"));
  ASSERT_EQ(received_.size(), 3u);
  EXPECT_EQ(bytes_of(2), "third");
  EXPECT_TRUE(received_[2].final());
}

TEST_F(Sends, ManyThreadsAreTakenOneAtATimeAndEachInItsOrder) {
  constexpr int kEach = 200;
  std::atomic<int> inside{0};
  std::array<int, 4> last{};
  request_.on_response = [&](auto* response, uint32_t flags) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    const auto received = copy_of(response, flags);
    if (response != nullptr) {
      const int number = std::atoi(received.outputs.at(0).bytes.c_str());
      EXPECT_EQ(last.at(static_cast<size_t>(number / 1000)) + 1, number % 1000);
      last.at(static_cast<size_t>(number / 1000)) = number % 1000;
      expect_ok(TRITONSERVER_InferenceResponseDelete(response));
    }
    inside.fetch_sub(1);
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 1; i <= kEach; ++i) send(new_response(std::to_string(thread * 1000 + i).c_str()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(last, (std::array{kEach, kEach, kEach, kEach}));
  finish();
}

}  // namespace
}  // namespace atl::triton::test
