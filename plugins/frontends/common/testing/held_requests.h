/// Waiting for what a frontend does in other threads, and requests that stay with their model meanwhile.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "atoll/testing/fake_catalog.h"

namespace atl::frontends {

/// True as soon as the condition holds; false if it does not within half a minute.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Keeps the requests of a model until the test answers, and says when one came or was cancelled.
class HeldRequests final : public CancelListener {
 public:
  explicit HeldRequests(test::FakeServedModel& model) {
    model.respond = [this](Request& request) {
      if (!request.cancellation.listen(this, nullptr)) ++cancelled_;
      request_ = &request;
    };
  }
  Request* wait() {
    EXPECT_TRUE(eventually([this] { return request_ != nullptr; }));
    return request_;
  }
  bool wait_cancelled() {
    return eventually([this] { return cancelled_ != 0; });
  }
  int cancelled() const { return cancelled_; }
  void answer() {
    Request* request = wait();
    request_ = nullptr;
    request->cancellation.stop_listening();
    test::answer_identity(*request);
    (void)request->release().ok();
  }
  void on_cancel(void*) noexcept override { ++cancelled_; }

 private:
  std::atomic<Request*> request_{nullptr};
  std::atomic<int> cancelled_{0};
};

}  // namespace atl::frontends
