#include "security/keys/key_table.h"

#include <gtest/gtest.h>

namespace atl::keys {
namespace {

using Values = std::vector<std::string_view>;

KeyTable parsed(const std::vector<std::string>& entries) {
  Result<KeyTable> table = KeyTable::parse(entries, {.word = "api"});
  EXPECT_TRUE(table.ok()) << table.status().text();
  return std::move(table).value();
}

TEST(KeyTable, NothingIsRestrictedByDefault) {
  for (const KeyTable& table : {KeyTable(), parsed({})}) {
    for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
      auto category = static_cast<ApiCategory>(i);
      EXPECT_EQ(table.find(category), nullptr);
    }
  }
}

TEST(KeyTable, EveryCategoryIsKnownByItsName) {
  for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
    auto category = static_cast<ApiCategory>(i);
    KeyTable table = parsed({cat(api_category_name(category), ":k=v")});
    for (uint32_t other = 0; other < kApiCategoryCount; ++other) {
      EXPECT_EQ(table.find(static_cast<ApiCategory>(other)) != nullptr, other == i);
    }
  }
}

TEST(KeyTable, GroupsHaveTheirOwnKeys) {
  KeyTable table = parsed({"health,metadata:key-a=one", "shared-memory:key-b=two:=three"});
  ASSERT_NE(table.find(ApiCategory::kHealth), nullptr);
  EXPECT_EQ(table.find(ApiCategory::kHealth)->name, "key-a");
  EXPECT_EQ(table.find(ApiCategory::kMetadata)->name, "key-a");
  EXPECT_EQ(table.find(ApiCategory::kSharedMemory)->name, "key-b");
  EXPECT_EQ(table.find(ApiCategory::kInference), nullptr);
  auto opens_with = [&](ApiCategory category, std::string_view value) {
    return opens(*table.find(category), Values{value});
  };
  EXPECT_TRUE(opens_with(ApiCategory::kHealth, "one"));
  EXPECT_TRUE(opens_with(ApiCategory::kMetadata, "one"));
  EXPECT_TRUE(opens_with(ApiCategory::kSharedMemory, "two:=three"));
  EXPECT_FALSE(opens_with(ApiCategory::kSharedMemory, "one"));
  EXPECT_FALSE(opens_with(ApiCategory::kHealth, "two:=three"));
}

TEST(KeyTable, TheHeaderIsThePrefixAndTheKeyInLowerCase) {
  Result<KeyTable> table = KeyTable::parse({"health:Key-A=v"}, {.word = "protocol", .prefix = "pre-"});
  ASSERT_TRUE(table.ok()) << table.status().text();
  EXPECT_EQ(table->find(ApiCategory::kHealth)->header, "pre-key-a");
  EXPECT_EQ(table->find(ApiCategory::kHealth)->name, "Key-A");
}

TEST(KeyTable, OnlyTheExactValueAloneIsAllowed) {
  KeyTable table = parsed({"logging:k=secret"});
  auto allows = [&](const Values& values) { return opens(*table.find(ApiCategory::kLogging), values); };
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

TEST(KeyTable, CategoriesThatPluginsBring) {
  const KeyTable::Protocol api{.word = "api"};
  Result<KeyTable> table = KeyTable::parse({"openai.chat,health:k=one", "x.y:l=two"}, api);
  ASSERT_TRUE(table.ok()) << table.status().text();
  EXPECT_EQ(table->find("openai.chat")->name, "k");
  EXPECT_EQ(table->find(ApiCategory::kHealth)->name, "k");
  EXPECT_EQ(table->find("openai.other"), nullptr);
  EXPECT_TRUE(opens(*table->find("openai.chat"), Values{"one"}));
  EXPECT_FALSE(opens(*table->find("openai.chat"), Values{"two"}));
  EXPECT_FALSE(opens(*table->find("x.y"), Values{}));
  for (const char* entry :
       {"openai.chat,openai.chat:k=v", "model.config:k=v", ".a:k=v", "a.:k=v", "A.b:k=v", "a b.c:k=v"}) {
    EXPECT_FALSE(KeyTable::parse({entry}, api).ok()) << entry;
  }
}

TEST(KeyTable, RefusesWhatItCanNotRead) {
  auto refusal = [](const std::vector<std::string>& entries, std::string_view word) {
    Result<KeyTable> table = KeyTable::parse(entries, {.word = word});
    EXPECT_FALSE(table.ok());
    EXPECT_EQ(table.status().code(), Code::kInvalidArgument);
    return std::string(table.status().message());
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
}  // namespace atl::keys
