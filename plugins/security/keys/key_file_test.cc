#include "security/keys/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "atoll/testing/conformance/identities.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::keys {
namespace {

constexpr ApiCategory kInference = ApiCategory::kInference;

// SHA-256 of "atk_ci_0123456789abcdef0123456789abcdef", by sha256sum.
constexpr std::string_view kToken = "atk_ci_0123456789abcdef0123456789abcdef";
constexpr std::string_view kDigest = "22d236520c7603a305edf08bc9c6b6b685e07b9aa230a30cf5a32cc22acd3071";

std::string line(std::string_view permissions, std::string_view more = {}) {
  return cat("ci:", kDigest, ":", permissions, more.empty() ? "" : ":", more, "\n");
}

std::shared_ptr<KeySet> keys_of(const std::string& text) {
  Result<std::shared_ptr<KeySet>> keys = KeySet::parse(text);
  EXPECT_TRUE(keys.ok()) << keys.status().text();
  return keys.ok() ? std::move(keys).value() : nullptr;
}

std::string problem(const std::string& text) { return std::string(KeySet::parse(text).status().message()); }

TEST(KeySet, ATokenIsFoundByItsIdAndItsDigest) {
  const auto keys = keys_of(cat("# keys\n\n", line("inference,health", "tenant=blue")));
  const std::shared_ptr<const Identity> found = KeySet::find(keys, kToken);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name(), "ci");
  EXPECT_EQ(found->tenant(), "blue");
  EXPECT_TRUE(found->holds());
  for (const std::string& wrong :
       {std::string(), cat(kToken, "0"), std::string(kToken.substr(0, kToken.size() - 1)),
        std::string("atk_ci_"), std::string("atk_cd_0123456789abcdef0123456789abcdef"), std::string("ci"),
        std::string(100'000, 'a')}) {
    EXPECT_EQ(KeySet::find(keys, wrong), nullptr) << wrong.substr(0, 50);
  }
}

TEST(KeySet, IdentitiesHoldUntilTheirKeysAreReadAgainOrTheirTimeIsOver) {
  auto keys = keys_of(line("*", "expires=2999-01-01T00:00:00Z"));
  const auto found = KeySet::find(keys, kToken);
  ASSERT_NE(found, nullptr);
  keys->outdate();
  keys.reset();
  EXPECT_FALSE(found->holds()) << "and it lives without the set";
  EXPECT_EQ(KeySet::find(keys_of(line("*", "expires=2001-01-01T00:00:00+01:00")), kToken), nullptr);
}

TEST(Permissions, AreByCategoryAndModel) {
  const Permissions some = Permissions::parse("health,inference@fraud-*,openai@llama,model-config@*").value();
  EXPECT_TRUE(some.may("health", "anything"));
  EXPECT_TRUE(some.may("inference", "fraud-a"));
  EXPECT_TRUE(some.may("inference", "")) << "some model at least";
  EXPECT_FALSE(some.may("inference", "fraud"));
  EXPECT_FALSE(some.may("inference", "xfraud-a"));
  EXPECT_FALSE(some.may("metadata", ""));
  EXPECT_FALSE(some.may("", ""));
  EXPECT_TRUE(some.may("openai.chat", "llama"));
  EXPECT_FALSE(some.may("openai.chat", "llama2"));
  EXPECT_FALSE(some.may("openai", "llama")) << "no category has this name";
  EXPECT_FALSE(some.may("openaix.chat", "llama"));
  EXPECT_TRUE(some.may_all("health"));
  EXPECT_FALSE(some.may_all("inference"));
  EXPECT_TRUE(some.may_all("model-config"));
  EXPECT_FALSE(some.may(kModelRepositoryFiles, "m"));
  EXPECT_FALSE(Permissions::parse("model-repository").value().may(kModelRepositoryFiles, "m"));
  EXPECT_TRUE(Permissions::parse("*").value().may(kModelRepositoryFiles, "m"));
  EXPECT_TRUE(Permissions::parse("*").value().may_all("anything"));
}

TEST(Permissions, APatternIsMatchedInBoundedTime) {
  const Permissions stars = Permissions::parse(cat("inference@", std::string(2000, '*'), "a*a*a*b")).value();
  EXPECT_FALSE(stars.may("inference", std::string(4000, 'a')));
  EXPECT_TRUE(stars.may("inference", std::string(4000, 'a') + "b"));
}

TEST(KeySet, WhatCannotBeReadIsNamedByItsLineAndShowsNoDigest) {
  const std::string good = line("*");
  EXPECT_EQ(problem(good + good), "line 2: the id 'ci' comes twice");
  EXPECT_EQ(problem("ci\n"), "line 1: found too few fields, expected 'id:SHA-256:permissions'");
  EXPECT_EQ(problem("CI:x:*"), "line 1: the id is not of 1 to 64 lower-case letters, digits and '-'");
  EXPECT_EQ(problem("ci:secret:*"),
            "line 1: the second field is no SHA-256, which has 64 hexadecimal digits");
  EXPECT_EQ(problem(line("inferense")), "line 1: unknown category 'inferense'");
  EXPECT_EQ(problem(line("inference@")), "line 1: found no pattern of models behind 'inference@'");
  for (const char* category : {"metrics", "logging", "shared-memory", "pools.pool"}) {
    EXPECT_NE(problem(line(cat("health,", category, "@a*"))).find("about the whole server"),
              std::string::npos);
    EXPECT_EQ(problem(line(cat(category, "@*,", category))), "");
  }
  EXPECT_EQ(problem(line("")), "line 1: found no permission, expected '*' or categories");
  EXPECT_EQ(problem(line("*", "tenant=")),
            "line 1: found 'tenant=' in the fourth field, expected 'tenant=NAME' and 'expires=TIME'");
  for (const char* time :
       {"2027-02-30T00:00:00Z", "2027-01-01", "2027-01-01T00:00:00", "2027-01-01T00:00:00+1:00",
        "2027-01-01T24:00:00Z", "2027-01-01T00:00:00Zx", "2027-01-01T00:00:00.Z"}) {
    EXPECT_NE(problem(line("*", cat("expires=", time))), "") << time;
  }
  EXPECT_EQ(problem(line("*", "tenant=a;expires=2027-01-01T00:00:00.25-08:00")), "");
}

TEST(KeySet, AnIdIsNoNameOfAnothersTenant) {
  const std::string other = "blue-ci" + line("*", "tenant=blue").substr(2);
  const std::string own = "blue" + line("*").substr(2);
  EXPECT_EQ(
      problem(own + other),
      "line 1: the id 'blue' is the name of a tenant, and the key has none: add ';tenant=blue' or choose another id");
  EXPECT_EQ(problem(other + own).substr(0, 7), "line 2:");
  EXPECT_EQ(problem(other + "blue" + line("*", "tenant=blue").substr(2)), "");
  EXPECT_EQ(problem(other + "blue" + line("*", "tenant=red").substr(2)), "");
  EXPECT_EQ(problem(own + "red" + line("*").substr(2)), "");
}

TEST(KeySet, AllWrongLinesAreToldAtOnce) {
  EXPECT_EQ(
      problem(cat("ci\n", line("*"), "# a comment\n", line("inferense"), line("*"))),
      "line 1: found too few fields, expected 'id:SHA-256:permissions'; line 4: unknown category 'inferense'; "
      "line 5: the id 'ci' comes twice");
  std::string many;
  for (int i = 0; i < 30; ++i) many += "x\n";
  EXPECT_TRUE(problem(many).ends_with(
      "; line 10: found too few fields, expected 'id:SHA-256:permissions'; and 20 more"))
      << problem(many);
}

class KeyFileTest : public ::testing::Test {
 protected:
  KeyFileTest() {
    char name[] = "/tmp/keys-XXXXXX";
    const int fd = ::mkstemp(name);
    EXPECT_GE(fd, 0);
    ::close(fd);
    path_ = name;
  }
  ~KeyFileTest() override { std::filesystem::remove(path_); }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
  }
  std::string path_;
};

TEST_F(KeyFileTest, IsRefusedIfOthersCanReadOrWriteIt) {
  write(line("*"), 0640);
  EXPECT_TRUE(KeySet::read(path_).ok());
  for (const mode_t mode : {0604, 0602, 0644}) {
    write(line("*"), mode);
    EXPECT_FALSE(KeySet::read(path_).ok()) << mode;
  }
  EXPECT_FALSE(KeySet::read("/dev/null").ok());
  EXPECT_FALSE(KeySet::read(path_ + "-none").ok());
}

/// The plugin with a file.
class TokenTest : public KeyFileTest {
 protected:
  void start(const std::string& text) {
    write(text);
    host_.options().set_string("keys_file", path_);
    const Status status = plugin_.create_and_start();
    ASSERT_TRUE(status.ok()) << status.text();
    access_ = plugin_.query<Access>();
  }
  Result<IdentityOutcome> identify(test::TestCallHead::Headers headers, bool is_probe = false) {
    const test::TestCallHead head(std::move(headers));
    return access_->identify({kInference, "inference", CallProtocol::kHttp, head, is_probe}, &identity_);
  }

