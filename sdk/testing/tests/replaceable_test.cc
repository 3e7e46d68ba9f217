#include "atoll/core/replaceable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace atl {
namespace {

/// Counts how many of its kind there are.
class Counted {
 public:
  Counted(int value, std::atomic<int>& alive) : number(value), alive_(&alive) { ++*alive_; }
  Counted(Counted&& other) noexcept : number(other.number), alive_(std::exchange(other.alive_, nullptr)) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted() {
    if (alive_ != nullptr) --*alive_;
  }
  const int number;

 private:
  std::atomic<int>* alive_;
};

class ReplaceableTest : public ::testing::Test {
 protected:
  Counted make(int number) { return Counted(number, alive_); }
  std::atomic<int> alive_{0};
};

TEST_F(ReplaceableTest, HasNoValueAtFirst) {
  Replaceable<Counted> value;
  EXPECT_FALSE(value.has_value());
  EXPECT_FALSE(value.hold());
  EXPECT_EQ(value.value(), nullptr);
}

TEST_F(ReplaceableTest, AHoldKeepsTheValueThatItBeganWith) {
  Replaceable<Counted> value;
  value.replace(make(1));
  auto before = value.hold();
  value.replace(make(2));
  EXPECT_EQ(before->number, 1);
  EXPECT_TRUE(before.is_outdated());
  EXPECT_EQ(value.hold()->number, 2);
  EXPECT_EQ(value.value()->number, 2);
  EXPECT_EQ(alive_, 2);
  before.reset();
  EXPECT_EQ(alive_, 1) << "the last hold destroys its value";
  value.replace(std::nullopt);
  EXPECT_EQ(alive_, 0);
  EXPECT_FALSE(value.hold());
}

TEST_F(ReplaceableTest, ThePassIsLeftWithTheLastHold) {
  Gate gate;
  Replaceable<Counted> value;
  value.replace(make(1), Pass(gate));
  auto hold = value.hold();
  value.replace(std::nullopt);
  EXPECT_EQ(gate.count(), 1);
  auto moved = std::move(hold);
  EXPECT_EQ(gate.count(), 1);
  moved.reset();
  EXPECT_EQ(gate.count(), 0);
}

TEST_F(ReplaceableTest, CloseWaitsForEveryHold) {
  Replaceable<Counted> value;
  value.replace(make(1));
  auto hold = value.hold();
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    value.close();
    closed = true;
  });
  while (!hold.is_outdated()) std::this_thread::yield();
  EXPECT_FALSE(closed);
  EXPECT_EQ(alive_, 1);
  hold.reset();
  closer.join();
  EXPECT_EQ(alive_, 0);
}

TEST_F(ReplaceableTest, ReadersNeverSeeAValueThatIsGone) {
  constexpr int kValues = 3000;
  Replaceable<std::unique_ptr<Counted>> value;
  value.replace(std::make_unique<Counted>(0, alive_));
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      int newest = 0;
      while (!done) {
        auto hold = value.hold();
        ASSERT_TRUE(hold);
        EXPECT_GE((*hold)->number, newest) << "an older value came back";
        newest = (*hold)->number;
      }
    });
  }
  for (int i = 1; i < kValues; ++i) value.replace(std::make_unique<Counted>(i, alive_));
  done = true;
  for (std::thread& reader : readers) reader.join();
  value.close();
  EXPECT_EQ(alive_, 0);
}

}  // namespace
}  // namespace atl
