/// The fakes keep the promises of the interfaces they stand for.
#include <gtest/gtest.h>

#include "atoll/core/events.h"
#include "atoll/memory/memory.h"
#include "atoll/testing/fake_host.h"

namespace atl::test {
namespace {

std::vector<int> order_of(uint64_t seed) {
  FakeClock clock;
  DeterministicExecutors executors(clock, seed);
  std::vector<SerialExecutorPtr> made;
  std::vector<int> order;
  for (int e = 0; e < 4; ++e) {
    made.push_back(executors.create("e", {}).value());
    for (int i = 0; i < 5; ++i) made.back()->post(make_task([&order, e, i] { order.push_back(e * 10 + i); }));
  }
  EXPECT_EQ(executors.run_until_idle(), 20u);
  return order;
}

TEST(DeterministicExecutors, TheSeedDecidesTheOrder) {
  EXPECT_EQ(order_of(1), order_of(1));
  EXPECT_NE(order_of(1), order_of(2));
  std::vector<int> order = order_of(3);
  for (int e = 0; e < 4; ++e) {
    std::vector<int> own;
    for (int task : order) {
      if (task / 10 == e) own.push_back(task % 10);
    }
    EXPECT_EQ(own, (std::vector<int>{0, 1, 2, 3, 4})) << "one executor keeps its order";
  }
}

TEST(DeterministicExecutors, TimersMoveTheClock) {
  FakeClock clock(0);
  DeterministicExecutors executors(clock, 1);
  auto executor = executors.create("e", {}).value();
  std::vector<int64_t> fired;
  for (int64_t at : {30, 10, 20}) {
    EXPECT_NE(executor->post_at(at, make_task([&] { fired.push_back(clock.now_ns()); })), 0u);
  }
  executors.run_until(20);
  EXPECT_EQ(fired, (std::vector<int64_t>{10, 20}));
  EXPECT_EQ(clock.now_ns(), 20);
  EXPECT_FALSE(executors.idle());
  executors.run_until_idle();
  EXPECT_EQ(clock.now_ns(), 30);
  EXPECT_TRUE(executors.idle());
}

TEST(DeterministicExecutors, CancelledTimersDoNotRun) {
  FakeClock clock;
  DeterministicExecutors executors(clock, 1);
  auto executor = executors.create("e", {}).value();
  int ran = 0;
  std::vector<TimerId> timers;
  for (int i = 0; i < 1000; ++i)
    timers.push_back(executor->post_at(clock.now_ns() + i, make_task([&] { ++ran; })));
  for (size_t i = 0; i < timers.size(); i += 2) EXPECT_TRUE(executor->cancel(timers[i]));
  EXPECT_FALSE(executor->cancel(timers[0])) << "a second time";
  EXPECT_FALSE(executor->cancel(0));
  executors.run_until_idle();
  EXPECT_EQ(ran, 500);
  EXPECT_FALSE(executor->cancel(timers[1])) << "it ran";
}

TEST(DeterministicExecutors, DestroyDropsWhatDidNotRun) {
  FakeClock clock;
  DeterministicExecutors executors(clock, 1);
  auto witness = std::make_shared<int>(0);
  {
    auto executor = executors.create("e", {}).value();
    executor->post(make_task([witness] { ++*witness; }));
    (void)executor->post_at(clock.now_ns() + 5, make_task([witness] { ++*witness; }));
    EXPECT_EQ(witness.use_count(), 3);
  }
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_EQ(executors.run_until_idle(), 0u);
  EXPECT_EQ(*witness, 0);
}

TEST(ThreadExecutors, RunsInOrderAndOnTime) {
  ThreadExecutors executors;
  auto executor = executors.create("e", {}).value();
  std::mutex mutex;
  std::condition_variable done;
  std::vector<int> order;
  auto record = [&](int i) {
    std::lock_guard lock(mutex);
    order.push_back(i);
    done.notify_all();
  };
  int64_t deadline = executors.clock().now_ns() + 2 * kNsPerMs;
  (void)executor->post_at(deadline,
                          make_task([&] { record(executors.clock().now_ns() >= deadline ? 100 : -1); }));
  for (int i = 0; i < 5; ++i) executor->post(make_task([&, i] { record(executor->is_current() ? i : -1); }));
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return order.size() == 6; });
  // A slow machine may reach the deadline before the posts.
  EXPECT_EQ(std::erase(order, 100), 1u);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_FALSE(executor->is_current());
}

