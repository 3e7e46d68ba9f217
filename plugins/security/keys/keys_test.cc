#include "security/keys/keys.h"

#include <gtest/gtest.h>

#include <memory>

#include "atoll/testing/conformance/access.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::keys {
namespace {

using Headers = test::TestCallHead::Headers;

class NobodyWaits final : public AccessWaiter {
 public:
  virtual ~NobodyWaits() = default;
  void on_access(Status, std::string_view) noexcept override { ADD_FAILURE() << "keys answer at once"; }
};

class KeysTest : public ::testing::Test {
 protected:
  KeysTest() {
    host_.options().set_strings("restricted_protocols", {"inference,statistics,x.own:Key=secret"});
    host_.options().set_strings("restricted_apis", {"inference,metrics,x.own:X-Key=right"});
    Status status = plugin_.create_and_start();
    EXPECT_TRUE(status.ok()) << status.text();
  }
  Status ask(ApiCategory category, CallProtocol protocol, Headers headers) {
    NobodyWaits waiter;
    caller_ = "before";
    const test::TestCallHead head(std::move(headers));
    const std::string_view name = category == ApiCategory::kOther ? "x.own" : api_category_name(category);
    return plugin_.query<Access>()->ask({category, name, protocol, head}, waiter, &caller_).status();
  }

  test::FakeHost host_;
  test::PluginRunner plugin_{host_};
  std::string_view caller_;
};

TEST_F(KeysTest, EachProtocolHasItsOwnHeaderTextAndCode) {
  Status status = ask(ApiCategory::kInference, CallProtocol::kGrpc, {{"x-key", "right"}});
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "This protocol is restricted, expecting header 'triton-grpc-protocol-key'");
  status = ask(ApiCategory::kInference, CallProtocol::kHttp, {{"triton-grpc-protocol-key", "secret"}});
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_EQ(status.message(), "This API is restricted, expecting header 'X-Key'") << "as the manifest has it";
  EXPECT_TRUE(
      ask(ApiCategory::kInference, CallProtocol::kGrpc, {{"triton-grpc-protocol-key", "secret"}}).ok());
  EXPECT_EQ(caller_, "Key");
  EXPECT_TRUE(ask(ApiCategory::kInference, CallProtocol::kHttp, {{"x-key", "right"}}).ok());
  EXPECT_EQ(caller_, "X-Key");
}

TEST_F(KeysTest, CategoriesThatAreNotNamedAreFree) {
  EXPECT_FALSE(ask(ApiCategory::kStatistics, CallProtocol::kGrpc, {}).ok());
  EXPECT_TRUE(ask(ApiCategory::kStatistics, CallProtocol::kHttp, {}).ok());
  EXPECT_EQ(caller_, "") << "it is not known who calls";
  EXPECT_FALSE(ask(ApiCategory::kMetrics, CallProtocol::kHttp, {}).ok());
  EXPECT_TRUE(ask(ApiCategory::kMetrics, CallProtocol::kHttp, {{"x-key", "right"}}).ok());
  EXPECT_FALSE(ask(ApiCategory::kOther, CallProtocol::kHttp, {}).ok());
  EXPECT_TRUE(ask(ApiCategory::kOther, CallProtocol::kHttp, {{"x-key", "right"}}).ok());
  EXPECT_FALSE(ask(ApiCategory::kOther, CallProtocol::kGrpc, {}).ok());
  EXPECT_TRUE(ask(ApiCategory::kOther, CallProtocol::kGrpc, {{"triton-grpc-protocol-key", "secret"}}).ok());
}

TEST(KeysPlugin, EntriesThatCanNotBeReadAreRefusedAtTheStart) {
  auto refusal = [](const char* option, const char* entry) {
    test::FakeHost host;
    host.options().set_strings(option, {entry});
    test::PluginRunner plugin(host);
    Status status = plugin.create();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    const std::string where = cat("option '", option, "': ");
    EXPECT_TRUE(status.message().starts_with(where)) << status.message();
    return std::string(status.message().substr(std::min(where.size(), status.message().size())));
  };
  EXPECT_EQ(refusal("restricted_protocols", "nothing:k=v"), "unknown restricted protocol 'nothing' ");
  EXPECT_EQ(refusal("restricted_protocols", "metrics:k=v"), "unknown restricted protocol 'metrics' ");
  EXPECT_EQ(refusal("restricted_protocols", "health k=v"),
            "restricted protocol format is '<category>,<category>:<key>=<value>'. Got health k=...");
  EXPECT_EQ(
      refusal("restricted_protocols", "health:a key=v"),
      "restricted protocol key 'a key' cannot be the name of metadata, expected letters, digits, '-', '_', '.'");
  EXPECT_NE(refusal("restricted_protocols", "x.own:a key=v"), "");
  EXPECT_EQ(refusal("restricted_apis", "x:y=z"), "unknown restricted api 'x' ");
}

std::shared_ptr<Access> make(CallProtocol) {
  Result<Keys> keys = Keys::parse({"inference:key=s3cret value"}, {"inference:X-Key=s3cret value"});
  EXPECT_TRUE(keys.ok()) << keys.status().text();
  return std::make_shared<Keys>(std::move(keys).value());
}

}  // namespace
}  // namespace atl::keys

namespace atl::test {

INSTANTIATE_TEST_SUITE_P(
    Keys, AccessConformance,
    ::testing::Values(
        AccessProvider{
            "grpc", keys::make, CallProtocol::kGrpc, {{"triton-grpc-protocol-key", "s3cret value"}}, {}},
        AccessProvider{"http", keys::make, CallProtocol::kHttp, {{"x-key", "s3cret value"}}, {}}));

}  // namespace atl::test
