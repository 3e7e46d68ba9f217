#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/fake_log.h"
#include "atoll/triton/host.h"
#include "atoll/triton/status.h"
#include "triton/core/tritonserver.h"

namespace {

using atl::LogLevel;
using atl::triton::LogScope;

atl::Status log(int level, const char* text) {
  return atl::triton::take_error(
      TRITONSERVER_LogMessage(static_cast<TRITONSERVER_LogLevel>(level), "/src/strategy.cc", 7, text));
}

TEST(CLog, WithoutAHostTheConsoleIsTheLog) {
  EXPECT_TRUE(TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_INFO));
  EXPECT_FALSE(TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_VERBOSE));
  testing::internal::CaptureStderr();
  EXPECT_TRUE(log(TRITONSERVER_LOG_ERROR, "shown").ok());
  EXPECT_TRUE(log(TRITONSERVER_LOG_VERBOSE, "not shown").ok());
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(written.ends_with("Z ERROR strategy.cc:7: shown\n")) << written;
}

TEST(CLog, SettersOfOptionsCountAtOnceInTheWholeProcess) {
  TRITONSERVER_ServerOptions* options = nullptr;
  ASSERT_EQ(TRITONSERVER_ServerOptionsNew(&options), nullptr);
  const std::string file = testing::TempDir() + "c_log_test.log";
  ASSERT_EQ(TRITONSERVER_ServerOptionsSetLogInfo(options, false), nullptr);
  ASSERT_EQ(TRITONSERVER_ServerOptionsSetLogVerbose(options, 1), nullptr);
  ASSERT_EQ(TRITONSERVER_ServerOptionsSetLogFile(options, file.c_str()), nullptr);
  EXPECT_FALSE(TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_INFO));
  EXPECT_TRUE(TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_VERBOSE));
  EXPECT_TRUE(log(TRITONSERVER_LOG_INFO, "dropped").ok());
  EXPECT_TRUE(log(TRITONSERVER_LOG_VERBOSE, "into the file").ok());
  ASSERT_EQ(TRITONSERVER_ServerOptionsSetLogInfo(options, true), nullptr);
  ASSERT_EQ(TRITONSERVER_ServerOptionsSetLogVerbose(options, 0), nullptr);
  ASSERT_EQ(TRITONSERVER_ServerOptionsSetLogFile(options, ""), nullptr);
  ASSERT_EQ(TRITONSERVER_ServerOptionsDelete(options), nullptr);
  std::ifstream in(file);
  std::string line, more;
  EXPECT_TRUE(std::getline(in, line));
  EXPECT_TRUE(line.ends_with("Z DEBUG strategy.cc:7: into the file")) << line;
  EXPECT_FALSE(std::getline(in, more)) << more;
  std::filesystem::remove(file);
}

struct Record {
  TRITONSERVER_LogLevel level;
  std::string filename;
  int line;
  uint64_t timestamp_us;
  std::string message;
};

void keep(TRITONSERVER_LogLevel level, const char* filename, int line, uint64_t timestamp_us,
          const char* message, void* userp) {
  static_cast<std::vector<Record>*>(userp)->push_back({level, filename, line, timestamp_us, message});
}

TEST(CLog, ACallbackGetsTheRecordsAndNobodyElseDoes) {
  TRITONSERVER_ServerOptions* options = nullptr;
  ASSERT_EQ(TRITONSERVER_ServerOptionsNew(&options), nullptr);
  std::vector<Record> records;
  ASSERT_EQ(TRITONSERVER_ServerOptionsSetLogCallback(options, &keep, &records), nullptr);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(log(TRITONSERVER_LOG_WARN, "a\nb").ok());
  EXPECT_TRUE(log(TRITONSERVER_LOG_VERBOSE, "not shown").ok());
  {
    atl::test::RecordingLog host;
    LogScope scope(host);
    EXPECT_TRUE(log(TRITONSERVER_LOG_VERBOSE, "in a server that shows it").ok());
    EXPECT_TRUE(host.records().empty());
  }
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].level, TRITONSERVER_LOG_WARN);
  EXPECT_EQ(records[0].filename, "/src/strategy.cc");
  EXPECT_EQ(records[0].line, 7);
  EXPECT_EQ(records[0].message, "a\nb");
  EXPECT_GT(records[0].timestamp_us, uint64_t{1'700'000'000} * 1'000'000);
  EXPECT_EQ(records[1].level, TRITONSERVER_LOG_VERBOSE);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(TRITONSERVER_ServerOptionsSetLogCallback(options, nullptr, nullptr), nullptr);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(log(TRITONSERVER_LOG_ERROR, "on the console again").ok());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("on the console again"), std::string::npos);
  EXPECT_EQ(records.size(), 2u);
  TRITONSERVER_Error* const refusal = TRITONSERVER_ServerOptionsSetLogCallback(nullptr, &keep, &records);
  EXPECT_NE(refusal, nullptr);
  TRITONSERVER_ErrorDelete(refusal);
  ASSERT_EQ(TRITONSERVER_ServerOptionsDelete(options), nullptr);
}

