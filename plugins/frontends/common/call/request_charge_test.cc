#include "frontends/common/call/request_charge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/fake_request_memory.h"
#include "atoll/testing/followed_fake.h"
#include "frontends/common/codec/owned_bytes.h"

namespace atl::frontends {
namespace {

class RequestChargeTest : public ::testing::Test {
 protected:
  RequestChargeTest() {
    host_.registry().publish<RequestMemory>(kProvider, memory_);
    EXPECT_TRUE(budgets_.open().ok());
    charge_.set_source(budgets_);
  }
  /// As a reload does it; null: it goes.
  void put(RequestMemory* memory) {
    if (memory != nullptr) {
      host_.registry().publish<RequestMemory>(kProvider, *memory);
    } else {
      host_.registry().withdraw(std::string(RequestMemory::kInterfaceId), kProvider);
    }
    test::publish_service_changed(host_, RequestMemory::kInterfaceId, kProvider);
  }

  static constexpr const char* kProvider = "provider";
  test::FakeHost host_{"frontend"};
  test::FakeRequestMemory memory_{1000};
  RequestBudgets budgets_{host_};
  RequestCharge charge_;
};

TEST_F(RequestChargeTest, AddsCoversAndReleases) {
  ASSERT_TRUE(charge_.add(100).ok());
  ASSERT_TRUE(charge_.cover(300).ok());
  ASSERT_TRUE(charge_.cover(200).ok());
  EXPECT_EQ(memory_.used_bytes(), 300u);
  charge_.reduce(50);
  EXPECT_EQ(memory_.used_bytes(), 250u);
  charge_.reduce(1000);
  EXPECT_EQ(memory_.used_bytes(), 0u);
  ASSERT_TRUE(charge_.add(7).ok());
  charge_.release();
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(RequestChargeTest, ARefusalKeepsWhatThereIsAndIsRemembered) {
  RequestCharge unavailable;
  unavailable.set_source(budgets_, Code::kUnavailable);
  ASSERT_TRUE(unavailable.add(900).ok());
  EXPECT_TRUE(unavailable.refused().ok());
  const Status refused = unavailable.add(101);
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr(test::FakeRequestMemory::kSetting));
  EXPECT_EQ(unavailable.refused().message(), refused.message());
  EXPECT_EQ(memory_.used_bytes(), 900u);
  EXPECT_EQ(unavailable.check(101).code(), Code::kUnavailable);
  EXPECT_TRUE(unavailable.check(100).ok());
  unavailable.release();
  EXPECT_TRUE(unavailable.refused().ok());
}

TEST_F(RequestChargeTest, MovesWithItsBytes) {
  ASSERT_TRUE(charge_.add(100).ok());
  RequestCharge other;
  other.set_source(budgets_);
  ASSERT_TRUE(other.add(10).ok());
  other = std::move(charge_);
  EXPECT_EQ(memory_.used_bytes(), 100u) << "what the other one had is given back";
  EXPECT_EQ(other.bytes(), 100u);
  {
    RequestCharge last = std::move(other);
    EXPECT_EQ(memory_.used_bytes(), 100u);
  }
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(RequestChargeTest, WithoutAServiceEverythingIsAllowed) {
  put(nullptr);
  ASSERT_TRUE(charge_.add(UINT64_MAX).ok());
  EXPECT_TRUE(charge_.check(UINT64_MAX).ok());
  charge_.reduce(10);
  EXPECT_EQ(charge_.bytes(), 0u);
  put(&memory_);
  ASSERT_TRUE(charge_.cover(10).ok()) << "from here on it is counted";
  EXPECT_EQ(memory_.used_bytes(), 10u);
}

TEST_F(RequestChargeTest, StaysWithItsBudgetWhenTheProviderIsReplacedAndWhenItGoes) {
  ASSERT_TRUE(charge_.add(600).ok());
  test::FakeRequestMemory next(100);
  put(&next);
  ASSERT_TRUE(charge_.add(100).ok());
  EXPECT_EQ(memory_.used_bytes(), 700u);
  put(nullptr);
  EXPECT_EQ(host_.registry().holders(), 0u) << "it may be unloaded";
  EXPECT_EQ(charge_.add(301).code(), Code::kResourceExhausted);
  charge_.release();
  EXPECT_EQ(memory_.used_bytes(), 0u);
  ASSERT_TRUE(charge_.add(5000).ok());
  EXPECT_EQ(next.peak_bytes(), 0u);
}

TEST_F(RequestChargeTest, ARefusalIsTheReasonOfWhatFailsByItAndSaysWhenToTryAgain) {
  uint32_t retry_after_ms = 0;
  charge_.set_retry_after(retry_after_ms);
  EXPECT_EQ(charge_.reason(invalid_argument("no JSON")).message(), "no JSON");
  EXPECT_EQ(retry_after_ms, 0u);
  EXPECT_FALSE(charge_.try_add(1001));
  EXPECT_EQ(retry_after_ms, RequestCharge::kRetryAfterMs);
  EXPECT_EQ(charge_.reason(invalid_argument("no JSON")).code(), Code::kResourceExhausted);
  EXPECT_TRUE(charge_.reason({}).ok());
}

TEST_F(RequestChargeTest, CopiesOfTensorsAreCharged) {
  OwnedBytes owned;
  owned.set_charge(charge_);
  EXPECT_NE(owned.allocate(600), nullptr);
  EXPECT_EQ(memory_.used_bytes(), 600u);
  EXPECT_EQ(owned.allocate(600), nullptr);
  EXPECT_FALSE(charge_.refused().ok());
}

}  // namespace
}  // namespace atl::frontends
