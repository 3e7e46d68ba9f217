#include "schedulers/common/batch/recheck_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "atoll/testing/fake_host.h"

namespace atl::schedulers {
namespace {

using test::FakeHost;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// As a scheduler uses its timer.
class Looker final : public RecheckListener {
 public:
  Looker(FakeHost& host, AnswerThread thread)
      : clock_(host.clock()), timer_(std::move(thread), *this, inside_) {}
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;
  virtual ~Looker() {
    timer_.stop();
    wait_until_nobody_is_inside(inside_);
  }
  void arm(int64_t at_ns) {
    std::lock_guard lock(mutex_);
    timer_.arm(at_ns);
  }
  void recheck() noexcept override {
    std::lock_guard lock(mutex_);
    ++calls;
    looks.push_back(clock_.now_ns());
    timer_.fired(looks.back());
    if (again_in_ns != 0) timer_.arm(looks.back() + again_in_ns);
  }
  std::vector<int64_t> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(looks, {});
  }
  std::vector<int64_t> looks;
  int64_t again_in_ns = 0;
  static inline uint64_t calls = 0;  ///< of all of them

 private:
  Clock& clock_;
  std::atomic<uint32_t> inside_{0};
  std::mutex mutex_;
  RecheckTimer timer_;
};

class RecheckTimerTest : public ::testing::Test {
 protected:
  RecheckTimerTest() : looker_(std::make_unique<Looker>(host_, threads_.get(host_.executors()).value())) {}
  ~RecheckTimerTest() override { looker_.reset(); }

  FakeHost host_;
  int64_t start_ns_ = host_.clock().now_ns();
  AnswerThreads threads_;
  std::unique_ptr<Looker> looker_;
};

TEST_F(RecheckTimerTest, CallsOnce) {
  looker_->arm(start_ns_ + 10);
  host_.run_until(start_ns_ + 9);
  EXPECT_THAT(looker_->take(), IsEmpty());
  host_.run_until(start_ns_ + 100);
  EXPECT_THAT(looker_->take(), ElementsAre(start_ns_ + 10));
  EXPECT_EQ(host_.simulation().pending_timers(), 0u);
}

TEST_F(RecheckTimerTest, NeverAsksForNothing) {
  looker_->arm(DeadlineHeap::kNever);
  EXPECT_EQ(host_.simulation().pending_timers(), 0u);
}

TEST_F(RecheckTimerTest, ATimeInThePastIsNow) {
  looker_->arm(start_ns_ - 10);
  host_.run_ready();
  EXPECT_THAT(looker_->take(), ElementsAre(start_ns_));
}

TEST_F(RecheckTimerTest, TheEarliestCounts) {
  for (int64_t in_ns : {50, 80, 20, 30, 20}) looker_->arm(start_ns_ + in_ns);
  EXPECT_EQ(host_.simulation().pending_timers(), 1u);
  host_.run_until_idle();
  EXPECT_THAT(looker_->take(), ElementsAre(start_ns_ + 20));
}

TEST_F(RecheckTimerTest, ItCanBeArmedAgainWhenItHasFired) {
  looker_->again_in_ns = 5;
  looker_->arm(start_ns_ + 10);
  host_.run_until(start_ns_ + 21);
  EXPECT_THAT(looker_->take(), ElementsAre(start_ns_ + 10, start_ns_ + 15, start_ns_ + 20));
  looker_->again_in_ns = 0;
  host_.run_until_idle();
  looker_->take();
  looker_->arm(start_ns_ + 100);
  host_.run_until_idle();
  EXPECT_THAT(looker_->take(), ElementsAre(start_ns_ + 100));
}

TEST_F(RecheckTimerTest, ACallWithoutNeedLeavesItArmed) {
  looker_->arm(start_ns_ + 10);
  looker_->recheck();
  looker_->take();
  host_.run_until_idle();
  EXPECT_THAT(looker_->take(), ElementsAre(start_ns_ + 10));
}

TEST_F(RecheckTimerTest, NothingIsLeftOfOneThatIsGone) {
  looker_->arm(start_ns_ + 10);
  AnswerThread thread = threads_.get(host_.executors()).value();
  looker_.reset();
  EXPECT_EQ(host_.simulation().pending_timers(), 0u) << "a timer may be armed for hours";
  host_.run_until_idle();
}

TEST_F(RecheckTimerTest, OneThatIsGoneIsNotCalledByATaskThatWaits) {
  AnswerThread thread = threads_.get(host_.executors()).value();
  bool ran = false;
  thread->post_at(start_ns_ + 10, make_task([&] { ran = true; }));
  looker_->arm(start_ns_ + 10);
  host_.fake_clock().advance(10);
  host_.simulation().run_ready(1);
  EXPECT_TRUE(ran) << "both are due, so the second cannot be cancelled any more";
  uint64_t before = Looker::calls;
  looker_.reset();
  host_.run_until_idle();
  EXPECT_EQ(Looker::calls, before);
}

TEST(LookTimerThreads, IsDestroyedWhileItCalls) {
  FakeHost host("test", FakeHost::Threads::kReal);
  AnswerThreads threads;
  AnswerThread thread = threads.get(host.executors()).value();
  for (int round = 0; round < 2'000; ++round) {
    Looker looker(host, thread);
    looker.again_in_ns = 1'000;
    looker.arm(host.clock().now_ns());
    for (int spin = round % 40; spin > 0; --spin) looker.arm(host.clock().now_ns() + 5'000);
  }
}

}  // namespace
}  // namespace atl::schedulers
