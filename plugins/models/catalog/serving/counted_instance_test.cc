#include "models/catalog/serving/counted_instance.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "atoll/backend/room.h"

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
  CountedInstance instance(std::make_unique<Watched>(order), 0);
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

/// Takes two requests at a time and answers them on another thread.
class Slow final : public BackendInstance {
 public:
  ~Slow() override { answers_.join(); }
  Status execute(const Batch& batch) noexcept override {
    EXPECT_LE(batch.total_batch_size, room_.left());
    room_.take(batch.total_batch_size);
    if (answers_.joinable()) answers_.join();
    answers_ = std::thread([this, weight = batch.total_batch_size] { room_.give_back(weight); });
    return {};
  }
  uint32_t room() const noexcept override { return room_.left(); }
  bool add_room_listener(RoomListener& listener) noexcept override { return room_.add_listener(listener); }
  void remove_room_listener(RoomListener& listener) noexcept override { room_.remove_listener(listener); }

 private:
  backends::Room room_{2};
  std::thread answers_;
};

struct CountingListener final : RoomListener {
  void on_room() noexcept override { ++told; }
  std::atomic<int> told{0};
};

TEST(CountedInstance, SchedulersThatDoNotSeeEachOtherKeepToItsRoom) {
  constexpr int kBatches = 100;
  CountingListener first, second;
  {
    CountedInstance instance(std::make_unique<Slow>(), 0);
    EXPECT_TRUE(instance.add_room_listener(first));
    EXPECT_TRUE(instance.add_room_listener(second));
    EXPECT_EQ(instance.room(), 2u);
    auto run = [&] {
      Batch batch;
      batch.total_batch_size = 2;
      for (int i = 0; i < kBatches; ++i) EXPECT_TRUE(instance.execute(batch).ok());
    };
    std::thread other(run);
    run();
    other.join();
    while (instance.room() != 2) std::this_thread::yield();
    instance.remove_room_listener(second);
    instance.remove_room_listener(first);
  }
  EXPECT_GE(first.told, 2 * kBatches - 1);
}

TEST(CountedInstance, NamesTheExecutionThatItIsIn) {
  struct Looks final : BackendInstance {
    Status execute(const Batch&) noexcept override {
      seen.push_back(counted->execution());
      return {};
    }
    CountedInstance* counted = nullptr;
    std::vector<uint64_t> seen;
  };
  auto made = std::make_unique<Looks>();
  Looks& looks = *made;
  CountedInstance instance(std::move(made), 0);
  looks.counted = &instance;
  Request request;
  Request* requests[] = {&request};
  Batch batch;
  batch.requests = requests;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(instance.execute(batch).ok());
  EXPECT_EQ(instance.execution(), 0u);
  EXPECT_NE(looks.seen[0], 0u);
  EXPECT_NE(looks.seen[0], looks.seen[1]);
}

TEST(CountedInstance, OneThatAnswersLaterIsInAnExecutionUntilItHasItsRoomAgain) {
  struct Later final : BackendInstance {
    Status execute(const Batch& batch) noexcept override {
      left -= batch.total_batch_size;
      return {};
    }
    uint32_t room() const noexcept override { return left; }
    bool add_room_listener(RoomListener&) noexcept override { return true; }
    uint32_t left = 2;
  };
  auto made = std::make_unique<Later>();
  Later& later = *made;
  CountedInstance instance(std::move(made), 0);
  CountingListener listener;
  EXPECT_TRUE(instance.add_room_listener(listener));
  EXPECT_EQ(instance.execution(), 0u);
  Batch batch;
  batch.total_batch_size = 1;
  EXPECT_TRUE(instance.execute(batch).ok());
  const uint64_t first = instance.execution();
  EXPECT_NE(first, 0u);
  EXPECT_EQ(instance.execution(), first);
  later.left = 2;
  EXPECT_EQ(instance.execution(), 0u);
  EXPECT_TRUE(instance.execute(batch).ok());
  EXPECT_NE(instance.execution(), first);
}

/// Of the oldest backends, whose instances have no such function: calling it there would be the end.
struct Reasoned final : BackendInstance {
  Status execute(const Batch&) noexcept override { return {}; }
  bool ready() const noexcept override { return false; }
  std::string unready_reason() const override { return "GPU 0 is lost"; }
};

TEST(CountedInstance, AsksForAReasonWhereThereMayBeOne) {
  EXPECT_EQ(CountedInstance(std::make_unique<Reasoned>(), 1).unready_reason(), "");
  EXPECT_EQ(CountedInstance(std::make_unique<Reasoned>(), 2).unready_reason(), "GPU 0 is lost");
}

}  // namespace
}  // namespace atl::models
