#include "frontends/grpc/log_bridge.h"

#include <grpc/support/log.h>
#include <gtest/gtest.h>

#include "atoll/testing/fake_log.h"

namespace atl::frontends::grpc_frontend {
namespace {

TEST(LogBridge, LinesGoToTheLogThatWasGivenLast) {
  test::RecordingLog first, second;
  LogBridge to_first(first);
  {
    LogBridge to_second(second);
    gpr_log("/somewhere/else/a.cc", 7, GPR_LOG_SEVERITY_ERROR, "no %s left", "descriptor");
    EXPECT_EQ(second.count(LogLevel::kError, "gRPC: a.cc:7: no descriptor left"), 1u);
  }
  gpr_log("b.cc", 8, GPR_LOG_SEVERITY_ERROR, "again");
  EXPECT_EQ(first.count(LogLevel::kError, "gRPC: b.cc:8: again"), 1u);
  EXPECT_EQ(first.records().size() + second.records().size(), 2u);
}

TEST(LogBridge, SeveritiesAreLevels) {
  test::RecordingLog log;
  LogBridge bridge(log);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG);
  gpr_log("a.cc", 1, GPR_LOG_SEVERITY_DEBUG, "d");
  gpr_log("a.cc", 1, GPR_LOG_SEVERITY_INFO, "i");
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  EXPECT_EQ(log.count(LogLevel::kDebug, "gRPC: a.cc:1: d"), 1u);
  EXPECT_EQ(log.count(LogLevel::kInfo, "gRPC: a.cc:1: i"), 1u);
}

TEST(LogBridge, AFloodIsCutAndCounted) {
  test::RecordingLog log;
  LogBridge bridge(log);
  int sent = 0;
  while (log.count(LogLevel::kWarning, "left out") == 0) {
    gpr_log("a.cc", 1, GPR_LOG_SEVERITY_ERROR, "again");
    ++sent;
  }
  EXPECT_LT(log.count(LogLevel::kError), 3u * LogBridge::kLinesPerSecond);
  EXPECT_GT(sent, 3 * LogBridge::kLinesPerSecond);
}

}  // namespace
}  // namespace atl::frontends::grpc_frontend
