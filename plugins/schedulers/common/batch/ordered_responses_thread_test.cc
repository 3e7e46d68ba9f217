/// OrderedResponses with real threads.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/random.h"
#include "atoll/testing/recording_sink.h"
#include "schedulers/common/batch/ordered_responses.h"

namespace atl::schedulers {
namespace {

using test::ReceivedResponse;
using test::TestRequest;

/// As a frontend's context: calls for one request must come one at a time.
struct StrictSink final : ResponseSink {
  virtual ~StrictSink() = default;
  Response* new_response() noexcept override {
    Call call(*this);
    responses.push_back(std::make_unique<Response>());
    responses.back()->sink = this;
    return responses.back().get();
  }
  Status allocate(Response&, OutputTensor&, uint64_t, MemoryKind, int64_t) noexcept override {
    Call call(*this);
    return {};
  }
  void send(Response*, uint32_t) noexcept override {
    Call call(*this);
    ++sent;
    if (during_send) during_send();
  }
  void discard(Response*) noexcept override {
    Call call(*this);
    ++discarded;
  }
  void released(Request&) noexcept override { Call call(*this); }

  struct Call {
    explicit Call(StrictSink& who) : sink(who) { sink.overlaps += sink.inside.exchange(true); }
    ~Call() { sink.inside = false; }
    StrictSink& sink;
  };
  std::vector<std::unique_ptr<Response>> responses;
  std::function<void()> during_send;
  uint32_t sent = 0, discarded = 0;
  std::atomic<bool> inside{false};
  std::atomic<uint32_t> overlaps{0};
};

/// What a backend's thread may do with a request while another thread delivers one of its responses.
enum class Call { kNewResponse, kAllocate, kDiscard, kSendTooLate, kRelease };

void call_while_delivered(Call what) {
  SCOPED_TRACE(static_cast<int>(what));
  OrderedResponses order;
  StrictSink first_sink, second_sink;
  Request first, second;
  first.sink = &first_sink;
  second.sink = &second_sink;
  order.reserve(first);
  order.reserve(second);
  ResponseSink* place = second.sink;
  Response* spare = place->new_response();
  Response* another = place->new_response();
  bool ends = what == Call::kSendTooLate || what == Call::kRelease;
  place->new_response()->send(ends ? uint32_t{kFinal} : 0);  // kept

  std::atomic<bool> delivering{false}, calling{false};
  second_sink.during_send = [&] {
    delivering = true;
    while (!calling) std::this_thread::yield();
    for (int i = 0; i < 2'000; ++i) std::this_thread::yield();  // would it come in now?
  };
  std::thread backend([&] {
    while (!delivering) std::this_thread::yield();
    calling = true;
    if (what == Call::kNewResponse) place->discard(place->new_response());
    if (what == Call::kAllocate) (void)spare->allocate(spare->add_output("O", DataType::kUint8, {}), 1).ok();
    if (what == Call::kDiscard) place->discard(another);
    if (what == Call::kSendTooLate) another->send(0);
    if (what == Call::kRelease) place->released(second);
  });
  ResponseSink* first_place = first.sink;
  first_place->new_response()->send(kFinal);
  backend.join();
  EXPECT_EQ(second_sink.overlaps, 0u);
  EXPECT_EQ(second_sink.sent, 1u);
  second_sink.during_send = nullptr;
  if (!ends) place->send(nullptr, kFinal);
  if (what != Call::kRelease) place->released(second);
  first_place->released(first);
}

TEST(OrderedResponsesThreads, ARequestsSinkIsCalledByOneThreadAtATime) {
  for (Call what :
       {Call::kNewResponse, Call::kAllocate, Call::kDiscard, Call::kSendTooLate, Call::kRelease}) {
    call_while_delivered(what);
  }
}

TEST(OrderedResponsesThreads, TheDestructorWaitsForWhoIsInside) {
  auto order = std::make_unique<OrderedResponses>();
  StrictSink sink;
  Request request;
  request.sink = &sink;
  order->reserve(request);
  ResponseSink* place = request.sink;
  std::atomic<bool> inside{false}, leave{false}, destroyed{false};
  sink.during_send = [&] {
    inside = true;
    while (!leave) std::this_thread::yield();
    EXPECT_FALSE(destroyed);
  };
  place->released(request);
  std::thread backend([&] { place->send(nullptr, kFinal); });
  while (!inside) std::this_thread::yield();
  std::thread unloader([&] {
    order.reset();
    destroyed = true;
  });
  for (int i = 0; i < 2'000; ++i) std::this_thread::yield();
  leave = true;
  backend.join();
  unloader.join();
  EXPECT_TRUE(destroyed);
}

/// A client of which three threads of a backend answer some requests each, in any order.
class Streams {
 public:
  explicit Streams(uint64_t seed) : random_(seed) {
    for (uint64_t i = 0; i < kRequests; ++i) {
      requests_.push_back(std::make_unique<TestRequest>());
      TestRequest& request = *requests_.back();
      request.on_response([this, i](const ReceivedResponse& response) {
        std::lock_guard lock(mutex_);
        order_kept_ = order_kept_ && i == next_;
        if (response.final()) ++next_;
      });
      request.mark_accepted();
    }
  }
  void run() {
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, seed = random_.next()] { serve(seed); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(order_kept_);
    EXPECT_EQ(next_, kRequests);
    for (auto& request : requests_) {
      ASSERT_TRUE(request->done());
      ASSERT_TRUE(request->problems().empty()) << request->problems()[0];
    }
  }

 private:
  static constexpr uint64_t kRequests = 2'000, kThreads = 3;

  /// Takes a few from the line, as a batch, and answers them mixed.
  void serve(uint64_t seed) {
    test::Random random(seed);
    while (true) {
      std::vector<TestRequest*> batch;
      {
        std::lock_guard lock(queue_mutex_);
        for (uint64_t left = random.below(6) + 1; left > 0 && taken_ < kRequests; --left) {
          batch.push_back(requests_[taken_++].get());
          order_.reserve(**batch.back());
        }
      }
      if (batch.empty()) return;
      while (!batch.empty()) {
        size_t index = random.below(batch.size());
        TestRequest& request = *batch[index];
        ResponseSink* place = request->sink;
        if (random.chance(50)) {
          place->new_response()->send(0);
          continue;
        }
        bool release_first = random.chance(30);
        if (release_first) place->released(*request);
        random.chance(50) ? place->new_response()->send(kFinal) : place->send(nullptr, kFinal);
        if (!release_first) place->released(*request);
        batch.erase(batch.begin() + static_cast<ptrdiff_t>(index));
      }
    }
  }

  test::Random random_;
  OrderedResponses order_;
  std::vector<std::unique_ptr<TestRequest>> requests_;
  std::mutex queue_mutex_;
  uint64_t taken_ = 0;
  std::mutex mutex_;
  uint64_t next_ = 0;
  bool order_kept_ = true;
};

TEST(OrderedResponsesThreads, ManyThreadsKeepTheOrder) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Streams streams(seed);
    streams.run();
  }
}

}  // namespace
}  // namespace atl::schedulers