TEST(FakeHost, RunsControlEventsAndWorkersTogether) {
  FakeHost host;
  std::string trace;
  auto handler = [&](const ServerStateChanged&) {
    trace += 'e';
    host.workers().run(make_task([&] { trace += 'w'; }));
  };
  Subscription<ServerStateChanged, decltype(handler)> subscription(handler);
  ASSERT_TRUE(subscription.open(host.events()).ok());
  host.post_control(make_task([&] {
    trace += 'c';
    host.events().publish(ServerStateChanged{});
  }));
  host.run_ready();
  EXPECT_EQ(trace, "cew");
}

TEST(FakeHostDeathTest, AskingForAnOptionThatIsNotThereEndsTheProcess) {
  FakeHost host;
  host.options().set_int("port", 1);
  EXPECT_DEATH((void)host.options().get_string("name"),
               "option 'name' is asked for as string; found: it is not set");
  EXPECT_DEATH((void)host.options().get_string("port"), "option 'port' is asked for as string; found: int");
}

TEST(FakeEventBus, PresentStateComesFirstAndKeysCoalesce) {
  FakeEventBus bus;
  ModelStateChanged event;
  event.key_text = FixedText<288>("m/1");
  event.state = ModelStateChanged::State::kLoading;
  bus.publish(event);
  std::vector<uint32_t> states;
  auto handler = [&](const ModelStateChanged& got) { states.push_back(static_cast<uint32_t>(got.state)); };
  Subscription<ModelStateChanged, decltype(handler)> subscription(handler);
  ASSERT_TRUE(subscription.open(bus).ok());
  EXPECT_EQ(bus.deliver(), 1u);
  for (uint32_t state : {2u, 3u, 4u}) {
    event.state = static_cast<ModelStateChanged::State>(state);
    bus.publish(event);
  }
  EXPECT_EQ(bus.deliver(), 1u);
  EXPECT_EQ(states, (std::vector<uint32_t>{1, 4}));
  subscription.reset();
  bus.publish(event);
  EXPECT_EQ(bus.deliver(), 0u);
  EXPECT_EQ(bus.retained<ModelStateChanged>().size(), 1u);
}

TEST(FakeEventBus, FullQueuesDropTheOldestAndCountIt) {
  FakeEventBus bus;
  int got = 0;
  auto id = bus.subscribe_raw(
      "test/1", 4, {2, Overflow::kDropOldest},
      [](void* context, const void*) { ++*static_cast<int*>(context); }, &got);
  ASSERT_TRUE(id.ok());
  for (uint32_t i = 0; i < 5; ++i) bus.publish_raw("test/1", "k", &i, 4, false);
  EXPECT_EQ(bus.dropped(id.value()), 3u);
  EXPECT_EQ(bus.deliver(), 2u);
  EXPECT_EQ(got, 2);
  EXPECT_EQ(bus.subscribe_raw("test/1", 8, {}, nullptr, nullptr).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(bus.subscribe_raw("test/1", 4, {0}, nullptr, nullptr).status().code(), Code::kInvalidArgument);
}

TEST(FakeRegistry, FindsByNameAndByRank) {
  FakeRegistry registry;
  int first = 0, second = 0;
  EXPECT_EQ(registry.acquire("x/1", "").status().code(), Code::kNotFound);
  registry.publish_raw("x/1", "a", &first);
  registry.publish_raw("x/1", "b", &second);
  EXPECT_EQ(registry.acquire("x/1", "").status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(registry.acquire("x/1", "b").value().implementation, &second);
  registry.publish_raw("x/1", "a", &first, 5);
  EXPECT_EQ(registry.acquire("x/1", "").value().implementation, &first);
  EXPECT_EQ(registry.holders("x/1"), 2u);
  registry.release(1);
  registry.release(1);
  EXPECT_EQ(registry.holders("x/1"), 1u);
  EXPECT_EQ(registry.wrong_releases(), 1u);
  EXPECT_EQ(registry.list("x/1").size(), 2u);
}

TEST(Fakes, ACodeIsPrintedByName) { EXPECT_EQ(::testing::PrintToString(Code::kNotFound), "NOT_FOUND"); }

}  // namespace
}  // namespace atl::test
