// Calls of a request's sink by several threads.
#include <atomic>
#include <functional>
#include <future>

#include "atoll/request/sink_interposer.h"
#include "testing/executed_request.h"

namespace atl::triton {
namespace {

/// A sink of which nothing is known but the contract: one call at a time.
class CSinkCalls : public ExecutedRequest {};

TEST_F(CSinkCalls, WhatNeedsTheSinkWaitsForTheCallThatIsOnItsWay) {
  class Slow final : public SinkInterposer {
   public:
    Response* new_response() noexcept override {
      EXPECT_FALSE(is_inside);
      return SinkInterposer::new_response();
    }
    void send(Response* response, uint32_t flags) noexcept override {
      EXPECT_FALSE(is_inside.exchange(true));
      if (on_send) std::exchange(on_send, {})();
      is_inside = false;
      SinkInterposer::send(response, flags);
    }
    std::atomic<bool> is_inside{false};
    std::function<void()> on_send;
  } slow;
  slow.interpose(*request);
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  TRITONBACKEND_Response* inner = nullptr;
  std::future<TRITONBACKEND_Response*> other;
  slow.on_send = [&] {
    EXPECT_REFUSED(TRITONBACKEND_ResponseNewFromFactory(&inner, factory))
        << "this thread would wait for itself";
    EXPECT_REFUSED(TRITONBACKEND_RequestRelease(handle(), TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
    other = std::async(std::launch::async, [&] {
      TRITONBACKEND_Response* made = nullptr;
      EXPECT_DONE(TRITONBACKEND_ResponseNewFromFactory(&made, factory));
      return made;
    });
    bool cancelled = true;
    EXPECT_DONE(TRITONBACKEND_ResponseFactoryIsCancelled(factory, &cancelled));
  };
  TRITONBACKEND_Response* first = new_response();
  EXPECT_DONE(TRITONBACKEND_ResponseSend(first, 0, nullptr));
  TRITONBACKEND_Response* second = other.get();
  EXPECT_DONE(TRITONBACKEND_ResponseSend(second, kFinal, nullptr));
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
  release();
  EXPECT_EQ(request.responses().size(), 2u);
}

}  // namespace
}  // namespace atl::triton
