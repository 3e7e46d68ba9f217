#include "common/restricted_access.h"

#include <gtest/gtest.h>

namespace atl::frontends {
namespace {

using Values = std::vector<std::string_view>;

RestrictedAccess parsed(const std::vector<std::string>& entries) {
  Result<RestrictedAccess> access = RestrictedAccess::parse(entries, "api");
  EXPECT_TRUE(access.ok()) << access.status().text();
  return std::move(access).value();
}

TEST(RestrictedAccess, NothingIsRestrictedByDefault) {
  for (const RestrictedAccess& access : {RestrictedAccess(), parsed({})}) {
    for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
      auto category = static_cast<ApiCategory>(i);
      EXPECT_EQ(access.key_of(category), nullptr);
      EXPECT_TRUE(access.allows(category, {}));
      EXPECT_TRUE(access.allows(category, Values{"anything"}));
    }
  }
}

TEST(RestrictedAccess, EveryCategoryIsKnownByItsName) {
  for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
    auto category = static_cast<ApiCategory>(i);
    RestrictedAccess access = parsed({cat(api_category_name(category), ":k=v")});
    for (uint32_t other = 0; other < kApiCategoryCount; ++other) {
      EXPECT_EQ(access.key_of(static_cast<ApiCategory>(other)) != nullptr, other == i);
    }
  }
}

TEST(RestrictedAccess, GroupsHaveTheirOwnKeys) {
  RestrictedAccess access = parsed({"health,metadata:key-a=one", "shared-memory:key-b=two:=three"});
  ASSERT_NE(access.key_of(ApiCategory::kHealth), nullptr);
  EXPECT_EQ(*access.key_of(ApiCategory::kHealth), "key-a");
  EXPECT_EQ(*access.key_of(ApiCategory::kMetadata), "key-a");
  EXPECT_EQ(*access.key_of(ApiCategory::kSharedMemory), "key-b");
  EXPECT_EQ(access.key_of(ApiCategory::kInference), nullptr);
  EXPECT_TRUE(access.allows(ApiCategory::kHealth, Values{"one"}));
  EXPECT_TRUE(access.allows(ApiCategory::kMetadata, Values{"one"}));
  EXPECT_TRUE(access.allows(ApiCategory::kSharedMemory, Values{"two:=three"}));
  EXPECT_FALSE(access.allows(ApiCategory::kSharedMemory, Values{"one"}));
  EXPECT_FALSE(access.allows(ApiCategory::kHealth, Values{"two:=three"}));
}

TEST(RestrictedAccess, OnlyTheExactValueAloneIsAllowed) {
  RestrictedAccess access = parsed({"logging:k=secret"});
  auto allows = [&](const Values& values) { return access.allows(ApiCategory::kLogging, values); };
  EXPECT_TRUE(allows({"secret"}));
  for (std::string_view wrong : {"", "s", "secre", "secrets", "Secret", "secreT", "secretsecret", "xecret"}) {
    EXPECT_FALSE(allows({wrong})) << wrong;
  }
  EXPECT_FALSE(allows({std::string_view("secret\0", 7)}));
  EXPECT_FALSE(allows({}));
  EXPECT_FALSE(allows({"secret", "wrong"}));
  EXPECT_FALSE(allows({"wrong", "secret"}));
  EXPECT_FALSE(allows({"secret", "secret"}));
}

TEST(RestrictedAccess, CategoriesThatPluginsBring) {
  Result<RestrictedAccess> access =
      RestrictedAccess::parse({"openai.chat,health:k=one", "x.y:l=two"}, "api", true);
  ASSERT_TRUE(access.ok()) << access.status().text();
  EXPECT_EQ(*access->key_of("openai.chat"), "k");
  EXPECT_EQ(*access->key_of(ApiCategory::kHealth), "k");
  EXPECT_EQ(access->key_of("openai.other"), nullptr);
  EXPECT_TRUE(access->allows("openai.chat", Values{"one"}));
  EXPECT_FALSE(access->allows("openai.chat", Values{"two"}));
  EXPECT_FALSE(access->allows("x.y", Values{}));
  EXPECT_TRUE(access->allows("openai.other", Values{}));
  for (const char* entry :
       {"openai.chat,openai.chat:k=v", "model.config:k=v", ".a:k=v", "a.:k=v", "A.b:k=v", "a b.c:k=v"}) {
    EXPECT_FALSE(RestrictedAccess::parse({entry}, "api", true).ok()) << entry;
  }
  EXPECT_FALSE(RestrictedAccess::parse({"openai.chat:k=v"}, "protocol").ok());
}

TEST(RestrictedAccess, RefusesWhatItCanNotRead) {
  auto refusal = [](const std::vector<std::string>& entries, std::string_view word) {
    Result<RestrictedAccess> access = RestrictedAccess::parse(entries, word);
    EXPECT_FALSE(access.ok());
    EXPECT_EQ(access.status().code(), Code::kInvalidArgument);
    return std::string(access.status().message());
  };
  EXPECT_EQ(refusal({"nothing:k=v"}, "api"), "unknown restricted api 'nothing' ");
  EXPECT_EQ(refusal({"health,:k=v"}, "protocol"), "unknown restricted protocol '' ");
  EXPECT_EQ(refusal({"Health:k=v"}, "protocol"), "unknown restricted protocol 'Health' ");
  EXPECT_EQ(refusal({"health:k=v", "trace,health:l=w"}, "api"),
            "restricted api 'health' can not be specified in multiple config groups");
  EXPECT_EQ(refusal({"health,health:k=v"}, "protocol"),
            "restricted protocol 'health' can not be specified in multiple config groups");
  const std::string form = "restricted protocol format is '<category>,<category>:<key>=<value>'. Got ";
  EXPECT_EQ(refusal({""}, "protocol"), form);
  EXPECT_EQ(refusal({"health"}, "protocol"), form + "health");
  EXPECT_EQ(refusal({":k=v"}, "protocol"), form + ":k=...");
  EXPECT_EQ(refusal({"health:k"}, "protocol"), form + "health:k");
  EXPECT_EQ(refusal({"health:=v"}, "protocol"), form + "health:=...");
  EXPECT_EQ(refusal({"health:k="}, "protocol"), form + "health:k=...");
  EXPECT_EQ(refusal({"health k=secret"}, "protocol"), form + "health k=...") << "values are not shown";
}

}  // namespace
}  // namespace atl::frontends
