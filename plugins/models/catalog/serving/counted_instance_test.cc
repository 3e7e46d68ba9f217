#include "models/catalog/serving/counted_instance.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace atl::models {
namespace {

/// Notes who executes, and whether two do at a time.
class Watched final : public BackendInstance {
 public:
  explicit Watched(std::vector<int64_t>& order) : order_(order) {}
  Status execute(const Batch& batch) noexcept override {
    EXPECT_FALSE(inside_.exchange(true));
    order_.push_back(batch.deadline_ns);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    inside_.store(false);
    return {};
  }
  bool ready() const noexcept override { return true; }

 private:
  std::vector<int64_t>& order_;
  std::atomic<bool> inside_{false};
};

TEST(CountedInstance, TwoSchedulersTakeTurns) {
  constexpr int kBatches = 300;
  std::vector<int64_t> order;
  CountedInstance instance(std::make_unique<Watched>(order));
  std::atomic<int> there{0};
  auto run = [&](int64_t who) {
    Batch batch;
    batch.deadline_ns = who;
    ++there;
    while (there != 2) std::this_thread::yield();
    for (int i = 0; i < kBatches; ++i) EXPECT_TRUE(instance.execute(batch).ok());
  };
  std::thread other(run, 1);
  run(2);
  other.join();
  ASSERT_EQ(order.size(), 2u * kBatches);
  // Neither ran its batches while the other one waited for all of them.
  size_t changes = 0;
  for (size_t i = 1; i < order.size(); ++i) changes += order[i] != order[i - 1];
  EXPECT_GT(changes, size_t{kBatches} / 10);
}

}  // namespace
}  // namespace atl::models
