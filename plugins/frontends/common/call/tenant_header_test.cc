#include "frontends/common/call/tenant_header.h"

#include <gtest/gtest.h>

namespace atl::frontends {
namespace {

TEST(TenantHeader, IsFoundInAnyCase) {
  auto header = TenantHeader::parse("X-Tenant");
  ASSERT_TRUE(header.ok());
  EXPECT_TRUE(header->active());
  EXPECT_EQ(header->name(), "x-tenant");
  EXPECT_TRUE(header->is("x-TENANT"));
  EXPECT_FALSE(header->is("x-tenant-"));
  EXPECT_FALSE(header->is("x-tenan"));
  EXPECT_EQ(header->given_twice().message(),
            "Header 'x-tenant' is given more than once, expected one tenant.");
}

TEST(TenantHeader, NoneByDefault) {
  EXPECT_FALSE(TenantHeader().active());
  EXPECT_FALSE(TenantHeader::parse("")->active());
}

TEST(TenantHeader, SaysWhatIsNoName) {
  for (const char* wrong : {"x tenant", "x:tenant", "t\xC3\xA9nant", "x\r\n", "tenant-bin", "Tenant-Bin"}) {
    auto header = TenantHeader::parse(wrong);
    ASSERT_FALSE(header.ok()) << wrong;
    EXPECT_EQ(header.status().message(),
              cat("option 'tenant_header' is '", wrong,
                  "', expected the name of a header: letters, digits, '-', '_', '.', not ending in '-bin'"));
  }
}

}  // namespace
}  // namespace atl::frontends
