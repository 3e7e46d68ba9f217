#include "repositories/s3/store_credentials.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "atoll/testing/temporary_directory.h"

namespace atl::s3 {
namespace {

class CredentialsTest : public ::testing::Test {
 protected:
  Result<CredentialSource> read() {
    return CredentialSource::read([this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    });
  }
  void file(const std::string& text) {
    const std::string path = root_.path() / "credentials.json";
    std::ofstream(path) << text;
    variables_["TRITON_CLOUD_CREDENTIAL_PATH"] = path;
  }
  test::TemporaryDirectory root_;
  std::map<std::string, std::string> variables_;
};

TEST_F(CredentialsTest, NothingIsAnonymous) {
  const StoreCredentials found = read()->of("s3://b");
  EXPECT_EQ(found.key_id, "");
  EXPECT_EQ(found.region, "us-east-1");
  variables_ = {{"AWS_ACCESS_KEY_ID", "k"}};
  EXPECT_EQ(read()->of("s3://b").key_id, "") << "a key without its secret is none";
}

TEST_F(CredentialsTest, TheEnvironmentHasThem) {
  variables_ = {{"AWS_ACCESS_KEY_ID", "k"},
                {"AWS_SECRET_ACCESS_KEY", "s"},
                {"AWS_SESSION_TOKEN", "t"},
                {"AWS_DEFAULT_REGION", "eu-west-1"},
                {"AWS_ENDPOINT_URL", "http://h:1"}};
  auto source = read();
  const StoreCredentials found = source->of("s3://b");
  EXPECT_EQ(found.key_id + found.secret + found.session_token, "kst");
  EXPECT_EQ(found.region, "eu-west-1");
  EXPECT_EQ(source->endpoint(), "http://h:1");
  variables_["AWS_REGION"] = "eu-north-1";
  EXPECT_EQ(read()->of("s3://b").region, "eu-north-1");
}

TEST_F(CredentialsTest, TheLongestPrefixOfTheFileWins) {
  variables_ = {{"AWS_ACCESS_KEY_ID", "environment"}, {"AWS_SECRET_ACCESS_KEY", "s"}};
  file(R"({"gs": {"": "/key.json"}, "s3": {
         "s3://b": {"key_id": "b", "secret_key": "1", "region": "r"},
         "s3://b/deep": {"key_id": "deep", "secret_key": "2", "session_token": "t", "profile": "p"},
         "s3://c": {"region": "only"}}})");
  auto source = read();
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ(source->of("s3://b/x").key_id, "b");
  EXPECT_EQ(source->of("s3://b/deeper").key_id, "deep");
  EXPECT_EQ(source->of("s3://b/deeper").region, "us-east-1");
  EXPECT_EQ(source->of("s3://c").key_id, "environment");
  EXPECT_EQ(source->of("s3://c").region, "only");
  EXPECT_EQ(source->of("s3://d").key_id, "environment");
  file(R"({"s3": {"": {"key_id": "all", "secret_key": "1"}}})");
  EXPECT_EQ(read()->of("s3://d").key_id, "all");
}

TEST_F(CredentialsTest, ADamagedFileIsRefusedWithItsPath) {
  for (const char* text : {"", "[]", "{", R"({"s3": []})", R"({"s3": {"": "x"}})",
                           R"({"s3": {"": {"key_id": "a\nb", "secret_key": "c"}}})"}) {
    file(text);
    auto source = read();
    ASSERT_FALSE(source.ok()) << text;
    EXPECT_NE(source.status().message().find("credentials.json"), std::string::npos);
  }
  file(std::string(kCredentialsBytesMax + 1, ' '));
  EXPECT_FALSE(read().ok());
  variables_["TRITON_CLOUD_CREDENTIAL_PATH"] = "/nowhere";
  EXPECT_FALSE(read().ok());
}

}  // namespace
}  // namespace atl::s3
