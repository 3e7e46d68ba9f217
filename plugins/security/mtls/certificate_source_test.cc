#include "security/mtls/certificate_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "atoll/testing/call_head.h"
#include "atoll/testing/conformance/identities.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::mtls {
namespace {

using testing::HasSubstr;
using Headers = test::TestCallHead::Headers;

constexpr const char* kProxy = "ipv4:10.0.0.7:1234";
constexpr const char* kClient = "ipv4:192.0.2.1:1234";
constexpr const char* kForwarded = "x-forwarded-client-cert";

class CertificateSourceTest : public testing::Test {
 protected:
  CertificateSourceTest() {
    host.options()
        .set_map("permissions", {{"*", "metadata"},
                                 {"URI=spiffe://x/ns/*/ml", "inference@m*"},
                                 {"CN=ops", "*"},
                                 {"CN=fraud-*", "inference@fraud-*"}})
        .set_map("tenants", {{"CN=*", "people"}, {"CN=fraud-*", "fraud"}, {"URI=spiffe://x/*", "x"}})
        .set_strings("trusted_proxies", {"10.0.0.0/8"});
  }
  std::string start() { return plugin.create_and_start().text(); }
  ClientCertificate certificate(std::vector<std::string> uris, std::vector<std::string> names) {
    return {std::move(uris), std::move(names), host.clock().wall_ns() / kNsPerSecond + 100};
  }
  /// The caller's name, "not mine", "open", or the code of the refusal.
  std::string ask(const ClientCertificate* shown, Headers headers = {}, const char* peer = kClient,
                  bool is_probe = false) {
    const test::TestCallHead head(std::move(headers), shown, peer);
    identity = nullptr;
    Result<IdentityOutcome> outcome = plugin.query<Access>()->identify_certified(
        {ApiCategory::kInference, "inference", CallProtocol::kHttp, head, is_probe}, &identity);
    if (!outcome.ok()) return std::string(code_name(outcome.status().code()));
    return *outcome == IdentityOutcome::kKnown  ? std::string(identity->name())
           : *outcome == IdentityOutcome::kOpen ? "open"
                                                : "not mine";
  }
  std::string show(const ClientCertificate& shown) { return ask(&shown); }
  std::string forward(const std::string& text, const char* peer = kProxy) {
    return ask(nullptr, {{kForwarded, text}}, peer);
  }
  bool may(ApiCategory category, std::string_view model) const {
    return identity->may(category, api_category_name(category), model);
  }

