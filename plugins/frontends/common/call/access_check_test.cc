#include "frontends/common/call/access_check.h"

#include <gtest/gtest.h>

#include "atoll/testing/call_head.h"
#include "atoll/testing/fake_access.h"
#include "atoll/testing/followed_fake.h"

namespace atl::frontends {
namespace {

class AccessCheckTest : public ::testing::Test {
 protected:
  AccessCheckTest() { EXPECT_TRUE(point_.open().ok()); }
  ~AccessCheckTest() override { point_.close(); }

  void publish(const char* instance, Access& access) {
    host_.registry().publish<Access>(instance, access);
    test::publish_service_changed(host_, Access::kInterfaceId, instance);
  }
  void withdraw(const char* instance) {
    host_.registry().withdraw(std::string(Access::kInterfaceId), instance);
    test::publish_service_changed(host_, Access::kInterfaceId, instance);
  }
  bool ask(test::TestCallHead::Headers headers) {
    const test::TestCallHead head(std::move(headers));
    auto settled = [](void* count) noexcept { ++*static_cast<int*>(count); };
    return check_.ask(point_, {ApiCategory::kInference, "inference", CallProtocol::kHttp, head}, settled,
                      &settled_);
  }

  test::FakeHost host_{"frontend"};
  test::FakeAccess first_, second_;
  AccessPoint point_{host_};
  AccessCheck check_;
  int settled_ = 0;
  std::string_view caller_;
};

TEST_F(AccessCheckTest, WithoutAProviderNobodyIsAskedAndAllIsAllowed) {
  EXPECT_FALSE(point_.asks());
  EXPECT_TRUE(check_.take(&caller_).ok());
  EXPECT_TRUE(ask({})) << "the provider may go between asks() and the question";
  EXPECT_TRUE(check_.take(&caller_).ok());
}

TEST_F(AccessCheckTest, TheAnswerAndTheCallerAreTheProviders) {
  first_.require(ApiCategory::kInference, "key", "right", make_status(Code::kPermissionDenied, "no"));
  publish("keys", first_);
  ASSERT_TRUE(point_.asks());
  EXPECT_TRUE(ask({{"key", "wrong"}}));
  EXPECT_EQ(check_.take(&caller_).message(), "no");
  EXPECT_TRUE(ask({{"key", "right"}}));
  EXPECT_EQ(point_.unsettled(), 1);
  EXPECT_TRUE(check_.take(&caller_).ok());
  EXPECT_EQ(caller_, "key");
  EXPECT_EQ(point_.unsettled(), 0);
  EXPECT_EQ(settled_, 0);
}

TEST_F(AccessCheckTest, AQuestionThatWaitsIsAnsweredByWhoWasAsked) {
  first_.hold(ApiCategory::kInference);
  publish("keys", first_);
  EXPECT_FALSE(ask({}));
  publish("keys", second_);
  EXPECT_EQ(point_.unsettled(), 1);
  EXPECT_EQ(host_.registry().holders(), 2u) << "the old one is held as long";
  first_.answer(Code::kOk, "", "somebody");
  EXPECT_EQ(settled_, 1);
  EXPECT_TRUE(check_.take(&caller_).ok());
  EXPECT_EQ(caller_, "somebody");
  EXPECT_EQ(host_.registry().holders(), 1u);
  EXPECT_TRUE(ask({}));
  EXPECT_TRUE(check_.take(&caller_).ok());
  EXPECT_EQ(caller_, "") << "the second one knows nobody";
  EXPECT_EQ(second_.asked(ApiCategory::kInference), 1u);
}

TEST_F(AccessCheckTest, IfNobodyCanBeChosenNothingIsAllowed) {
  publish("one", first_);
  publish("two", second_);
  EXPECT_TRUE(point_.asks());
  EXPECT_TRUE(ask({}));
  EXPECT_EQ(check_.take(&caller_).code(), Code::kUnavailable);
  withdraw("two");
  EXPECT_TRUE(ask({}));
  EXPECT_TRUE(check_.take(&caller_).ok());
  withdraw("one");
  EXPECT_FALSE(point_.asks());
}

}  // namespace
}  // namespace atl::frontends
