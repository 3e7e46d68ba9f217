#include "atoll/runtime/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "atoll/core/usable_descriptors.h"

namespace atl::runtime {
namespace {

TEST(DescriptorLimit, IsRaisedToTheHardOne) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low{200, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(usable_descriptors(), 136u);

  Result<DescriptorLimit> raised = raise_descriptor_limit();
  ASSERT_TRUE(raised.ok()) << raised.status().text();
  EXPECT_EQ(raised->soft_before, 200u);
  EXPECT_EQ(raised->soft, before.rlim_max);
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(usable_descriptors(), descriptors_for_connections(before.rlim_max));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(DescriptorLimit, ConnectionsLeaveAReserve) {
  EXPECT_EQ(descriptors_for_connections(1024), 896u);
  EXPECT_EQ(descriptors_for_connections(1'000'000), 1'000'000u - 4096);
  EXPECT_EQ(descriptors_for_connections(100), 36u);
  EXPECT_EQ(descriptors_for_connections(3), 1u);
}

}  // namespace
}  // namespace atl::runtime
