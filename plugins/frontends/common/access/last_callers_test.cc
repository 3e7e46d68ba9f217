#include "frontends/common/access/last_callers.h"

#include <gtest/gtest.h>

#include "atoll/testing/call_head.h"
#include "atoll/testing/fake_access.h"
#include "atoll/testing/followed_fake.h"
#include "frontends/common/access/access_check.h"

namespace atl::frontends {
namespace {

using Headers = test::TestCallHead::Headers;

class Anybody final : public Identity {
 public:
  ~Anybody() override = default;
  std::string_view name() const noexcept override { return "somebody"; }
  std::string_view tenant() const noexcept override { return {}; }
  bool may(ApiCategory category, std::string_view, std::string_view) const noexcept override {
    return category != ApiCategory::kTrace;
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return false; }
  bool holds() const noexcept override { return *holds_; }
  void end() { *holds_ = false; }

 private:
  const std::shared_ptr<bool> holds_ = std::make_shared<bool>(true);
};

/// Knows one token, and counts what it is asked.
class Source final : public Access {
 public:
  explicit Source(std::string also = {}) : also_(std::move(also)) {}
  virtual ~Source() = default;
  Result<AccessOutcome> ask(const AccessQuestion&, AccessWaiter&, std::string_view*) noexcept override {
    return AccessOutcome::kAllowed;
  }
  uint32_t roles() const noexcept override { return kKnowsCallers; }
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) noexcept override {
    ++asked;
    if (!also_.empty()) (void)question.head.find(also_, {});
    std::array<std::string_view, 1> values;
    if (question.head.find("authorization", values) != 1 || values[0] != "Bearer right")
      return make_status(Code::kUnauthenticated, "no");
    *identity = identity_;
    return IdentityOutcome::kKnown;
  }
  void end() {
    identity_->end();
    identity_ = std::make_shared<Anybody>();
  }

  int asked = 0;

 private:
  const std::string also_;
  std::shared_ptr<Anybody> identity_ = std::make_shared<Anybody>();
};

class LastCallersTest : public ::testing::Test {
 protected:
  LastCallersTest() {
    EXPECT_TRUE(point_.open().ok());
    publish(source_);
  }
  ~LastCallersTest() override {
    last_.clear();
    point_.close();
  }
  void publish(Access& source) {
    host_.registry().publish<Access>("keys", source, 0, 1);
    test::publish_service_changed(host_, Access::kInterfaceId, "keys");
  }
  Code call(uint64_t connection, Headers headers = {{"authorization", "Bearer right"}},
            ApiCategory category = ApiCategory::kInference, bool is_probe = false) {
    const test::TestCallHead head(std::move(headers));
    const CallerPlace place{last_, connection};
    EXPECT_TRUE(check_.ask(
        point_, {category, api_category_name(category), CallProtocol::kHttp, head, is_probe}, {},
        [](void*) noexcept {}, nullptr, &place));
    std::string_view caller;
    const Code code = check_.take(&caller).code();
    EXPECT_EQ(code == Code::kOk, check_.identity() != nullptr);
    check_.forget();
    return code;
  }

  test::FakeHost host_{"frontend"};
  Source source_;
  AccessPoint point_{host_};
  LastCallers last_;
  AccessCheck check_;
};

TEST_F(LastCallersTest, TheSameCredentialOfAConnectionIsLookedUpOnce) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(call(1), Code::kOk);
  EXPECT_EQ(source_.asked, 1);
  EXPECT_EQ(point_.unsettled(), 0) << "nobody waits for what is only kept";
  EXPECT_EQ(call(2), Code::kOk) << "another connection";
  EXPECT_EQ(source_.asked, 2);
}

TEST_F(LastCallersTest, AnotherCredentialIsLookedUp) {
  EXPECT_EQ(call(1), Code::kOk);
  for (const char* token : {"Bearer wrong", "Bearer righ", "Bearer rights", "Bearer Right", ""}) {
    EXPECT_EQ(call(1, {{"authorization", token}}), Code::kUnauthenticated) << token;
  }
  EXPECT_EQ(call(1, {}), Code::kUnauthenticated);
  EXPECT_EQ(call(1, {{"authorization", "Bearer right"}, {"authorization", "Bearer right"}}),
            Code::kUnauthenticated)
      << "several";
  EXPECT_EQ(source_.asked, 8);
  EXPECT_EQ(call(1), Code::kOk);
  EXPECT_EQ(source_.asked, 8) << "a wrong one changes nothing";
}

TEST_F(LastCallersTest, WhatItMayIsAskedEachTime) {
  EXPECT_EQ(call(1, {{"authorization", "Bearer right"}}, ApiCategory::kTrace), Code::kPermissionDenied);
  EXPECT_EQ(call(1, {{"authorization", "Bearer right"}}, ApiCategory::kTrace), Code::kPermissionDenied);
  EXPECT_EQ(source_.asked, 1);
  EXPECT_EQ(call(1), Code::kOk);
  EXPECT_EQ(source_.asked, 2) << "a source sees the category too";
}

TEST_F(LastCallersTest, AnIdentityThatHoldsNoMoreIsLookedUp) {
  EXPECT_EQ(call(1), Code::kOk);
  source_.end();
  EXPECT_EQ(call(1), Code::kOk);
  EXPECT_EQ(source_.asked, 2);
}

TEST_F(LastCallersTest, ASourceThatIsReplacedIsAskedAtOnceAndTheOldOneGoes) {
  EXPECT_EQ(call(1), Code::kOk);
  Source next;
  publish(next);
  EXPECT_EQ(host_.registry().holders(), 2u);
  last_.sweep(host_.clock().now_ns());
  EXPECT_EQ(host_.registry().holders(), 1u);
  EXPECT_EQ(call(1), Code::kOk);
  EXPECT_EQ(source_.asked, 1);
  EXPECT_EQ(next.asked, 1);
  last_.clear();
  publish(source_);
}

TEST_F(LastCallersTest, NothingIsKeptForLongerThanASecond) {
  EXPECT_EQ(call(1), Code::kOk);
  host_.fake_clock().advance(LastCallers::kMostAgeNs - 1);
  EXPECT_EQ(call(1), Code::kOk);
  EXPECT_EQ(source_.asked, 1);
  host_.fake_clock().advance(1);
  EXPECT_EQ(call(1), Code::kOk);
  EXPECT_EQ(source_.asked, 2);
  host_.fake_clock().advance(LastCallers::kMostAgeNs);
  EXPECT_FALSE(last_.empty());
  last_.sweep(host_.clock().now_ns());
  EXPECT_TRUE(last_.empty());
}

TEST_F(LastCallersTest, WhatASourceFoundByMoreThanTheCredentialIsNotKept) {
  Source looks_at_more("cookie");
  publish(looks_at_more);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(1), Code::kOk);
  EXPECT_EQ(looks_at_more.asked, 3);
  publish(source_);
}

TEST_F(LastCallersTest, ProbesAndLongCredentialsAreLookedUp) {
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(call(1, {{"authorization", "Bearer right"}}, ApiCategory::kHealth, /*is_probe=*/true),
              Code::kOk);
  EXPECT_EQ(source_.asked, 2);
  EXPECT_TRUE(last_.empty());
}

TEST_F(LastCallersTest, ManyConnectionsTakeBoundedMemoryAndAreRight) {
  for (uint64_t connection = 0; connection < 5'000; ++connection) EXPECT_EQ(call(connection * 64), Code::kOk);
  EXPECT_EQ(call(3, {{"authorization", "Bearer wrong"}}), Code::kUnauthenticated);
}

}  // namespace
}  // namespace atl::frontends
