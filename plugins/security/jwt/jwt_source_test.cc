#include "security/jwt/jwt_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "atoll/testing/call_head.h"
#include "atoll/testing/plugin_runner.h"
#include "security/jwt/testing/token_maker.h"

namespace atl::jwt {
namespace {

using testing::HasSubstr;
using Headers = test::TestCallHead::Headers;

class JwtSourceTest : public testing::Test {
 protected:
  JwtSourceTest() {
    write({signer.jwk(R"(,"kid":"k")")});
    host.options()
        .set_string("keys_file", file)
        .set_strings("issuers", {"i"})
        .set_strings("audiences", {"a"})
        .set_map("permissions", {{"*", "metadata"}, {"scope=infer", "inference@m*"}, {"role=admin", "*"}});
  }
  ~JwtSourceTest() override { std::filesystem::remove(file); }
  void write(const std::vector<std::string>& keys) { put(key_set(keys)); }
  void put(const std::string& text) {
    std::ofstream(file + ".new") << text;
    std::filesystem::rename(file + ".new", file);
  }
  std::string start() { return plugin.create_and_start().text(); }
  std::string token(const std::string& more = {}) const {
    const int64_t now = host_clock().wall_ns() / kNsPerSecond;
    return signer.token("ES256", cat(R"({"iss":"i","aud":"a","sub":"ann","exp":)", now + 100, more, "}"));
  }
  Clock& host_clock() const { return const_cast<test::FakeHost&>(host).clock(); }
  /// "known", "not mine", "open", or the code of the refusal.
  std::string ask(Headers headers, bool is_probe = false) {
    const test::TestCallHead head(std::move(headers));
    identity = nullptr;
    Result<IdentityOutcome> outcome = plugin.query<Access>()->identify(
        {ApiCategory::kInference, "inference", CallProtocol::kHttp, head, is_probe}, &identity);
    if (!outcome.ok()) return std::string(code_name(outcome.status().code()));
    return *outcome == IdentityOutcome::kKnown  ? "known"
           : *outcome == IdentityOutcome::kOpen ? "open"
                                                : "not mine";
  }
  std::string present(const std::string& text) { return ask({{"authorization", "Bearer " + text}}); }
  bool may(ApiCategory category, std::string_view model) const {
    return identity->may(category, api_category_name(category), model);
  }

