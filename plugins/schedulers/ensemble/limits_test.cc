// What an ensemble holds while its steps are slower than its clients.
#include <gmock/gmock.h>

#include <algorithm>

#include "schedulers/ensemble/testing/ensemble_bench.h"

namespace atl::ensemble {
namespace {

using test::TestRequest;
using ::testing::HasSubstr;

constexpr int64_t kMegabyteOfValues = (1 << 20) / sizeof(int64_t);

/// A first step that answers at once, with as much as it was given, and a second one that answers when it is told to.
class LimitsTest : public ::testing::Test {
 protected:
  void create(const std::string& more) {
    bench_.add_simple("fast").respond = [this](Request& request) {
      ++fast_;
      add_number(request, 0);
      most_bytes_ = std::max(most_bytes_, scheduler().memory().used_bytes());
    };
    bench_.add_simple("slow").respond = [this](Request& request) { slow_.push_back(&request); };
    const Status status = bench_.create(ensemble_of(step("fast", "X", "t") + step("slow", "t", "Y"), more));
    ASSERT_TRUE(status.ok()) << status.text();
  }
  EnsembleScheduler& scheduler() { return static_cast<EnsembleScheduler&>(*bench_.scheduler); }
  TestRequest& enqueue(size_t values = 1) { return bench_.enqueue("X", std::vector<int64_t>(values, 1)); }
  void answer_slow() {
    ASSERT_FALSE(slow_.empty());
    Request* request = slow_.front();
    slow_.erase(slow_.begin());
    add_number(*request, 0);
    bench_.host.run_until_idle();
  }
  void answer_all() {
    while (!slow_.empty()) answer_slow();
    for (auto& request : bench_.requests) EXPECT_TRUE(request->done());
    EXPECT_EQ(scheduler().memory().used_bytes(), 0u);
    EXPECT_EQ(scheduler().in_flight(), 0u);
  }

  EnsembleBench bench_;
  std::vector<Request*> slow_;
  int fast_ = 0;
  uint64_t most_bytes_ = 0;
};

TEST_F(LimitsTest, AFastStepBeforeASlowOneHoldsAFixedNumberOfTensors) {
  create("max_inflight_requests: 2");
  for (int i = 0; i < 100; ++i) enqueue(kMegabyteOfValues);
  EXPECT_EQ(slow_.size(), 2u) << "in the second step";
  EXPECT_EQ(fast_, 4) << "steps times max_inflight_requests are inside";
  EXPECT_EQ(scheduler().in_flight(), 96u);
  EXPECT_EQ(scheduler().memory().used_bytes(), uint64_t{4} << 20);
  answer_all();
  EXPECT_EQ(fast_, 100);
  EXPECT_LE(most_bytes_, uint64_t{4} << 20) << "at any time";
}

TEST_F(LimitsTest, WithoutThemEachRequestIsInside) {
  create("");
  for (int i = 0; i < 20; ++i) enqueue();
  EXPECT_EQ(slow_.size(), 20u);
  EXPECT_EQ(scheduler().in_flight(), 0u);
  answer_all();
}

TEST_F(LimitsTest, TensorMemoryIsWaitedFor) {
  bench_.settings.tensor_memory_bytes = uint64_t{4} << 20;
  create("");
  enqueue(kMegabyteOfValues);
  answer_slow();  // from now on it is known what one takes
  for (int i = 0; i < 20; ++i) enqueue(kMegabyteOfValues);
  EXPECT_EQ(slow_.size(), 4u);
  EXPECT_EQ(scheduler().in_flight(), 16u);
  answer_all();
  for (auto& request : bench_.requests) EXPECT_EQ(request->response().code, Code::kOk);
  EXPECT_LE(most_bytes_, uint64_t{4} << 20);
}

TEST_F(LimitsTest, ATensorThatIsTooLargeFailsItsRequest) {
  bench_.settings.tensor_memory_bytes = 1 << 20;
  create("");
  TestRequest& large = enqueue(kMegabyteOfValues + 1);
  ASSERT_TRUE(large.done());
  EXPECT_EQ(large.response().code, Code::kResourceExhausted);
  EXPECT_THAT(
      large.response().message,
      HasSubstr("in ensemble 'e', output 'OUT' takes 1048584 bytes, the tensors between the steps of the "
                "ensemble take 0 bytes, and the limit of both is 1048576 bytes"));
  enqueue(1);
  answer_all();
}

TEST_F(LimitsTest, TheQueueHasALimit) {
  bench_.settings.queue_size_max = 3;
  create("max_inflight_requests: 1");
  for (int i = 0; i < 5; ++i) enqueue();
  EXPECT_EQ(scheduler().in_flight(), 3u);
  TestRequest& refused = bench_.add();
  refused.add_input<int64_t>("X", DataType::kInt64, {1}, {1});
  const Status status = bench_.give(refused);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "[request id: r5] Exceeds maximum queue size");
  refused.mark_accepted();
  fail_request(refused.request(), unavailable("as its caller does"));
  answer_all();
}

TEST_F(LimitsTest, WhoWaitsAndIsCancelledWaitsNoLonger) {
  create("max_inflight_requests: 1");
  TestRequest& inside = enqueue();
  TestRequest& at_the_step = enqueue();
  TestRequest& at_the_entrance = enqueue();
  EXPECT_EQ(fast_, 2);
  for (TestRequest* request : {&at_the_entrance, &at_the_step}) {
    request->cancel();
    bench_.host.run_until_idle();
    ASSERT_TRUE(request->done());
    EXPECT_EQ(request->response().code, Code::kCancelled);
  }
  EXPECT_EQ(fast_, 2);
  EXPECT_EQ(scheduler().in_flight(), 0u);
  EXPECT_FALSE(inside.done());
  answer_all();
  EXPECT_EQ(inside.response().code, Code::kOk);
}

TEST_F(LimitsTest, WhoseTimeIsUpWhenItIsItsTurnIsNotExecuted) {
  create("max_inflight_requests: 1");
  enqueue();
  enqueue();
  TestRequest& late = bench_.add();
  late->times.deadline_ns = bench_.host.clock().now_ns() + 1000;
  late.add_input<int64_t>("X", DataType::kInt64, {1}, {1});
  ASSERT_TRUE(bench_.give(late).ok());
  bench_.host.run_for(2000);
  answer_all();
  EXPECT_EQ(late.response().code, Code::kCancelled);
  EXPECT_EQ(fast_, 2);
}

TEST_F(LimitsTest, OnesThatAreStoppedAcceptNothing) {
  create("");
  enqueue();
  scheduler().stop_accepting();
  TestRequest& refused = bench_.add();
  refused.add_input<int64_t>("X", DataType::kInt64, {1}, {1});
  EXPECT_EQ(bench_.give(refused).code(), Code::kUnavailable);
  refused.mark_accepted();
  fail_request(refused.request(), unavailable("as its caller does"));
  TestRequest& step = bench_.add();
  step.add_input<int64_t>("X", DataType::kInt64, {1}, {1});
  step->call_flags = kIsStep;
  EXPECT_TRUE(bench_.give(step).ok());
  answer_all();
}

}  // namespace
}  // namespace atl::ensemble
