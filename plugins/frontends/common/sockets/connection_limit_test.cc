#include "frontends/common/sockets/connection_limit.h"

#include <gtest/gtest.h>

#include "atoll/testing/fake_log.h"

namespace atl::frontends {
namespace {

TEST(ConnectionLimit, IsTheOptionWhereThereAreDescriptorsEnough) {
  test::RecordingLog log;
  EXPECT_EQ(ConnectionLimit::make(10'000, kRequestShare, log, 1 << 20).connections, 10'000u);
  EXPECT_EQ(ConnectionLimit::make(144, kRequestShare, log, 192).connections, 144u);
  EXPECT_EQ(log.records().size(), 0u);
}

TEST(ConnectionLimit, IsAShareOfTheDescriptorsOtherwiseAndTheLogSaysSo) {
  test::RecordingLog log;
  const ConnectionLimit limit = ConnectionLimit::make(10'000, kRequestShare, log, 192);
  EXPECT_EQ(limit.connections, 144u);
  EXPECT_TRUE(log.contains("max_connections is 10000, but the process's limit of open files allows 144"));
  EXPECT_TRUE(limit.allows(144, 191));
  EXPECT_FALSE(limit.allows(145, 191));
  EXPECT_FALSE(limit.allows(1, 192)) << "others have what connections may take";
  EXPECT_EQ(ConnectionLimit::make(64, kMetricsShare, log, 192).connections, 24u);
  EXPECT_EQ(ConnectionLimit::make(64, kMetricsShare, log, 1).connections, 1u);
}

}  // namespace
}  // namespace atl::frontends
