#include "frontends/common/call/post_list.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace atl::frontends {
namespace {

struct List final : PostList {
  void wake() noexcept override { ++wakes; }
  void run() noexcept { run_posted(); }
  std::atomic<int> wakes{0};
};

struct Item final : Posted {
  Item(std::vector<int>* to, int value) : order(to), number(value) {}
  void on_posted() noexcept override {
    order->push_back(number);
    if (again != nullptr) again->post(*this);
    again = nullptr;
  }
  std::vector<int>* order;
  int number;
  List* again = nullptr;
};

TEST(PostListTest, RunsInOrderWithOneWakeUp) {
  List list;
  std::vector<int> order;
  Item first(&order, 1);
  Item second(&order, 2);
  list.post(first);
  list.post(second);
  EXPECT_EQ(list.wakes, 1);
  list.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  list.post(first);
  EXPECT_EQ(list.wakes, 2);
  list.run();
  EXPECT_EQ(order.size(), 3u);
}

TEST(PostListTest, WhatIsPostedWhileItRunsWaitsForItsOwnWakeUp) {
  List list;
  std::vector<int> order;
  Item item(&order, 1);
  item.again = &list;
  list.post(item);
  list.run();
  EXPECT_EQ(order.size(), 1u);
  EXPECT_EQ(list.wakes, 2);
  list.run();
  EXPECT_EQ(order.size(), 2u);
}

TEST(PostListTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kEach = 1000;
  List list;
  std::vector<int> order;
  std::vector<Item> items(kThreads * kEach, Item(&order, 0));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        items[static_cast<size_t>(t * kEach + i)].number = i;
        list.post(items[static_cast<size_t>(t * kEach + i)]);
      }
    });
  }
  while (order.size() < items.size()) list.run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(list.nobody_posts());
  EXPECT_EQ(order.size(), items.size());
}

}  // namespace
}  // namespace atl::frontends
