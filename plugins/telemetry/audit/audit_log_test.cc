#include "telemetry/audit/audit_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::audit {
namespace {

class AuditLogTest : public ::testing::Test {
 protected:
  std::string content(const std::string& path) const {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  test::TemporaryDirectory folder_;
  const std::string path_ = (folder_.path() / "audit.log").string();
  test::FakeHost host_{"audit"};
  AuditLog log_{RotatedFile(path_, 0, 5), 20, host_.clock(), host_.log()};
};

TEST_F(AuditLogTest, WritesInOrderWhatWasAdded) {
  ASSERT_TRUE(log_.start(host_.executors()).ok());
  log_.add("one\n");
  log_.add("two\n");
  EXPECT_EQ(content(path_), "") << "not on the thread that adds";
  host_.run_until_idle();
  EXPECT_EQ(content(path_), "one\ntwo\n");
  log_.add("three\n");
  log_.stop();
  EXPECT_EQ(content(path_), "one\ntwo\nthree\n");
  EXPECT_EQ(log_.written(), 3u);
  EXPECT_EQ(log_.dropped(), 0u);
}

TEST_F(AuditLogTest, WhatDoesNotFitIsCountedAndALineSaysSo) {
  ASSERT_TRUE(log_.start(host_.executors()).ok());
  log_.add("0123456789\n");
  log_.add("0123456789\n");
  log_.add("0123456789\n");
  host_.run_until_idle();
  EXPECT_EQ(log_.written(), 1u);
  EXPECT_EQ(log_.dropped(), 2u);
  const std::string text = content(path_);
  EXPECT_EQ(text.substr(0, 11), "0123456789\n");
  EXPECT_NE(text.find("\"dropped\":2}\n"), std::string::npos) << text;
  log_.add("next\n");
  log_.stop();
  EXPECT_EQ(content(path_), text + "next\n") << "it is said once";
}

TEST_F(AuditLogTest, WhatCannotBeWrittenIsLostAndSaidOnceItCan) {
  ASSERT_TRUE(log_.start(host_.executors()).ok());
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  log_.add("one\n");
  host_.run_until_idle();
  log_.add("two\n");
  host_.run_until_idle();
  EXPECT_EQ(log_.written(), 0u);
  EXPECT_EQ(log_.dropped(), 2u);
  std::filesystem::remove(path_);
  log_.add("three\n");
  log_.stop();
  EXPECT_EQ(content(path_).substr(0, 6), "three\n");
  EXPECT_NE(content(path_).find("\"dropped\":2}\n"), std::string::npos);
  EXPECT_EQ(log_.written(), 1u);
}

TEST_F(AuditLogTest, AFileThatCannotBeOpenedRefusesTheStart) {
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(log_.start(host_.executors()).ok());
  log_.stop();
}

TEST_F(AuditLogTest, OpensTheFileAnewWhenToldSo) {
  ASSERT_TRUE(log_.start(host_.executors()).ok());
  std::filesystem::rename(path_, path_ + ".old");
  log_.reopen();
  host_.run_until_idle();
  EXPECT_TRUE(std::filesystem::exists(path_));
  log_.stop();
}

}  // namespace
}  // namespace atl::audit
