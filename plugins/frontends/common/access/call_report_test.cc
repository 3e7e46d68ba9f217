#include "frontends/common/access/call_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/testing/call_head.h"
#include "atoll/testing/fake_access.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/identity.h"
#include "frontends/common/access/access_check.h"

namespace atl::frontends {
namespace {

struct KeptRecord {
  std::string path, category, subject, source, peer, request_id, model, version, rule, reason;
  int32_t status = 0;
  int64_t duration_ns = 0;
};

class KeptRecords final : public Audit {
 public:
  virtual ~KeptRecords() = default;
  bool wants(ApiCategory, std::string_view) noexcept override {
    ++asked;
    return wants_all;
  }
  void record(const AuditedCall& call) noexcept override {
    const auto text = [](std::string_view view) { return std::string(view); };
    list.push_back({text(call.path), text(call.category_name), text(call.subject), text(call.source),
                    text(call.peer), text(call.request_id), text(call.model), text(call.version),
                    text(call.rule), text(call.reason), call.status, call.duration_ns});
  }

  bool wants_all = true;
  int asked = 0;
  std::vector<KeptRecord> list;
};

/// May use models of one name.
class OneModelOnly final : public Identity {
 public:
  ~OneModelOnly() override = default;
  std::string_view name() const noexcept override { return "alice"; }
  std::string_view tenant() const noexcept override { return "blue"; }
  bool may(ApiCategory category, std::string_view, std::string_view model) const noexcept override {
    return category == ApiCategory::kInference && (model.empty() || model == "mine");
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return false; }
  bool holds() const noexcept override { return true; }
};

class CallReportTest : public ::testing::Test {
 protected:
  CallReportTest() { EXPECT_TRUE(point_.open().ok()); }
  ~CallReportTest() override { point_.close(); }

  void publish_audit() {
    host_.registry().publish<Audit>("audit", audit_);
    test::publish_service_changed(host_, Audit::kInterfaceId, "audit");
  }
  void withdraw_audit() {
    host_.registry().withdraw(std::string(Audit::kInterfaceId), "audit");
    test::publish_service_changed(host_, Audit::kInterfaceId, "audit");
  }
  void publish_source() {
    access_.know("a", &alice_);
    host_.registry().publish<Access>("keys", access_, 0, 1);
    test::publish_service_changed(host_, Access::kInterfaceId, "keys");
  }
  Status ask(test::TestCallHead::Headers headers, ApiCategory category = ApiCategory::kInference,
             CallName name = {"POST", "/path"}, CallProtocol protocol = CallProtocol::kHttp) {
    const test::TestCallHead head(std::move(headers));
    EXPECT_TRUE(check_.ask(
        point_, {category, api_category_name(category), protocol, head}, name, [](void*) noexcept {},
        nullptr));
    std::string_view caller;
    return check_.take(&caller);
  }
  /// \returns the one record of the call that has ended
  KeptRecord end(int32_t status) {
    check_.set_status(status);
    check_.forget();
    EXPECT_EQ(audit_.list.size(), 1u);
    if (audit_.list.size() != 1) return {};
    KeptRecord record = audit_.list.front();
    audit_.list.clear();
    return record;
  }
  bool may_use_model(std::string_view model) const {
    return may_use(identity_of(check_.identity()), ApiCategory::kInference, model);
  }
  static test::TestCallHead::Headers alices() { return {{"authorization", "Bearer a"}}; }

