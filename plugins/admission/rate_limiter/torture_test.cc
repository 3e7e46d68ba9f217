/// Threads whose instances ask, execute, withdraw, insist, come and go; for the sanitizers above all.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "admission/rate_limiter/rate_limiter.h"
#include "atoll/testing/random.h"
#include "atoll/testing/recorded_metrics.h"
#include "atoll/testing/thread_executor.h"

namespace atl::admission {
namespace {

constexpr uint32_t kCopies = 3;
constexpr int kThreads = 4;
constexpr int kRounds = 40000;

/// Whoever is told notes it; the thread that waits looks.
class Waiter final : public AdmissionListener {
 public:
  virtual ~Waiter() = default;
  void admitted(void*) noexcept override {
    std::scoped_lock lock(mutex_);
    ++told_;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return told_ != 0; });
    EXPECT_EQ(told_, 1);
    told_ = 0;
  }
  int take_told() {
    std::scoped_lock lock(mutex_);
    return std::exchange(told_, 0);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int told_ = 0;
};

/// What is used at the moment, counted beside the limiter.
struct Used {
  const bool is_limited;  ///< nobody insists
  std::array<std::atomic<int64_t>, 3> copies{};

  void take(const std::vector<ExecutionResource>& resources) {
    for (const auto& resource : resources) {
      int64_t used = copies[resource.name[1] - '0'] += resource.count;
      if (is_limited) {
        EXPECT_LE(used, kCopies);
      }
    }
  }
  void give_back(const std::vector<ExecutionResource>& resources) {
    for (const auto& resource : resources) copies[resource.name[1] - '0'] -= resource.count;
  }
};

std::vector<ExecutionResource> random_needs(test::Random& random) {
  std::vector<ExecutionResource> needs;
  for (int i = 0; i < 3; ++i) {
    if (random.chance(50))
      needs.push_back({cat("R", i), 1 + static_cast<uint32_t>(random.below(kCopies)), i == 2});
  }
  return needs;
}

struct Totals {
  double in_use = 0, waiting = 0, pools = 0;
};
Totals totals(const RateLimiter& limiter) {
  std::map<std::string, double> sums;
  const test::RecordedMetrics scrape(limiter);
  for (const test::RecordedFamily& family : scrape.families()) {
    for (const test::RecordedSample& sample : family.samples) sums[family.name] += sample.value;
  }
  return {sums["atoll_rate_limiter_resource_copies_in_use"], sums["atoll_rate_limiter_waiting_instances"],
          sums["atoll_rate_limiter_resource_copies"]};
}

/// One model: its instance is loaded, used for a while and unloaded, again and again.
void live(RateLimiter& limiter, Used& used, uint64_t seed, bool insists) {
  test::Random random(seed);
  Waiter waiter;
  for (int round = 0; round < kRounds;) {
    ExecutionDemand demand;
    demand.model = cat("m", seed);
    demand.priority = 1 + static_cast<uint32_t>(random.below(3));
    demand.resources = random_needs(random);
    auto instance = limiter.add_instance(demand);
    ASSERT_TRUE(instance.ok()) << instance.status().text();
    AdmittedInstance& own = **instance;
    for (uint64_t left = random.below(50); left > 0; --left, ++round) {
      bool insisted = insists && random.chance(5);
      bool admitted = own.ask(waiter, nullptr, insisted);
      ASSERT_TRUE(admitted || !insisted);
      if (!admitted && random.chance(20)) {
        if (own.withdraw()) {
          ASSERT_EQ(waiter.take_told(), 0);
          continue;
        }
        ASSERT_EQ(waiter.take_told(), 1) << "admitted meanwhile";
      } else if (!admitted) {
        if (insists && random.chance(5)) own.insist();
        waiter.wait();
        (void)own.withdraw();
      }
      used.take(demand.resources);
      if (random.chance(30)) std::this_thread::yield();
      used.give_back(demand.resources);
      own.end(random.chance(90));
    }
    if (random.chance(50)) {  // gone in the middle of an execution
      if (!own.ask(waiter, nullptr, false) && own.withdraw()) continue;
      (void)waiter.take_told();
    }
  }
}

void torture(bool insists) {
  test::ThreadExecutors threads;
  auto limits = ResourceLimits::parse({cat("R0:", kCopies), cat("R1:", kCopies), cat("R2:", kCopies)});
  RateLimiter limiter(std::move(limits).value(), threads.clock());
  Used used{.is_limited = !insists};
  std::atomic<bool> ended{false};
  std::thread scrapes([&] {
    while (!ended) {
      (void)totals(limiter);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> models;
  for (uint64_t i = 1; i <= kThreads; ++i) {
    models.emplace_back([&, i] { live(limiter, used, i, insists); });
  }
  for (std::thread& model : models) model.join();
  ended = true;
  scrapes.join();
  Totals left = totals(limiter);
  EXPECT_EQ(left.in_use + left.waiting + left.pools, 0);
}

TEST(RateLimiterTorture, NothingIsLostAndNothingIsUsedTwice) { torture(false); }
TEST(RateLimiterTorture, WithSomeThatInsist) { torture(true); }

}  // namespace
}  // namespace atl::admission
