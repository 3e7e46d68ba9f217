/// Requests that are answered, released, cancelled and deleted by threads of their own; and what a request costs.
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <new>
#include <thread>

#include "testing/program.h"

namespace atl::triton::test {
namespace {

/// Runs what it is given, in order.
class Worker {
 public:
  ~Worker() {
    post({});
    thread_.join();
  }
  void post(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !queue_.empty(); });
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      if (!work) return;
      work();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_{[this] { run(); }};
};

class InferThreads : public InProcess {};

TEST_F(InferThreads, AnswerAndReleaseByDifferentThreadsWhileAThirdCancels) {
  constexpr int kRounds = 400;
  Worker answering;
  Worker releasing;
  model.respond = [&](Request& request) {
    ResponseSink* sink = request.sink;
    Response* response = sink->new_response();
    const int64_t shape[] = {1};
    OutputTensor& output = response->add_output(request.outputs[0], DataType::kUint8, shape);
    EXPECT_TRUE(response->allocate(output, 1).ok());
    *static_cast<char*>(output.buffer.data) = 'x';
    answering.post([=] { sink->send(response, kFinal); });
    releasing.post([&] { EXPECT_TRUE(request.release().ok()); });
  };
  ProgramRequest request(server, allocator);
  expect_ok(TRITONSERVER_InferenceRequestAddRequestedOutput(request.handle(), "OUTPUT0"));
  std::atomic<bool> stop{false};
  expect_ok(request.infer());
  std::thread cancelling([&] {
    bool flag = false;
    while (!stop) {
      expect_ok(TRITONSERVER_InferenceRequestCancel(request.handle()));
      expect_ok(TRITONSERVER_InferenceRequestIsCancelled(request.handle(), &flag));
    }
  });
  for (int round = 1; round < kRounds; ++round) {
    ASSERT_TRUE(request.wait_done(round));
    expect_ok(request.infer());
  }
  ASSERT_TRUE(request.wait_done(kRounds));
  stop = true;
  cancelling.join();
  EXPECT_EQ(request.responses().size(), size_t{kRounds});
  EXPECT_EQ(allocator.releases, allocator.allocations);
}

TEST_F(InferThreads, ManyRequestsAreMadeAndDeletedInTheirReleaseCallbacks) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  Worker first;
  Worker second;
  std::atomic<uint32_t> turn{0};
  model.respond = [&](Request& request) {
    Worker& worker = turn++ % 2 == 0 ? first : second;
    worker.post([&] {
      atl::test::answer_identity(request);
      EXPECT_TRUE(request.release().ok());
    });
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        ProgramRequest request(server, allocator);
        request.add_input("INPUT0", "abcd");
        request.on_release = [&](TRITONSERVER_InferenceRequest* released) {
          request.forget();
          expect_ok(TRITONSERVER_InferenceRequestDelete(released));
        };
        expect_ok(request.infer());
        ASSERT_TRUE(request.wait_done());
        EXPECT_EQ(request.responses()[0].outputs.at(0).bytes, "abcd");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.releases, kThreads * kRounds);
}

TEST_F(InferThreads, OnlyOneOfTwoThatSendTheSameRequestSucceeds) {
  std::mutex mutex;
  std::vector<Request*> held;
  model.respond = [&](Request& request) {
    std::lock_guard lock(mutex);
    held.push_back(&request);
  };
  for (int round = 0; round < 100; ++round) {
    ProgramRequest request(server, allocator);
    std::atomic<int> sent{0};
    const auto send = [&] {
      if (take_error(request.infer()).ok()) ++sent;
    };
    std::thread other(send);
    send();
    other.join();
    EXPECT_EQ(sent, 1);
    ASSERT_EQ(held.size(), 1u);
    fail_request(*held[0], internal_error("enough"));
    held.clear();
  }
}

}  // namespace
}  // namespace atl::triton::test
