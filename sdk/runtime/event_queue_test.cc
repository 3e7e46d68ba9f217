#include "atoll/runtime/event_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "atoll/core/text.h"

namespace atl::runtime {
namespace {

struct Moved {
  static constexpr std::string_view kEventId = "test.moved/1";
  FixedText<16> name;
  int64_t value = 0;
  std::string_view key() const noexcept { return name.view(); }
};

class ErrorCount final : public Log {
 public:
  bool enabled(LogLevel) const noexcept override { return true; }
  void write(LogLevel, std::string_view) noexcept override { errors.fetch_add(1); }
  std::atomic<int> errors{0};
};

using Handler = std::function<void(const Moved&)>;

class EventQueueTest : public testing::Test {
 public:
  static Moved moved(std::string_view name, int64_t value) {
    Moved event;
    event.name = name;
    event.value = value;
    return event;
  }
  Handler note() {
    return [this](const Moved& event) { seen += cat(event.name.view(), event.value, " "); };
  }
  ErrorCount log;
  int wakes = 0;
  EventQueue queue{[this] { ++wakes; }, log};
  InstanceEvents bus{queue};
  std::string seen;
};

TEST_F(EventQueueTest, DeliversInOneOrderToAll) {
  Subscription<Moved, Handler> a([this](const Moved& event) { seen += cat("a", event.value); });
  Subscription<Moved, Handler> b([this](const Moved& event) { seen += cat("b", event.value); });
  ASSERT_TRUE(a.open(bus).ok());
  ASSERT_TRUE(b.open(bus).ok());
  bus.publish(moved("x", 1));
  bus.publish(moved("y", 2));
  EXPECT_EQ(seen, "");
  EXPECT_EQ(wakes, 1);
  queue.deliver();
  EXPECT_EQ(seen, "a1b1a2b2");
}

TEST_F(EventQueueTest, CoalescesByKey) {
  Subscription<Moved, Handler> subscription(note());
  ASSERT_TRUE(subscription.open(bus).ok());
  bus.publish(moved("x", 1));
  bus.publish(moved("y", 2));
  bus.publish(moved("x", 3));
  queue.deliver();
  EXPECT_EQ(seen, "x3 y2 ");
  bus.publish(moved("x", 4));
  queue.deliver();
  EXPECT_EQ(seen, "x3 y2 x4 ");
}

TEST_F(EventQueueTest, DropsTheOldestAndCountsIt) {
  auto id = bus.subscribe_raw(
      Moved::kEventId, sizeof(Moved), {2, Overflow::kDropOldest},
      [](void* context, const void* event) {
        static_cast<EventQueueTest*>(context)->note()(*static_cast<const Moved*>(event));
      },
      this);
  ASSERT_TRUE(id.ok());
  for (int i = 0; i < 5; ++i) bus.publish(moved("x", i));
  EXPECT_EQ(bus.dropped(id.value()), 3u);
  queue.deliver();
  EXPECT_EQ(seen, "x3 x4 ");
  bus.unsubscribe(id.value());
  EXPECT_EQ(bus.dropped(id.value()), 0u);
}

TEST_F(EventQueueTest, CoalescingQueuesAreBoundedToo) {
  Subscription<Moved, Handler> subscription(note());
  ASSERT_TRUE(subscription.open(bus, {2, Overflow::kCoalesce}).ok());
  for (char c : std::string("abcd")) bus.publish(moved(std::string(1, c), 1));
  queue.deliver();
  EXPECT_EQ(seen, "c1 d1 ");
}

TEST_F(EventQueueTest, PresentStateComesFirst) {
  bus.publish(moved("x", 1));
  bus.publish(moved("x", 2));
  bus.publish(moved("y", 3));
  bus.publish(moved("z", 4));
  bus.publish(moved("n", 5), false);
  bus.forget(Moved::kEventId, "z");
  Subscription<Moved, Handler> subscription(note());
  // A depth of one does not cut the present state short.
  ASSERT_TRUE(subscription.open(bus, {1, Overflow::kDropOldest}).ok());
  bus.publish(moved("w", 6));
  queue.deliver();
  EXPECT_EQ(seen, "x2 y3 w6 ");
}

TEST_F(EventQueueTest, HandlersMayPublishSubscribeAndUnsubscribe) {
  Subscription<Moved, Handler> inner(note());
  Subscription<Moved, Handler>* self = nullptr;
  Subscription<Moved, Handler> outer([&](const Moved& event) {
    if (event.value != 1) return;
    ASSERT_TRUE(inner.open(bus).ok());
    bus.publish(moved("y", 2), false);
    self->reset();
  });
  self = &outer;
  ASSERT_TRUE(outer.open(bus).ok());
  bus.publish(moved("x", 1), false);
  queue.deliver();
  EXPECT_EQ(seen, "y2 ");
  EXPECT_EQ(queue.subscriptions(), 1u);
}

TEST_F(EventQueueTest, UnsubscribeWaitsForARunningHandler) {
  std::promise<void> entered;
  std::promise<void> go;
  std::shared_future<void> may_go = go.get_future().share();
  std::atomic<bool> left{false};
  Subscription<Moved, Handler> subscription([&](const Moved&) {
    entered.set_value();
    may_go.wait();
    left.store(true);
  });
  ASSERT_TRUE(subscription.open(bus).ok());
  bus.publish(moved("x", 1));
  std::thread control([&] { queue.deliver(); });
  entered.get_future().wait();
  std::thread other([&] {
    subscription.reset();
    EXPECT_TRUE(left.load());
  });
  go.set_value();
  other.join();
  control.join();
}

TEST_F(EventQueueTest, AHandlerThatThrowsIsCaughtAndCounted) {
  Subscription<Moved, Handler> bad([](const Moved&) { throw std::runtime_error("x"); });
  Subscription<Moved, Handler> good(note());
  ASSERT_TRUE(bad.open(bus).ok());
  ASSERT_TRUE(good.open(bus).ok());
  bus.publish(moved("x", 1));
  queue.deliver();
  EXPECT_EQ(seen, "x1 ");
  EXPECT_EQ(queue.handler_throws(), 1u);
  EXPECT_EQ(log.errors.load(), 1);
}

TEST_F(EventQueueTest, RefusesWhatDoesNotFit) {
  auto nothing = [](void*, const void*) {};
  EXPECT_EQ(bus.subscribe_raw("e", 8, {0, Overflow::kCoalesce}, nothing, nullptr).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(bus.subscribe_raw("e", 8, {65537, Overflow::kCoalesce}, nothing, nullptr).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(bus.subscribe_raw("e", 4097, {}, nothing, nullptr).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(bus.subscribe_raw("e", 8, {}, nothing, nullptr).ok());
  EXPECT_EQ(bus.subscribe_raw("e", 16, {}, nothing, nullptr).status().code(), Code::kInvalidArgument);
  char bytes[16] = {};
  bus.publish_raw("e", "k", bytes, 16, true);
  EXPECT_EQ(log.errors.load(), 1);
}

TEST_F(EventQueueTest, WhatAnInstanceLeftOpenIsFoundAndEnded) {
  auto nothing = [](void*, const void*) {};
  ASSERT_TRUE(bus.subscribe_raw("a", 8, {}, nothing, nullptr).ok());
  ASSERT_TRUE(bus.subscribe_raw("b", 8, {}, nothing, nullptr).ok());
  EXPECT_EQ(bus.end_all(), 2u);
  EXPECT_EQ(bus.end_all(), 0u);
  EXPECT_EQ(queue.subscriptions(), 0u);
}

TEST_F(EventQueueTest, ManyPublishersLoseNothingWithinTheDepth) {
  std::atomic<int> seen_count{0};
  Subscription<Moved, Handler> subscription([&](const Moved&) { seen_count.fetch_add(1); });
  EventQueue many([] {}, log);
  InstanceEvents many_bus(many);
  ASSERT_TRUE(subscription.open(many_bus, {65536, Overflow::kDropOldest}).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) many_bus.publish(moved("x", i));
    });
  }
  while (seen_count.load() < 1000) many.deliver();
  for (std::thread& thread : threads) thread.join();
  many.deliver();
  EXPECT_EQ(seen_count.load(), 2000);
  subscription.reset();
}

}  // namespace
}  // namespace atl::runtime
