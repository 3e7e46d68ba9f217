#include "frontends/grpc_nghttp2/transport/session/held_bytes.h"

#include <gtest/gtest.h>

#include "atoll/testing/fake_request_memory.h"
#include "atoll/testing/followed_fake.h"
#include "frontends/grpc_nghttp2/transport/stall_watch.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class HeldBytesTest : public ::testing::Test {
 protected:
  HeldBytesTest() {
    host_.registry().publish<RequestMemory>("provider", memory_);
    EXPECT_TRUE(budgets_.open().ok());
  }
  test::FakeHost host_{"frontend"};
  test::FakeRequestMemory memory_{3 * HeldBytes::kStep};
  RequestBudgets budgets_{host_};
  HeldBytes held_{&budgets_};
};

TEST_F(HeldBytesTest, OnlyWhatIsMuchIsCounted) {
  EXPECT_TRUE(held_.add(HeldBytes::kUncounted).ok());
  EXPECT_EQ(memory_.used_bytes(), 0u);
  EXPECT_TRUE(held_.add(1).ok());
  EXPECT_EQ(memory_.used_bytes(), HeldBytes::kStep);
  EXPECT_TRUE(held_.add(HeldBytes::kStep).ok());
  EXPECT_EQ(memory_.used_bytes(), 2 * HeldBytes::kStep);
  held_.reduce(HeldBytes::kStep + 1);
  EXPECT_EQ(memory_.used_bytes(), 0u);
  EXPECT_EQ(held_.bytes(), HeldBytes::kUncounted);
}

TEST_F(HeldBytesTest, ARefusalIsOneUntilSomethingIsGivenBack) {
  EXPECT_TRUE(held_.add(HeldBytes::kUncounted + 3 * HeldBytes::kStep).ok());
  EXPECT_EQ(held_.add(1).code(), Code::kResourceExhausted);
  EXPECT_EQ(held_.add(1).code(), Code::kResourceExhausted);
  held_.reduce(3);
  EXPECT_TRUE(held_.add(1).ok());
  EXPECT_EQ(memory_.used_bytes(), 3 * HeldBytes::kStep);
}

TEST_F(HeldBytesTest, ItsEndGivesEverythingBack) {
  {
    HeldBytes held(&budgets_);
    EXPECT_TRUE(held.add(HeldBytes::kUncounted + 1).ok());
    EXPECT_NE(memory_.used_bytes(), 0u);
  }
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST(StallWatchTest, LooksWithoutProgressAreCounted) {
  StallWatch watch;
  EXPECT_FALSE(watch.is_stalled(true, 100, 2));  // from here on
  EXPECT_FALSE(watch.is_stalled(true, 100, 2));
  EXPECT_FALSE(watch.is_stalled(true, 100 + StallWatch::kProgressBytes, 2));
  EXPECT_FALSE(watch.is_stalled(true, 99 + 2 * StallWatch::kProgressBytes, 2));
  EXPECT_FALSE(watch.is_stalled(false, 99 + 2 * StallWatch::kProgressBytes, 2));
  EXPECT_FALSE(watch.is_stalled(true, 99 + 2 * StallWatch::kProgressBytes, 2));
  EXPECT_FALSE(watch.is_stalled(true, 99 + 2 * StallWatch::kProgressBytes, 2));
  EXPECT_TRUE(watch.is_stalled(true, 98 + 3 * StallWatch::kProgressBytes, 2));
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
