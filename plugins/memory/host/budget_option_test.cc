#include "memory/host/budget_option.h"

#include <gtest/gtest.h>

namespace atl::memory {
namespace {

TEST(BudgetOption, ASizeOrAShare) {
  EXPECT_EQ(budget_bytes("4GiB", 1000).value(), uint64_t{4} << 30);
  EXPECT_EQ(budget_bytes("0", 1000).value(), 0u);
  EXPECT_EQ(budget_bytes("50%", 1001).value(), 500u);
  EXPECT_EQ(budget_bytes("100%", UINT64_MAX).value(), UINT64_MAX);
  EXPECT_EQ(budget_bytes("50%", 0).value(), 0u) << "of what is not known there is no share";
}

TEST(BudgetOption, OtherTextsAreRefusedWithWhatIsExpected) {
  for (const char* text : {"", "%", "half", "-1", "50 %", "101%", "1.5%", "5O%", "4GB", "99999999999999%"}) {
    const Result<uint64_t> bytes = budget_bytes(text, 1000);
    ASSERT_FALSE(bytes.ok()) << text;
    EXPECT_EQ(bytes.status().code(), Code::kInvalidArgument);
    EXPECT_NE(bytes.status().message().find("expected a size such as \"4GiB\""), std::string::npos);
  }
}

}  // namespace
}  // namespace atl::memory