  const TokenSigner signer{TokenSigner::Kind::kP256};
  const std::string file = cat(testing::TempDir(), "jwt_source_test_", ::getpid(), ".jwks");
  test::FakeHost host;
  test::PluginRunner plugin{host};
  std::shared_ptr<const Identity> identity;
};

TEST_F(JwtSourceTest, ClaimsBecomePermissions) {
  ASSERT_EQ(start(), "OK");
  EXPECT_EQ(present(token(R"(,"scope":"read infer")")), "known");
  EXPECT_EQ(identity->name(), "ann");
  EXPECT_EQ(identity->tenant(), "ann");
  EXPECT_TRUE(may(ApiCategory::kMetadata, "x"));
  EXPECT_TRUE(may(ApiCategory::kInference, "m1"));
  EXPECT_FALSE(may(ApiCategory::kInference, "x"));
  EXPECT_FALSE(may(ApiCategory::kStatistics, "m1"));
  EXPECT_EQ(present(token(R"(,"role":["admin"])")), "known");
  EXPECT_TRUE(identity->may_all(ApiCategory::kLogging, "logging"));
  EXPECT_EQ(present(token()), "known");
  EXPECT_FALSE(may(ApiCategory::kInference, "m1"));
}

TEST_F(JwtSourceTest, ScopesMayBeCalledEither) {
  ASSERT_EQ(start(), "OK");
  EXPECT_EQ(present(token(R"(,"scp":["read","infer"])")), "known");
  EXPECT_TRUE(may(ApiCategory::kInference, "m1"));
  EXPECT_EQ(present(token(R"(,"scp":"inferior")")), "known");
  EXPECT_FALSE(may(ApiCategory::kInference, "m1"));
}

TEST_F(JwtSourceTest, WhatIsNoTokenOfItsIssuersIsLeftToOthers) {
  ASSERT_EQ(start(), "OK");
  EXPECT_EQ(ask({}), "not mine");
  EXPECT_EQ(ask({{"authorization", "Basic YTpi"}}), "not mine");
  EXPECT_EQ(present("atk_ci_0123456789"), "not mine");
  EXPECT_EQ(present(signer.token("ES256", R"({"iss":"other","aud":"a","sub":"s","exp":99999999999})")),
            "not mine");
  EXPECT_EQ(present(signer.token("ES256", R"({"iss":"i","aud":"other","sub":"s","exp":99999999999})")),
            "UNAUTHENTICATED");
  EXPECT_EQ(ask({{"authorization", "Bearer " + token()}, {"authorization", "Bearer " + token()}}),
            "UNAUTHENTICATED");
  EXPECT_EQ(ask({}, true), "open") << "a probe";
}

TEST_F(JwtSourceTest, KeysAreReadAgainWhenTheFileHasChanged) {
  ASSERT_EQ(start(), "OK");
  const std::string signed_before = token();
  ASSERT_EQ(present(signed_before), "known");
  const std::shared_ptr<const Identity> before = identity;
  EXPECT_TRUE(before->holds());
  put("{\"keys\":");
  host.run_for(3 * kNsPerSecond);
  EXPECT_TRUE(before->holds()) << "a file that is no use changes nothing";
  EXPECT_EQ(present(signed_before), "known");
  const TokenSigner next(TokenSigner::Kind::kP256);
  write({next.jwk()});
  // Of the 2 s that docs/security.md promises; the other one is the frontends' (frontends/common/access/caller_look.h).
  host.run_for(kNsPerSecond);
  EXPECT_FALSE(before->holds());
  EXPECT_EQ(present(signed_before), "UNAUTHENTICATED");
}

TEST_F(JwtSourceTest, AnIdentityEndsWithItsToken) {
  ASSERT_EQ(start(), "OK");
  ASSERT_EQ(present(token()), "known");
  EXPECT_TRUE(identity->holds());
  host.run_for(160 * kNsPerSecond);
  EXPECT_FALSE(identity->holds());
}

TEST_F(JwtSourceTest, OptionsThatMakeNoSenseRefuseTheStart) {
  const auto refused = [&](auto&& change) {
    test::FakeHost other;
    other.options()
        .set_string("keys_file", file)
        .set_strings("issuers", {"i"})
        .set_strings("audiences", {"a"});
    change(other.options());
    test::PluginRunner runner{other};
    return runner.create_and_start().text();
  };
  using test::FakeOptions;
  EXPECT_EQ(refused([](FakeOptions&) {}), "OK");
  EXPECT_THAT(refused([](FakeOptions& o) { o.set_strings("audiences", {}); }), HasSubstr("'audiences'"));
  EXPECT_THAT(refused([](FakeOptions& o) { o.set_strings("issuers", {""}); }), HasSubstr("'issuers'"));
  EXPECT_THAT(refused([](FakeOptions& o) { o.set_strings("algorithms", {"HS256"}); }), HasSubstr("'HS256'"));
  EXPECT_THAT(refused([](FakeOptions& o) { o.set_string("name_claim", ""); }), HasSubstr("'name_claim'"));
  EXPECT_THAT(refused([](FakeOptions& o) {
                o.set_map("permissions", {{"admin", "*"}});
              }),
              HasSubstr("CLAIM=VALUE"));
  EXPECT_THAT(refused([](FakeOptions& o) {
                o.set_map("permissions", {{"a=b", "everything"}});
              }),
              HasSubstr("'a=b'"));
  EXPECT_THAT(refused([](FakeOptions& o) { o.set_string("keys_file", "/nowhere/keys"); }),
              HasSubstr("/nowhere/keys"));
}

}  // namespace
}  // namespace atl::jwt
