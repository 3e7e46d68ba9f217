/// Conformance of "atoll.request_observer/1".
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "atoll/request/request_observer.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/recording_sink.h"

namespace atl::test {

struct RequestObserverProvider {
  std::string name;
  /// An active one that observes every request. What it needs lives as long as the pointer; all requests have ended
  /// before that goes.
  std::function<std::shared_ptr<RequestObserver>()> make;
  /// The model of the requests; lives as long as the test.
  Model* model = nullptr;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const RequestObserverProvider& provider, std::ostream* out) { *out << provider.name; }
};

class RequestObserverConformance : public Conformance<RequestObserverProvider> {
 protected:
  void SetUp() override {
    observer_ = GetParam().make();
    ASSERT_NE(observer_, nullptr);
  }
  /// Fills in a request of one input in two pieces.
  void fill(TestRequest& request) const {
    request->model = GetParam().model;
    request.add_raw_input("x", DataType::kInt32, {1, 2}, "abcdefgh", {3});
    request.add_output("y");
  }
  /// All that an observer may have changed.
  static std::string shown(const Request& request) {
    std::string text = cat(request.id, " ", request.inputs.size(), " ", request.outputs.size(), " ",
                           request.parameters.size(), " ", request.call_flags, " ", request.cancelled(), " ");
    for (const InputTensor& input : request.inputs) {
      for (const Buffer& buffer : input.buffers)
        text.append(static_cast<const char*>(buffer.data), buffer.size_bytes);
    }
    return text;
  }
  /// Sends one response with one output; its memory is overwritten at once.
  static void respond(RequestObservation& observation, TestRequest& request, uint32_t flags,
                      std::string bytes = "12345678") {
    Response response;
    OutputTensor& output = response.add_output("y", DataType::kInt32, std::vector<int64_t>{1, 2});
    output.buffer.data = bytes.data();
    output.buffer.size_bytes = bytes.size();
    const std::string before = bytes;
    observation.on_response(*request, &response, flags);
    EXPECT_EQ(bytes, before) << "it changes nothing";
    EXPECT_EQ(response.outputs.size(), 1U);
    std::memset(bytes.data(), 'x', bytes.size());
  }

  std::shared_ptr<RequestObserver> observer_;
};

TEST_P(RequestObserverConformance, ARequestAndItsResponsesAreLeftAsTheyAre) {
  check([&] {
    ASSERT_TRUE(observer_->active());
    TestRequest request("r");
    fill(request);
    const std::string before = shown(*request);
    const ResponseSink* const sink = request->sink;
    RequestObservation* observation = observer_->begin(*request);
    ASSERT_NE(observation, nullptr) << "it is to observe every request";
    EXPECT_EQ(shown(*request), before);
    respond(*observation, request, 0);
    respond(*observation, request, 0);
    observation->on_response(*request, nullptr, kFinal);
    EXPECT_EQ(shown(*request), before);
    EXPECT_EQ(request->sink, sink);
    observation->ended(*request, {});
  });
}

TEST_P(RequestObserverConformance, AFailureAndARefusalEndARequest) {
  check([&] {
    TestRequest failed, refused, cancelled;
    fill(failed);
    fill(cancelled);
    RequestObservation* observation = observer_->begin(*failed);
    ASSERT_NE(observation, nullptr);
    Response response;
    response.error = Status(Code::kInternal, "broken");
    observation->on_response(*failed, &response, kFinal);
    EXPECT_EQ(response.error.message(), "broken");
    observation->ended(*failed, {});

    refused->model = GetParam().model;  // without an input, as a client may send it
    observation = observer_->begin(*refused);
    ASSERT_NE(observation, nullptr);
    observation->ended(*refused, Status(Code::kInvalidArgument, "no input"));

    observation = observer_->begin(*cancelled);
    ASSERT_NE(observation, nullptr);
    cancelled->cancellation.cancel();
    observation->ended(*cancelled, Status(Code::kCancelled, ""));
  });
}

TEST_P(RequestObserverConformance, ManyThreadsAreObservedAtATime) {
  check([&] {
    constexpr int kThreads = 4, kRequests = 50;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < kRequests; ++n) {
          TestRequest request;
          fill(request);
          RequestObservation* observation = observer_->begin(*request);
          if (observation == nullptr) {
            ADD_FAILURE() << "it is to observe every request";
            return;
          }
          respond(*observation, request, kFinal, std::string(static_cast<size_t>(n), 'a'));
          observation->ended(*request, {});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace atl::test
