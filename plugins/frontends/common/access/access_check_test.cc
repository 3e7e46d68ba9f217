#include "frontends/common/access/access_check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>

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
    return check_.ask(point_, {ApiCategory::kInference, "inference", CallProtocol::kHttp, head}, {}, settled,
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

/// May use models of one name, while it holds.
class OneModel final : public Identity {
 public:
  explicit OneModel(std::string name) : name_(std::move(name)) {}
  ~OneModel() override = default;
  std::string_view name() const noexcept override { return name_; }
  std::string_view tenant() const noexcept override { return "blue"; }
  bool may(ApiCategory category, std::string_view, std::string_view model) const noexcept override {
    return category == ApiCategory::kInference && (model.empty() || model == "mine");
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return false; }
  bool holds() const noexcept override { return holds_; }
  void end() { holds_ = false; }

 private:
  const std::string name_;
  std::atomic<bool> holds_{true};
};

class IdentityTest : public AccessCheckTest {
 protected:
  void publish_source(const char* instance, Access& access, uint32_t minor = 1) {
    host_.registry().publish<Access>(instance, access, 0, minor);
    test::publish_service_changed(host_, Access::kInterfaceId, instance);
  }
  Status answer(test::TestCallHead::Headers headers, bool is_probe = false,
                ApiCategory category = ApiCategory::kInference) {
    const test::TestCallHead head(std::move(headers));
    auto settled = [](void* count) noexcept { ++*static_cast<int*>(count); };
    EXPECT_TRUE(check_.ask(point_,
                           {category, api_category_name(category), CallProtocol::kHttp, head, is_probe}, {},
                           settled, &settled_));
    return check_.take(&caller_);
  }
  static test::TestCallHead::Headers bearer(const char* token) {
    return {{"authorization", std::string("Bearer ") + token}};
  }

  OneModel alice_{"alice"}, bob_{"bob"};
};

TEST_F(IdentityTest, ACallerIsKnownOrRefusedAndMayWhatItsIdentitySays) {
  first_.know("a", &alice_);
  publish_source("one", first_);
  ASSERT_TRUE(point_.asks());
  EXPECT_TRUE(answer(bearer("a")).ok());
  EXPECT_EQ(caller_, "alice");
  ASSERT_NE(check_.identity(), nullptr);
  EXPECT_TRUE(may_use(identity_of(check_.identity()), ApiCategory::kInference, "mine"));
  EXPECT_TRUE(may_use(identity_of(check_.identity()), ApiCategory::kInference, "/repository::mine"));
  EXPECT_FALSE(may_use(identity_of(check_.identity()), ApiCategory::kInference, "other"));
  EXPECT_EQ(point_.unsettled(), 1);
  check_.forget();
  EXPECT_EQ(point_.unsettled(), 0);
  EXPECT_EQ(answer({}).code(), Code::kUnauthenticated);
  EXPECT_EQ(answer({}).message(), "the call needs a valid credential");
  EXPECT_TRUE(check_.is_about_caller());
  EXPECT_EQ(answer(bearer("x")).message(), "the call needs a valid credential");
  EXPECT_EQ(answer(bearer("a"), false, ApiCategory::kMetadata).code(), Code::kPermissionDenied);
  EXPECT_EQ(check_.identity(), nullptr);
  EXPECT_TRUE(answer({}, true).ok()) << "probes are open";
  EXPECT_EQ(first_.asked(ApiCategory::kInference), 0u) << "it judges no calls";
}

TEST_F(IdentityTest, SourcesAreAChainAndWhoJudgesCallsIsAskedAfterThem) {
  test::FakeAccess judge;
  judge.require(ApiCategory::kInference, "key", "right", make_status(Code::kPermissionDenied, "no"));
  first_.know("a", &alice_);
  first_.know("b", nullptr);
  second_.know("b", &bob_);
  second_.know("c", &bob_);
  publish_source("one", first_);
  publish_source("two", second_);
  publish("zzz", judge);
  EXPECT_EQ(answer(bearer("a")).message(), "no");
  auto headers = bearer("c");
  headers.emplace_back("key", "right");
  EXPECT_TRUE(answer(headers).ok());
  EXPECT_EQ(caller_, "bob") << "the identity's name, not the key's";
  check_.forget();
  headers = bearer("b");
  headers.emplace_back("key", "right");
  EXPECT_EQ(answer(headers).code(), Code::kUnauthenticated) << "the first one has refused it";
  withdraw("one");
  EXPECT_TRUE(answer(headers).ok());
  check_.forget();
  withdraw("two");
  EXPECT_TRUE(answer({{"key", "right"}}).ok());
  EXPECT_EQ(caller_, "key");
  withdraw("zzz");
}

TEST_F(IdentityTest, AnIdentityHoldsUntilItEndsOrItsSourceGoes) {
  first_.know("a", &alice_);
  publish_source("one", first_);
  EXPECT_TRUE(answer(bearer("a")).ok());
  const CallerIdentityPtr kept = check_.identity();
  EXPECT_TRUE(kept->holds());
  alice_.end();
  EXPECT_FALSE(kept->holds());
  CallerIdentityPtr other;
  second_.know("b", &bob_);
  publish_source("two", second_);
  EXPECT_TRUE(answer(bearer("b")).ok());
  other = check_.identity();
  EXPECT_TRUE(other->holds());
  withdraw("one");
  EXPECT_FALSE(other->holds()) << "the chain is another one";
  withdraw("two");
  check_.forget();
}

/// Knows whoever shows a certificate, and counts who asks it how.
class CertificateReader final : public Access {
 public:
  explicit CertificateReader(const Identity* owner) : owner_(owner) {}
  virtual ~CertificateReader() = default;
  Result<AccessOutcome> ask(const AccessQuestion&, AccessWaiter&, std::string_view*) noexcept override {
    return AccessOutcome::kAllowed;
  }
  uint32_t roles() const noexcept override { return kKnowsCallers; }
  Result<IdentityOutcome> identify(const AccessQuestion&,
                                   std::shared_ptr<const Identity>*) noexcept override {
    ++asked_without;
    return IdentityOutcome::kNotMine;
  }
  Result<IdentityOutcome> identify_certified(const AccessQuestion& question,
                                             std::shared_ptr<const Identity>* identity) noexcept override {
    if (question.head.certificate() == nullptr) return IdentityOutcome::kNotMine;
    *identity = std::shared_ptr<const Identity>(std::shared_ptr<const Identity>(), owner_);
    return IdentityOutcome::kKnown;
  }
  int asked_without = 0;

 private:
  const Identity* const owner_;
};

TEST_F(IdentityTest, ACertificateIsSeenBySourcesOfItsMinorAlone) {
  const ClientCertificate certificate{{"urn:alice"}, {}, 0};
  const auto show = [&] {
    const test::TestCallHead head({}, &certificate);
    auto settled = [](void*) noexcept {};
    const AccessQuestion question{ApiCategory::kInference, "inference", CallProtocol::kHttp, head};
    EXPECT_TRUE(check_.ask(point_, question, {}, settled, nullptr));
    return check_.take(&caller_);
  };
  first_.know("a", &bob_);
  publish_source("one", first_);
  CertificateReader older(&alice_), reader(&alice_);
  publish_source("two", older, 1);
  EXPECT_EQ(show().code(), Code::kUnauthenticated);
  EXPECT_EQ(older.asked_without, 1);
  publish_source("zzz", reader, 2);
  EXPECT_TRUE(show().ok());
  EXPECT_EQ(caller_, "alice");
  EXPECT_EQ(reader.asked_without, 0);
  EXPECT_EQ(answer({}).code(), Code::kUnauthenticated) << "no certificate";
  EXPECT_TRUE(answer(bearer("a")).ok()) << "a token is looked at by those who know tokens";
  EXPECT_EQ(caller_, "bob");
  check_.forget();
  withdraw("zzz");
  withdraw("two");
  withdraw("one");
}

TEST_F(IdentityTest, ASourceThatKnowsNobodyYetDoesNotKeepOthersFromKnowing) {
  class Empty final : public Access {
   public:
    virtual ~Empty() = default;
    Result<AccessOutcome> ask(const AccessQuestion&, AccessWaiter&, std::string_view*) noexcept override {
      return AccessOutcome::kAllowed;
    }
    uint32_t roles() const noexcept override { return kKnowsCallers; }
    Result<IdentityOutcome> identify(const AccessQuestion&,
                                     std::shared_ptr<const Identity>*) noexcept override {
      return unavailable("no keys");
    }
  } empty;
  first_.know("a", &alice_);
  publish_source("empty", empty);
  publish_source("one", first_);
  EXPECT_TRUE(answer(bearer("a")).ok());
  EXPECT_EQ(answer(bearer("x")).code(), Code::kUnavailable) << "it may be one that it would know";
  check_.forget();
  withdraw("one");
  withdraw("empty");
}

/// May use models of any name, or of those that a test has not taken from it, while it holds.
class FewerModels final : public Identity {
 public:
  ~FewerModels() override = default;
  std::string_view name() const noexcept override { return "carol"; }
  std::string_view tenant() const noexcept override { return {}; }
  bool may(ApiCategory, std::string_view, std::string_view model) const noexcept override {
    return !taken.contains(std::string(model));
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return taken.empty(); }
  bool holds() const noexcept override { return false; }  // as one whose file was read again
  std::set<std::string> taken;
};

TEST_F(IdentityTest, WhatGoesOnIsAskedForAgainByTheModelsThatItUses) {
  FewerModels carol;
  first_.know("c", &carol);
  publish_source("one", first_);
  const test::TestCallHead head(bearer("c"));
  const AccessQuestion question{ApiCategory::kInference, "inference", CallProtocol::kHttp, head};
  const auto begin = [&](bool goes_on) {
    auto settled = [](void*) noexcept {};
    EXPECT_TRUE(check_.ask(point_, question, {.goes_on = goes_on}, settled, nullptr));
    EXPECT_TRUE(check_.take(&caller_).ok());
    EXPECT_TRUE(may_use(identity_of(check_.identity()), ApiCategory::kInference, "a"));
  };
  begin(true);
  EXPECT_TRUE(check_.renew(point_, question));
  carol.taken = {"b"};
  EXPECT_TRUE(check_.renew(point_, question)) << "the call has nothing to do with it";
  EXPECT_FALSE(may_use(identity_of(check_.identity()), ApiCategory::kInference, "b"));
  EXPECT_TRUE(check_.renew(point_, question)) << "what was not allowed is not used";
  carol.taken = {"a"};
  EXPECT_FALSE(check_.renew(point_, question)) << "also by the second renewal";
  check_.forget();
  carol.taken = {};
  begin(false);
  carol.taken = {"a"};
  EXPECT_TRUE(check_.renew(point_, question)) << "a short call is over soon";
  check_.forget();
  // More models than are kept.
  carol.taken = {};
  begin(true);
  for (size_t i = 0; i <= UsedModels::kMost; ++i)
    EXPECT_TRUE(may_use(identity_of(check_.identity()), ApiCategory::kInference, cat("m", i)));
  EXPECT_TRUE(check_.renew(point_, question));
  carol.taken = {cat("m", UsedModels::kMost)};
  EXPECT_FALSE(check_.renew(point_, question));
  check_.forget();
  withdraw("one");
}

TEST_F(IdentityTest, OfACallThatIsOlderThanTheSourcesNobodyKnowsItsModels) {
  const test::TestCallHead head(bearer("c"));
  const AccessQuestion question{ApiCategory::kInference, "inference", CallProtocol::kHttp, head};
  FewerModels carol;
  first_.know("c", &carol);
  CallerIdentityPtr identity;
  EXPECT_TRUE(point_.renew(question, &identity).ok());
  EXPECT_EQ(identity, nullptr);
  publish_source("one", first_);
  EXPECT_TRUE(point_.renew(question, &identity).ok()) << "all models";
  EXPECT_NE(identity, nullptr);
  identity.reset();
  carol.taken = {"b"};
  EXPECT_EQ(point_.renew(question, &identity).code(), Code::kPermissionDenied);
  identity.reset();
  withdraw("one");
}

TEST_F(IdentityTest, WrongCredentialsOfOneAddressAreLimited) {
  first_.know("a", &alice_);
  publish_source("one", first_);
  for (uint32_t i = 0; i < FailedCredentials::kMostASecond; ++i)
    EXPECT_EQ(answer(bearer("x")).code(), Code::kUnauthenticated);
  EXPECT_EQ(answer(bearer("x")).code(), Code::kResourceExhausted);
  EXPECT_EQ(answer({}).code(), Code::kUnauthenticated) << "who presents nothing is no guesser";
  EXPECT_TRUE(answer(bearer("a")).ok());
  check_.forget();
  host_.fake_clock().advance(kNsPerSecond);
  EXPECT_EQ(answer(bearer("x")).code(), Code::kUnauthenticated);
  withdraw("one");
}

}  // namespace
}  // namespace atl::frontends
