#include "atoll/core/followed_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "atoll/testing/followed_fake.h"

namespace atl {
namespace {

class Counter {
 public:
  static constexpr std::string_view kInterfaceId = "test.counter/1";
  explicit Counter(int number) : number_(number) {}
  int number() noexcept {
    ++calls;
    return number_;
  }
  std::atomic<uint64_t> calls{0};

 private:
  const int number_;
};

class FollowedTest : public ::testing::Test {
 protected:
  void notify() { test::publish_service_changed(host_, Counter::kInterfaceId, "counter"); }
  void put(Counter& counter) {
    host_.registry().publish<Counter>("counter", counter);
    notify();
  }
  void take_away() {
    host_.registry().withdraw(std::string(Counter::kInterfaceId), "counter");
    notify();
  }
  int number() {
    auto counter = followed_.hold();
    return counter ? counter->number() : 0;
  }
  size_t holders() { return host_.registry().holders(Counter::kInterfaceId); }

  test::FakeHost host_;
  Counter first_{1}, second_{2};
  int changes_ = 0;
  Followed<Counter> followed_{host_, {}, [this] { ++changes_; }};
};

TEST_F(FollowedTest, TakesWhatIsThere) {
  host_.registry().publish<Counter>("counter", first_);
  EXPECT_FALSE(followed_.hold());
  ASSERT_TRUE(followed_.open().ok());
  EXPECT_TRUE(followed_.is_present());
  EXPECT_EQ(number(), 1);
}

TEST_F(FollowedTest, FollowsWhatComesIsReplacedAndGoes) {
  ASSERT_TRUE(followed_.open().ok());
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(followed_.is_present());
    EXPECT_EQ(number(), 0);
    put(first_);
    EXPECT_EQ(number(), 1);
    put(second_);
    EXPECT_EQ(number(), 2);
    EXPECT_EQ(holders(), 1u) << "of both providers";
    take_away();
    EXPECT_EQ(holders(), 0u);
  }
  EXPECT_EQ(changes_, 9);
}

TEST_F(FollowedTest, AChangeThatIsNoneForItIsNone) {
  ASSERT_TRUE(followed_.open().ok());
  put(first_);
  auto held = followed_.hold();
  notify();
  test::publish_service_changed(host_, "test.other/1", "counter");
  EXPECT_FALSE(held.is_outdated());
  EXPECT_EQ(changes_, 1);
}

TEST_F(FollowedTest, AProviderIsKeptWhileItIsHeld) {
  ASSERT_TRUE(followed_.open().ok());
  put(first_);
  auto request = followed_.hold();
  auto another = followed_.hold();
  put(second_);
  EXPECT_TRUE(request.is_outdated());
  EXPECT_EQ(request->number(), 1);
  EXPECT_EQ(number(), 2);
  EXPECT_EQ(holders(), 2u);
  request.reset();
  EXPECT_EQ(holders(), 2u);
  auto moved = std::move(another);
  EXPECT_FALSE(another);
  EXPECT_EQ(moved->number(), 1);
  moved = followed_.hold();
  EXPECT_EQ(holders(), 1u) << "the last one let it go";
  EXPECT_EQ(moved->number(), 2);
}

TEST_F(FollowedTest, ManyProvidersMayBeKeptAtATime) {
  ASSERT_TRUE(followed_.open().ok());
  std::vector<std::unique_ptr<Counter>> counters;
  std::vector<Followed<Counter>::Hold> holds;
  for (int i = 0; i < 5; ++i) {
    counters.push_back(std::make_unique<Counter>(10 + i));
    put(*counters.back());
    holds.push_back(followed_.hold());
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(holds[static_cast<size_t>(i)]->number(), 10 + i);
  EXPECT_EQ(holders(), 5u);
  holds.clear();
  EXPECT_EQ(holders(), 1u);
}

TEST_F(FollowedTest, LetsGoWhenItCloses) {
  ASSERT_TRUE(followed_.open().ok());
  put(first_);
  followed_.close();
  EXPECT_EQ(holders(), 0u);
  EXPECT_EQ(number(), 0);
  put(second_);
  EXPECT_EQ(number(), 0) << "it does not follow any more";
  ASSERT_TRUE(followed_.open().ok());
  EXPECT_EQ(number(), 2);
}

TEST_F(FollowedTest, WithoutADecisionThereIsNone) {
  host_.registry().publish<Counter>("a", first_);
  host_.registry().publish<Counter>("b", second_);
  ASSERT_TRUE(followed_.open().ok());
  EXPECT_FALSE(followed_.is_present());
  EXPECT_TRUE(host_.log().contains("test.counter/1 is not used"));
}

TEST_F(FollowedTest, TheProviderMayBeChosen) {
  Followed<Counter> chosen(host_, [this] { return host_.registry().find<Counter>("b"); });
  host_.registry().publish<Counter>("a", first_);
  ASSERT_TRUE(chosen.open().ok());
  EXPECT_FALSE(chosen.is_present());
  host_.registry().publish<Counter>("b", second_);
  notify();
  EXPECT_EQ(chosen.hold()->number(), 2);
}

TEST_F(FollowedTest, RequestsUseItWhileItIsReplaced) {
  put(first_);
  ASSERT_TRUE(followed_.open().ok());
  std::atomic<bool> over{false};
  std::vector<std::thread> requests;
  for (int i = 0; i < 3; ++i) {
    requests.emplace_back([&] {
      Followed<Counter>::Hold kept;
      while (!over) {
        kept = followed_.hold();
        EXPECT_LE(number(), 2);
        EXPECT_GE(kept ? kept->number() : 1, 1);
      }
    });
  }
  while (first_.calls == 0) std::this_thread::yield();
  for (int round = 0; round < 300; ++round) {
    put(second_);
    put(first_);
    if (round % 10 == 0) take_away();
  }
  over = true;
  for (std::thread& request : requests) request.join();
  followed_.close();
  EXPECT_EQ(holders(), 0u);
  EXPECT_EQ(host_.registry().wrong_releases(), 0u);
}

}  // namespace
}  // namespace atl