  test::FakeHost host_{"frontend"};
  test::FakeAccess access_;
  const OneModelOnly alice_{};
  KeptRecords audit_;
  AccessPoint point_{host_};
  AccessCheck check_;
};

TEST_F(CallReportTest, WithoutWhoAuditsNobodyIsAsked) {
  EXPECT_FALSE(point_.asks());
  publish_audit();
  EXPECT_TRUE(point_.asks());
  withdraw_audit();
  EXPECT_FALSE(point_.asks());
}

TEST_F(CallReportTest, ACallIsRecordedOnceWhenItHasEnded) {
  publish_audit();
  EXPECT_TRUE(ask({{"x-request-id", "r1"}}).ok());
  ASSERT_NE(check_.report(), nullptr);
  check_.report()->set_model("m", "2");
  EXPECT_TRUE(audit_.list.empty());
  const KeptRecord record = end(200);
  EXPECT_EQ(record.path, "/path");
  EXPECT_EQ(record.category, "inference");
  EXPECT_EQ(record.request_id, "r1");
  EXPECT_FALSE(record.peer.empty());
  EXPECT_EQ(record.model, "m");
  EXPECT_EQ(record.version, "2");
  EXPECT_EQ(record.rule, "");
  EXPECT_EQ(record.status, 200);
  check_.forget();
  EXPECT_TRUE(audit_.list.empty());
}

TEST_F(CallReportTest, WithoutAnAnswerTheStatusSaysSo) {
  publish_audit();
  EXPECT_TRUE(ask({}).ok());
  EXPECT_TRUE(ask({}).ok());
  EXPECT_EQ(audit_.list.size(), 1u) << "the next call ends the one before";
  check_.forget();
  ASSERT_EQ(audit_.list.size(), 2u);
  EXPECT_EQ(audit_.list[0].status, -1);
}

TEST_F(CallReportTest, WhatIsNotWantedIsNotRecordedUnlessDenied) {
  audit_.wants_all = false;
  publish_audit();
  EXPECT_TRUE(ask({}).ok());
  EXPECT_EQ(check_.report(), nullptr) << "nobody could be denied anything";
  publish_source();
  EXPECT_TRUE(ask(alices()).ok());
  EXPECT_TRUE(may_use_model("mine"));
  check_.set_status(200);
  check_.forget();
  EXPECT_TRUE(audit_.list.empty());
  EXPECT_EQ(audit_.asked, 2);
  EXPECT_EQ(ask({}).code(), Code::kUnauthenticated);
  const KeptRecord unknown = end(401);
  EXPECT_EQ(unknown.rule, "credential");
  EXPECT_EQ(unknown.reason, kUnknownCaller);
  EXPECT_EQ(unknown.subject, "");
  EXPECT_EQ(ask(alices(), ApiCategory::kMetadata).code(), Code::kPermissionDenied);
  const KeptRecord forbidden = end(403);
  EXPECT_EQ(forbidden.rule, "metadata");
  EXPECT_EQ(forbidden.subject, "alice");
  EXPECT_EQ(forbidden.source, "keys");
}

TEST_F(CallReportTest, AModelThatIsHiddenFromTheCallerIsADenial) {
  publish_audit();
  publish_source();
  EXPECT_TRUE(ask(alices()).ok());
  EXPECT_FALSE(may_use_model("secret"));
  const KeptRecord hidden = end(404);
  EXPECT_EQ(hidden.rule, "inference@secret");
  EXPECT_EQ(hidden.model, "secret");
  // A list leaves out what the caller may not see.
  EXPECT_TRUE(ask(alices()).ok());
  EXPECT_FALSE(may_use_model("secret"));
  EXPECT_TRUE(may_use_model("mine"));
  const KeptRecord listed = end(200);
  EXPECT_EQ(listed.rule, "");
  EXPECT_EQ(listed.model, "") << "it is about several";
  // Who goes without an answer was denied one all the same.
  EXPECT_TRUE(ask(alices()).ok());
  EXPECT_FALSE(may_use_model("secret"));
  EXPECT_EQ(end(-1).rule, "inference@secret");
  // One that the caller may use fails for another reason.
  EXPECT_TRUE(ask(alices()).ok());
  EXPECT_TRUE(may_use_model("mine"));
  EXPECT_EQ(end(404).rule, "");
}

TEST_F(CallReportTest, AnAnswerThatSaysThatTheCallerMayNotIsADenial) {
  publish_audit();
  publish_source();
  audit_.wants_all = false;
  for (const auto& [protocol, status] :
       {std::pair(CallProtocol::kHttp, 403), std::pair(CallProtocol::kHttp, 401),
        std::pair(CallProtocol::kGrpc, 7), std::pair(CallProtocol::kGrpc, 16)}) {
    EXPECT_TRUE(ask(alices(), ApiCategory::kInference, {"POST", "/path"}, protocol).ok());
    EXPECT_FALSE(identity_of(check_.identity())->may_all(ApiCategory::kInference, "inference"));
    EXPECT_EQ(end(status).rule, "inference") << status;
  }
  // Of several models one is lacking.
  EXPECT_TRUE(ask(alices()).ok());
  EXPECT_TRUE(may_use_model("mine"));
  EXPECT_FALSE(may_use_model("secret"));
  EXPECT_EQ(end(403).rule, "inference@secret");
  for (const int status : {200, 400, 404, 429, 503}) {
    EXPECT_TRUE(ask(alices()).ok());
    check_.set_status(status);
    check_.forget();
    EXPECT_TRUE(audit_.list.empty()) << status;
  }
}

TEST_F(CallReportTest, OfAStreamEachMessageThatIsDeniedIsARecord) {
  audit_.wants_all = false;
  publish_audit();
  publish_source();
  EXPECT_TRUE(ask(alices(), ApiCategory::kInference, {{}, "/stream", true}, CallProtocol::kGrpc).ok());
  const CallerIdentityPtr kept = check_.take_identity();
  for (const char* model : {"mine", "secret", "mine", "other"})
    (void)may_use(identity_of(kept), ApiCategory::kInference, model);
  ASSERT_EQ(audit_.list.size(), 2u);
  EXPECT_EQ(audit_.list[0].rule, "inference@secret");
  EXPECT_EQ(audit_.list[1].rule, "inference@other");
  EXPECT_EQ(audit_.list[1].status, 5);
  check_.set_status(0);
  check_.forget();
  EXPECT_EQ(audit_.list.size(), 2u) << "the stream itself was allowed";
}

TEST_F(CallReportTest, WhoJudgesCallsDeniesToo) {
  publish_audit();
  access_.require(ApiCategory::kInference, "key", "right", make_status(Code::kPermissionDenied, "no"));
  host_.registry().publish<Access>("keys", access_);
  test::publish_service_changed(host_, Access::kInterfaceId, "keys");
  EXPECT_FALSE(ask({{"key", "wrong"}}).ok());
  const KeptRecord denied = end(403);
  EXPECT_EQ(denied.rule, "provider");
  EXPECT_EQ(denied.reason, "no");
  EXPECT_TRUE(ask({{"key", "right"}}).ok());
  EXPECT_EQ(end(200).subject, "key");
}

TEST_F(CallReportTest, WhoAuditsMayGoMeanwhile) {
  publish_audit();
  EXPECT_TRUE(ask({}).ok());
  withdraw_audit();
  EXPECT_EQ(host_.registry().holders(), 0u) << "a call that lasts holds nobody";
  check_.forget();
  EXPECT_TRUE(audit_.list.empty());
}

TEST_F(CallReportTest, TextsOfClientsAreBounded) {
  publish_audit();
  const std::string path(1 << 20, 'p');
  EXPECT_TRUE(ask({{"x-request-id", path}}, ApiCategory::kInference, {"POST", path}).ok());
  const KeptRecord record = end(400);
  EXPECT_LT(record.path.size(), 2000u);
  EXPECT_LT(record.request_id.size(), 2000u);
}

}  // namespace
}  // namespace atl::frontends
