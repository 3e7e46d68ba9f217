#include "caches/redis/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/runtime/option_table.h"
#include "atoll/testing/option_table.h"
#include "caches/redis/option_table.h"

namespace atl::caches {
namespace {

class RedisSettingsTest : public ::testing::Test {
 protected:
  ~RedisSettingsTest() override {
    unsetenv("TRITONCACHE_REDIS_USERNAME");
    unsetenv("TRITONCACHE_REDIS_PASSWORD");
  }
  static Result<RedisSettings> read(test::OptionTexts texts) {
    texts.emplace("address", "127.0.0.1:6379");
    test::FakeOptions options;
    ATOLL_RETURN_IF_ERROR(test::apply_option_table(kRedisOptions, texts, options));
    return RedisSettings::read(options);
  }
  static std::string refusal(const test::OptionTexts& texts) {
    Result<RedisSettings> settings = read(texts);
    return settings.ok() ? "accepted" : std::string(settings.status().message());
  }
};

TEST_F(RedisSettingsTest, Defaults) {
  const Status table = runtime::check_option_table(kRedisOptions);
  EXPECT_TRUE(table.ok()) << table.text();
  Result<RedisSettings> settings = read({});
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->address.text(), "127.0.0.1:6379");
  EXPECT_EQ(settings->user, "");
  EXPECT_EQ(settings->password, "");
  EXPECT_FALSE(settings->tls.use_tls);
  EXPECT_EQ(settings->timeout_ns, 50 * kNsPerMs);
  EXPECT_EQ(settings->ttl_ns, 3600 * kNsPerSecond);
  EXPECT_EQ(settings->entry_bytes_max, 16u << 20);
  EXPECT_EQ(settings->key_prefix, "atoll:");
}

TEST_F(RedisSettingsTest, Addresses) {
  EXPECT_EQ(read({{"address", "[::1]:7"}})->address.text(), "[::1]:7");
  EXPECT_EQ(read({{"address", "cache.example:7"}})->address.host, "cache.example");
  for (const char* wrong :
       {"", "cache", "cache:", ":6379", "cache:0", "cache:65536", "cache:6379x", "::1:6379"}) {
    EXPECT_EQ(refusal({{"address", wrong}}),
              cat("option 'address' is '", wrong,
                  "', expected host:port with a port of 1 to 65535, such as 127.0.0.1:6379"));
  }
}

TEST_F(RedisSettingsTest, UserAndPasswordOfTheEnvironmentWhereTheManifestHasNone) {
  setenv("TRITONCACHE_REDIS_USERNAME", "someone", 1);
  setenv("TRITONCACHE_REDIS_PASSWORD", "hidden", 1);
  EXPECT_EQ(read({})->user, "someone");
  EXPECT_EQ(read({})->password, "hidden");
  EXPECT_EQ(read({{"user", "me"}, {"password", "mine"}})->user, "me");
  EXPECT_EQ(read({{"user", "me"}, {"password", "mine"}})->password, "mine");
}

TEST_F(RedisSettingsTest, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_EQ(refusal({{"user", "me"}}),
            "option 'user' is 'me' without a password: set 'password' or TRITONCACHE_REDIS_PASSWORD");
  EXPECT_EQ(refusal({{"tls_root_cert", "ca.crt"}}), "option 'tls_root_cert' is set, and 'tls' is false");
  EXPECT_EQ(refusal({{"tls", "true"}, {"tls_client_key", "k"}}),
            "options 'tls_client_cert' and 'tls_client_key' belong together: one is empty");
}

TEST_F(RedisSettingsTest, TheCertificateIsForTheHostUnlessAnotherNameIsSaid) {
  EXPECT_EQ(read({{"tls", "true"}, {"address", "cache.example:1"}})->tls.server_name, "cache.example");
  EXPECT_EQ(read({{"tls", "true"}, {"tls_server_name", "other"}})->tls.server_name, "other");
}

}  // namespace
}  // namespace atl::caches
