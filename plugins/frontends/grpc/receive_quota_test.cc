#include "frontends/grpc/receive_quota.h"

#include <gtest/gtest.h>

namespace atl::frontends::grpc_frontend {
namespace {

TEST(ReceiveQuota, IsLargerThanTheLimit) {
  constexpr size_t kMib = size_t{1} << 20;
  EXPECT_EQ(ReceiveQuota::size_for(1000), 1500u + 32 * kMib);
  EXPECT_EQ(ReceiveQuota::size_for(0), static_cast<size_t>(INT64_MAX));
  EXPECT_EQ(ReceiveQuota::size_for(UINT64_MAX), static_cast<size_t>(INT64_MAX));
}

}  // namespace
}  // namespace atl::frontends::grpc_frontend