  test::FakeHost host;
  test::PluginRunner plugin{host};
  std::shared_ptr<const Identity> identity;
};

TEST_F(CertificateSourceTest, NamesBecomePermissionsAndTenants) {
  ASSERT_EQ(start(), "OK");
  EXPECT_EQ(show(certificate({"spiffe://x/ns/a/ml"}, {"ops"})), "spiffe://x/ns/a/ml") << "the URI counts";
  EXPECT_EQ(identity->tenant(), "x");
  EXPECT_TRUE(may(ApiCategory::kMetadata, "any"));
  EXPECT_TRUE(may(ApiCategory::kInference, "m1"));
  EXPECT_FALSE(may(ApiCategory::kInference, "other"));
  EXPECT_FALSE(identity->may_all(ApiCategory::kLogging, "logging"));
  EXPECT_EQ(show(certificate({}, {"ops"})), "ops");
  EXPECT_TRUE(identity->may_all(ApiCategory::kLogging, "logging"));
  EXPECT_EQ(identity->tenant(), "people");
  EXPECT_EQ(show(certificate({}, {"fraud-a"})), "fraud-a");
  EXPECT_EQ(identity->tenant(), "fraud") << "the longest pattern counts";
  EXPECT_EQ(show(certificate({"urn:other"}, {})), "urn:other");
  EXPECT_EQ(identity->tenant(), "urn:other") << "its own name";
  EXPECT_TRUE(may(ApiCategory::kMetadata, "any"));
  EXPECT_FALSE(may(ApiCategory::kInference, "m1"));
}

TEST_F(CertificateSourceTest, ANameOfOneKindIsNoNameOfTheOther) {
  ASSERT_EQ(start(), "OK");
  EXPECT_EQ(show(certificate({"ops"}, {})), "ops");
  EXPECT_FALSE(identity->may_all(ApiCategory::kLogging, "logging")) << "permitted is the common name";
  EXPECT_EQ(show(certificate({}, {"spiffe://x/ns/a/ml"})), "UNAUTHENTICATED");
}

TEST_F(CertificateSourceTest, WithoutACertificateNobodyIsKnown) {
  ASSERT_EQ(start(), "OK");
  EXPECT_EQ(ask(nullptr), "not mine");
  EXPECT_EQ(ask(nullptr, {}, kClient, true), "open") << "a probe";
  const test::TestCallHead head({{kForwarded, "URI=a"}}, nullptr, kClient);
  EXPECT_EQ(plugin.query<Access>()
                ->identify({ApiCategory::kInference, "inference", CallProtocol::kHttp, head}, &identity)
                .value(),
            IdentityOutcome::kNotMine)
      << "a frontend of an earlier minor";
}

TEST_F(CertificateSourceTest, ACertificateThatDoesNotSayWhoItIsIsRefused) {
  ASSERT_EQ(start(), "OK");
  using namespace std::string_literals;
  for (const auto& [uris, names] : std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>>{
           {{}, {}},
           {{"spiffe://x/ns/a/ml", "spiffe://x/ns/b/ml"}, {"ops"}},
           {{"spiffe://x/ns/a/ml", "spiffe://x/ns/a/ml"}, {}},
           {{}, {"ops", "fraud-a"}},
           {{}, {"ops\0.example.org"s}},
           {{}, {"\0ops"s}},
           {{""}, {"ops"}},
           {{"spiffe://x/\n"}, {"ops"}},
           {{}, {"\xFF"}},
           {{}, {std::string(257, 'a')}}})
    EXPECT_EQ(show(certificate(uris, names)), "UNAUTHENTICATED");
  EXPECT_EQ(show(certificate({}, {std::string(256, 'a')})), std::string(256, 'a'));
}

TEST_F(CertificateSourceTest, AnIdentityEndsWithItsCertificate) {
  ASSERT_EQ(start(), "OK");
  const ClientCertificate shown = certificate({}, {"ops"});
  ASSERT_EQ(show(shown), "ops");
  EXPECT_TRUE(identity->holds());
  host.run_for(99 * kNsPerSecond);
  EXPECT_TRUE(identity->holds());
  host.run_for(kNsPerSecond);
  EXPECT_FALSE(identity->holds());
  EXPECT_EQ(show(shown), "UNAUTHENTICATED") << "the connection is older than that";
}

TEST_F(CertificateSourceTest, AForwardedCertificateCountsFromATrustedProxyAlone) {
  ASSERT_EQ(start(), "OK");
  EXPECT_EQ(forward("By=x;URI=spiffe://x/ns/a/ml;Subject=\"CN=ops\""), "spiffe://x/ns/a/ml");
  EXPECT_TRUE(may(ApiCategory::kInference, "m1"));
  EXPECT_TRUE(identity->holds());
  EXPECT_EQ(forward("Hash=1;Subject=\"O=x,CN=ops\""), "ops");
  EXPECT_EQ(forward("URI=spiffe://x/ns/a/ml", kClient), "not mine");
  const ClientCertificate mine = certificate({}, {"fraud-a"}), proxys = certificate({}, {"ops"});
  EXPECT_EQ(ask(&mine, {{kForwarded, "Subject=\"CN=ops\""}}), "fraud-a") << "its own counts, not its word";
  EXPECT_EQ(ask(&proxys, {{kForwarded, "Subject=\"CN=fraud-a\""}}, kProxy), "fraud-a");
  EXPECT_EQ(ask(&proxys, {}, kProxy), "not mine") << "the proxy's client has shown none";
}

TEST_F(CertificateSourceTest, AForwardedCertificateThatIsSplitOrRepeatedIsRefused) {
  ASSERT_EQ(start(), "OK");
  const Headers twice = {{kForwarded, "URI=spiffe://x/ns/a/ml"}, {kForwarded, "URI=spiffe://x/ns/a/ml"}};
  EXPECT_EQ(ask(nullptr, twice, kProxy), "UNAUTHENTICATED");
  const Headers split = {{kForwarded, "By=x"}, {kForwarded, "URI=spiffe://x/ns/a/ml"}};
  EXPECT_EQ(ask(nullptr, split, kProxy), "UNAUTHENTICATED");
  EXPECT_EQ(forward("URI=spiffe://x/ns/a/ml,URI=spiffe://x/ns/a/ml"), "UNAUTHENTICATED");
  EXPECT_EQ(forward("URI=spiffe://x/ns/a/ml;URI=spiffe://x/ns/b/ml"), "UNAUTHENTICATED");
  EXPECT_EQ(forward(""), "UNAUTHENTICATED");
  EXPECT_EQ(forward("Hash=1"), "UNAUTHENTICATED") << "it names nobody";
}

TEST_F(CertificateSourceTest, OptionsThatMakeNoSenseRefuseTheStart) {
  using test::FakeOptions;
  const auto refused = [](auto&& change) {
    test::FakeHost other;
    change(other.options());
    test::PluginRunner runner{other};
    return runner.create_and_start().text();
  };
  EXPECT_EQ(refused([](FakeOptions&) {}), "OK");
  EXPECT_THAT(refused([](FakeOptions& o) {
                o.set_map("permissions", {{"ops", "*"}});
              }),
              HasSubstr("URI=PATTERN"));
  EXPECT_THAT(refused([](FakeOptions& o) { o.set_map("permissions", {{"CN=", "*"}}); }), HasSubstr("'CN='"));
  EXPECT_THAT(refused([](FakeOptions& o) {
                o.set_map("permissions", {{"CN=a", "everything"}});
              }),
              HasSubstr("everything"));
  EXPECT_THAT(refused([](FakeOptions& o) { o.set_map("tenants", {{"CN=a", ""}}); }), HasSubstr("'tenants'"));
  EXPECT_THAT(refused([](FakeOptions& o) { o.set_strings("trusted_proxies", {"proxy"}); }),
              HasSubstr("'proxy'"));
}

/// A plugin that knows whoever its proxy says, and its host.
struct Served {
  Served() {
    host.options()
        .set_map("permissions", {{"URI=urn:right", "inference@mine*"}, {"CN=right", "inference@mine*"}})
        .set_strings("trusted_proxies", {"192.0.2.1"});
    const Status status = plugin.create_and_start();
    EXPECT_TRUE(status.ok()) << status.text();
  }
  test::FakeHost host;
  test::PluginRunner plugin{host};
};

std::shared_ptr<Access> make_source() {
  auto served = std::make_shared<Served>();
  return {served, served->plugin.query<Access>()};
}

}  // namespace
}  // namespace atl::mtls

namespace atl::test {

INSTANTIATE_TEST_SUITE_P(Mtls, IdentityConformance,
                         ::testing::Values(IdentitySource{
                             "forwarded",
                             mtls::make_source,
                             {{"x-forwarded-client-cert", "URI=\"urn:right\""}},
                             {},
                             ClientCertificate{{}, {"right"}, std::numeric_limits<int64_t>::max()}}));

}  // namespace atl::test
