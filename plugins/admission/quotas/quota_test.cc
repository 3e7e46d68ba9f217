#include "admission/quotas/quota.h"

#include <gtest/gtest.h>

#include <utility>

namespace atl::quotas {
namespace {

TEST(Quota, HasEveryPart) {
  auto quota = parse_quota("default_tenant", "burst=20,weight=2,queue=0,concurrency=8,rate=100/s");
  ASSERT_TRUE(quota.ok()) << quota.status().text();
  EXPECT_EQ(quota->weight, 2U);
  EXPECT_EQ(quota->concurrency, 8U);
  EXPECT_DOUBLE_EQ(quota->rate, 100);
  EXPECT_DOUBLE_EQ(quota->burst, 20);
  EXPECT_EQ(quota->queue, 0U);
}

TEST(Quota, LimitsNothingByDefault) {
  auto quota = parse_quota("default_tenant", "");
  ASSERT_TRUE(quota.ok());
  EXPECT_EQ(quota->weight, 1U);
  EXPECT_EQ(quota->concurrency, 0U);
  EXPECT_EQ(quota->rate, 0);
  EXPECT_EQ(quota->queue, kDefaultQueueSize);
}

TEST(Quota, ABurstIsWhatTheRateAllowsInASecond) {
  EXPECT_DOUBLE_EQ(parse_quota("o", "rate=100/s")->burst, 100);
  EXPECT_DOUBLE_EQ(parse_quota("o", "rate=6000/min")->burst, 100);
  EXPECT_DOUBLE_EQ(parse_quota("o", "rate=6000/min")->rate, 100);
  EXPECT_DOUBLE_EQ(parse_quota("o", "rate=1.8/h")->rate, 0.0005);
  EXPECT_DOUBLE_EQ(parse_quota("o", "rate=1.8/h")->burst, 1);
}

TEST(Quota, ABurstOfTokensIsWhatTheirRateIsWrittenWith) {
  auto quota = parse_quota("o", "tokens=60000/min");
  ASSERT_TRUE(quota.ok()) << quota.status().text();
  EXPECT_DOUBLE_EQ(quota->tokens, 1000);
  EXPECT_DOUBLE_EQ(quota->token_burst, 60'000);
  EXPECT_EQ(quota->rate, 0);
  EXPECT_EQ(quota->burst, 0);
  EXPECT_DOUBLE_EQ(parse_quota("o", "token_burst=50,tokens=60000/min")->token_burst, 50);
  EXPECT_DOUBLE_EQ(parse_quota("o", "tokens=0.5/h")->token_burst, 1);
  EXPECT_EQ(parse_quota("o", "rate=1/s")->tokens, 0);
}

TEST(Quota, SaysWhatWasFoundAndExpected) {
  constexpr std::string_view kForm = "expected a quota such as 'weight=2,concurrency=8,rate=100/s,burst=20'";
  constexpr std::string_view kRate =
      "expected a rate above 0 such as 100/s, 5/min or 2.5/h, at most 1000000000/s";
  const std::pair<std::string_view, std::string> wrong[] = {
      {"weight", cat(", ", kForm)},
      {"weight=1,", cat(", ", kForm)},
      {",weight=1", cat(", ", kForm)},
      {"weight=0", ", where 'weight' is '0', expected a whole number from 1 to 1000"},
      {"weight=1001", ", where 'weight' is '1001', expected a whole number from 1 to 1000"},
      {"weight= 1", ", where 'weight' is ' 1', expected a whole number from 1 to 1000"},
      {"concurrency=0", ", where 'concurrency' is '0', expected a whole number from 1 to 1000000000"},
      {"queue=-1", ", where 'queue' is '-1', expected a whole number from 0 to 1000000000"},
      {"queue=99999999999999999999",
       ", where 'queue' is '99999999999999999999', expected a whole number from 0 to 1000000000"},
      {"rate=100", cat(", where 'rate' is '100', ", kRate)},
      {"rate=0/s", cat(", where 'rate' is '0/s', ", kRate)},
      {"rate=-1/s", cat(", where 'rate' is '-1/s', ", kRate)},
      {"rate=nan/s", cat(", where 'rate' is 'nan/s', ", kRate)},
      {"rate=inf/s", cat(", where 'rate' is 'inf/s', ", kRate)},
      {"rate=1/day", cat(", where 'rate' is '1/day', ", kRate)},
      {"burst=5", ", with a burst and no rate, expected both"},
      {"token_burst=5", ", with a token_burst and no tokens, expected both"},
      {"rate=1/s,token_burst=5", ", with a token_burst and no tokens, expected both"},
      {"tokens=1/s,burst=5", ", with a burst and no rate, expected both"},
      {"tokens=5", cat(", where 'tokens' is '5', ", kRate)},
      {"weight=1,weight=2", ", where 'weight' comes twice, expected it once"},
      {"wait=1",
       ", where 'wait' is no part of a quota, expected weight, concurrency, rate, burst, tokens, token_burst or "
       "queue"}};
  for (const auto& [text, message] : wrong) {
    auto quota = parse_quota("default_tenant", text);
    ASSERT_FALSE(quota.ok()) << text;
    EXPECT_EQ(quota.status().message(), cat("option 'default_tenant' has '", text, "'", message));
    EXPECT_EQ(quota.status().code(), Code::kInvalidArgument);
  }
}

TEST(Tenants, HaveNamesAndQuotas) {
  auto tenants = parse_tenants({"team-a:weight=2", "b@example.org/x_Y.1:"});
  ASSERT_TRUE(tenants.ok()) << tenants.status().text();
  ASSERT_EQ(tenants->size(), 2U);
  EXPECT_EQ(tenants.value()[0].name, "team-a");
  EXPECT_EQ(tenants.value()[0].quota.weight, 2U);
  EXPECT_EQ(tenants.value()[1].name, "b@example.org/x_Y.1");
}

TEST(Tenants, SayWhatWasFoundAndExpected) {
  const std::string form =
      ", expected NAME:QUOTA with a name of 1 to 64 letters, digits, '-', '_', '.', '@', '/'";
  const std::pair<std::string, std::string> wrong[] = {
      {"team-a", "option 'tenants' has 'team-a'" + form},
      {":weight=1", "option 'tenants' has ':weight=1'" + form},
      {"a b:weight=1", "option 'tenants' has 'a b:weight=1'" + form},
      {std::string(65, 'a') + ":", "option 'tenants' has '" + std::string(65, 'a') + ":'" + form},
      {"default:",
       "option 'tenants' names 'default', which stands for those that are not named; see option "
       "'default_tenant'"},
      {"other:",
       "option 'tenants' names 'other', which stands for those that are not named; see option "
       "'default_tenant'"}};
  for (const auto& [entry, message] : wrong) {
    auto tenants = parse_tenants({entry});
    ASSERT_FALSE(tenants.ok()) << entry;
    EXPECT_EQ(tenants.status().message(), message);
  }
  EXPECT_EQ(parse_tenants({"a:", "a:"}).status().message(),
            "option 'tenants' names 'a' twice, expected it once");
  EXPECT_EQ(
      parse_tenants({"a:weight=x"}).status().text(),
      "tenant 'a': option 'tenants' has 'weight=x', where 'weight' is 'x', expected a whole number from 1 "
      "to 1000");
}

}  // namespace
}  // namespace atl::quotas