TEST(CLog, LevelsAreTheHosts) {
  atl::test::RecordingLog host;
  LogScope scope(host);
  EXPECT_TRUE(log(TRITONSERVER_LOG_INFO, "one").ok());
  EXPECT_TRUE(log(TRITONSERVER_LOG_WARN, "two").ok());
  EXPECT_TRUE(log(TRITONSERVER_LOG_ERROR, "three").ok());
  EXPECT_TRUE(log(TRITONSERVER_LOG_VERBOSE, "four").ok());
  EXPECT_EQ(host.count(LogLevel::kInfo, "strategy.cc:7: one"), 1u);
  EXPECT_EQ(host.count(LogLevel::kWarning, "two"), 1u);
  EXPECT_EQ(host.count(LogLevel::kError, "three"), 1u);
  EXPECT_EQ(host.count(LogLevel::kDebug, "four"), 1u);
  EXPECT_FALSE(host.contains("/src"));
}

TEST(CLog, WhatIsNotEnabledIsDropped) {
  atl::test::RecordingLog host;
  host.set_threshold(LogLevel::kWarning);
  LogScope scope(host);
  EXPECT_TRUE(TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_WARN));
  EXPECT_FALSE(TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_INFO));
  EXPECT_TRUE(log(TRITONSERVER_LOG_INFO, "dropped").ok());
  EXPECT_TRUE(host.records().empty());
}

TEST(CLog, BadArgumentsAreErrors) {
  atl::test::RecordingLog host;
  LogScope scope(host);
  EXPECT_EQ(log(42, "x").text(), "log level 42 is unknown");
  EXPECT_FALSE(TRITONSERVER_LogIsEnabled(static_cast<TRITONSERVER_LogLevel>(42)));
  EXPECT_EQ(log(TRITONSERVER_LOG_INFO, nullptr).code(), atl::Code::kInvalidArgument);
  EXPECT_TRUE(host.records().empty());
}

TEST(CLog, TheYoungestScopeGetsTheRecordsWhicheverEndsFirst) {
  atl::test::RecordingLog one, two, three;
  auto first = std::make_unique<LogScope>(one);
  auto second = std::make_unique<LogScope>(two);
  auto third = std::make_unique<LogScope>(three);
  EXPECT_TRUE(log(TRITONSERVER_LOG_INFO, "a").ok());
  second.reset();
  EXPECT_TRUE(log(TRITONSERVER_LOG_INFO, "b").ok());
  third.reset();
  EXPECT_TRUE(log(TRITONSERVER_LOG_INFO, "c").ok());
  first.reset();
  EXPECT_TRUE(log(TRITONSERVER_LOG_INFO, "d").ok());
  EXPECT_EQ(three.records().size(), 2u);
  EXPECT_EQ(two.records().size(), 0u);
  EXPECT_EQ(one.records().size(), 1u);
}

TEST(CLog, AScopeMayEndWhileOthersLog) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) (void)log(TRITONSERVER_LOG_INFO, "x").ok();
  });
  for (int i = 0; i < 1000; ++i) {
    atl::test::RecordingLog host;
    LogScope scope(host);
    EXPECT_TRUE(log(TRITONSERVER_LOG_INFO, "mine").ok());
    EXPECT_EQ(host.count(LogLevel::kInfo, "mine"), 1u);
  }
  done = true;
  other.join();
}

}  // namespace