  test::FakeHost host_;
  test::PluginRunner plugin_{host_};
  Access* access_ = nullptr;
  std::shared_ptr<const Identity> identity_;
};

TEST_F(TokenTest, ACallIsKnownRefusedNotMineOrOpen) {
  start(line("inference"));
  EXPECT_EQ(access_->roles(), static_cast<uint32_t>(kKnowsCallers));
  ASSERT_TRUE(identify({{"authorization", cat("Bearer ", kToken)}}).ok());
  EXPECT_EQ(identity_->name(), "ci");
  EXPECT_EQ(identify({{"authorization", cat("bearer   ", kToken, " ")}}).value(), IdentityOutcome::kKnown);
  EXPECT_EQ(identify({{"authorization", cat("Bearer ", kToken, "x")}}).status().code(),
            Code::kUnauthenticated);
  EXPECT_EQ(identify({}).value(), IdentityOutcome::kNotMine);
  EXPECT_EQ(identify({{"authorization", cat("Basic ", kToken)}}).value(), IdentityOutcome::kNotMine);
  EXPECT_EQ(identify({{"authorization", "Bearer eyJ.x.y"}}).value(), IdentityOutcome::kNotMine);
  const auto right = std::make_pair(std::string("authorization"), cat("Bearer ", kToken));
  EXPECT_EQ(identify({right, right}).status().code(), Code::kUnauthenticated);
  EXPECT_EQ(identify({}, true).value(), IdentityOutcome::kOpen);
  identity_.reset();
}

TEST_F(TokenTest, WithoutKeysNobodyCanBeKnown) {
  start("# none yet\n");
  EXPECT_EQ(identify({{"authorization", cat("Bearer ", kToken)}}).status().code(), Code::kUnavailable);
}

/// A plugin with its file and its host.
struct Served {
  Served() {
    char name[] = "/tmp/keys-XXXXXX";
    const int fd = ::mkstemp(name);
    path = name;
    ::close(fd);
    std::ofstream(path) << line("inference@mine*");
    host.options().set_string("keys_file", path);
    const Status status = plugin.create_and_start();
    EXPECT_TRUE(status.ok()) << status.text();
  }
  ~Served() { std::filesystem::remove(path); }
  std::string path;
  test::FakeHost host;
  test::PluginRunner plugin{host};
};

std::shared_ptr<Access> make_source() {
  auto served = std::make_shared<Served>();
  return {served, served->plugin.query<Access>()};
}

}  // namespace
}  // namespace atl::keys

namespace atl::test {

INSTANTIATE_TEST_SUITE_P(
    Keys, IdentityConformance,
    ::testing::Values(IdentitySource{
        "file", keys::make_source, {{"authorization", cat("Bearer ", keys::kToken)}}, {}}));

}  // namespace atl::test
