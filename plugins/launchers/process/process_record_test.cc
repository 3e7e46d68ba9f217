#include "launchers/process/process_record.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::launchers {
namespace {

class ProcessRecordTest : public ::testing::Test {
 protected:
  std::string file() const { return directory_.path() / "process"; }
  Code code_of(const std::string& text) {
    std::ofstream(file()) << text;
    return ProcessRecord::read(file()).status().code();
  }
  test::TemporaryDirectory directory_;
};

TEST_F(ProcessRecordTest, IsReadAsItWasWritten) {
  ProcessRecord record;
  record.process = {42, UINT64_MAX, "boot"};
  record.address = {{"127.0.0.1", 8000}, {"::1", 8001}};
  record.cpu_cores = {0, 7};
  record.gpus = {"0", "GPU-\"1\""};
  record.memory_bytes = uint64_t{1} << 40;
  ASSERT_TRUE(record.write(file()).ok());
  const Result<ProcessRecord> read = ProcessRecord::read(file());
  ASSERT_TRUE(read.ok()) << read.status().text();
  const ProcessRecord& again = read.value();
  EXPECT_EQ(again.process, record.process);
  EXPECT_EQ(again.address.http.text(), "127.0.0.1:8000");
  EXPECT_EQ(again.address.grpc.text(), "[::1]:8001");
  EXPECT_EQ(again.cpu_cores, record.cpu_cores);
  EXPECT_EQ(again.gpus, record.gpus);
  EXPECT_EQ(again.memory_bytes, record.memory_bytes);
}

TEST_F(ProcessRecordTest, AnAddressMayNotBeKnownYet) {
  ProcessRecord record;
  record.process = {42, 1, "boot"};
  ASSERT_TRUE(record.write(file()).ok());
  const Result<ProcessRecord> read = ProcessRecord::read(file());
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_TRUE(read.value().address.http.host.empty());
}

TEST_F(ProcessRecordTest, WhatIsNoneIsNamed) {
  EXPECT_EQ(ProcessRecord::read(file()).status().code(), Code::kNotFound);
  const std::string good =
      R"({"pid":9,"start_time":1,"boot_id":"b","http":"","grpc":"","cpu_cores":[],"gpus":[],"memory":0})";
  EXPECT_EQ(code_of(good), Code::kOk);
  for (const auto& [what, instead] :
       std::initializer_list<std::pair<std::string, std::string>>{{"9", "1"},
                                                                  {"9", "-5"},
                                                                  {"9", "\"x\""},
                                                                  {"\"b\"", "3"},
                                                                  {"\"http\":\"\"", "\"http\":\"x\""},
                                                                  {"[]", "[-1]"},
                                                                  {"[]", "{}"},
                                                                  {"\"gpus\":[]", "\"gpus\":[1]"},
                                                                  {"\"memory\":0", "\"m\":0"}}) {
    std::string bad = good;
    bad.replace(bad.find(what), what.size(), instead);
    EXPECT_EQ(code_of(bad), Code::kDataLoss) << bad;
  }
  for (const char* bad : {"", "[]", "{", "{}"}) EXPECT_EQ(code_of(bad), Code::kDataLoss) << bad;
  EXPECT_EQ(ProcessRecord().write("/nowhere/process").code(), Code::kUnavailable);
}

TEST(ProcessIdentity, IsThatOfAProcessAndNoOther) {
  const Result<ProcessIdentity> self = ProcessIdentity::of(::getpid());
  ASSERT_TRUE(self.ok()) << self.status().text();
  EXPECT_EQ(self.value(), ProcessIdentity::of(::getpid()).value());
  EXPECT_NE(self.value(), ProcessIdentity::of(::getppid()).value());
  EXPECT_GT(self.value().start_time, 0u);
  EXPECT_FALSE(self.value().boot_id.empty());
  EXPECT_EQ(ProcessIdentity::of(0x7fffffff).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace atl::launchers
