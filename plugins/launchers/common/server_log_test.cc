#include "launchers/common/server_log.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "atoll/testing/temporary_directory.h"

namespace atl::launchers {
namespace {

class ServerLogTest : public ::testing::Test {
 protected:
  void print(std::string_view text) { std::ofstream(log_, std::ios::app) << text << std::flush; }
  test::TemporaryDirectory directory_;
  const std::string log_ = directory_.path() / "log";
};

TEST_F(ServerLogTest, AddressesAreFoundAsTheyArePrinted) {
  AddressFinder finder(log_);
  EXPECT_FALSE(finder.look());
  print(
      "I1123 grpc_server.cc:2513] Started GRPCInferenceService at 0.0.0.0:8001\n{\"message\":\"Started HTTPSer");
  EXPECT_FALSE(finder.look());
  EXPECT_EQ(finder.address().grpc.text(), "127.0.0.1:8001");
  EXPECT_TRUE(finder.address().http.host.empty());
  print("vice at [::1]:8000\"}");
  EXPECT_FALSE(finder.look());
  print("\n");
  EXPECT_TRUE(finder.look());
  EXPECT_EQ(finder.address().http.text(), "[::1]:8000");
}

TEST_F(ServerLogTest, TheFirstAddressCountsAndNonsenseDoesNot) {
  print("Started HTTPService at somewhere\nStarted HTTPService at 127.0.0.1:0\n");
  print("Started HTTPService at 127.0.0.1:1\nStarted HTTPService at 127.0.0.1:2\n" +
        std::string(10'000, 'x') + "Started GRPCInferenceService at 127.0.0.1:3\n");
  AddressFinder finder(log_);
  EXPECT_FALSE(finder.look());
  EXPECT_EQ(finder.address().http.port, 1);
}

TEST_F(ServerLogTest, ALogThatBeginsAnewIsReadFromItsBeginning) {
  print("Started GRPCInferenceService at 127.0.0.1:3\nmuch else, and half a li");
  AddressFinder finder(log_);
  EXPECT_FALSE(finder.look());
  limit_log(log_, 10);
  EXPECT_FALSE(finder.look());
  print("Started HTTPService at 127.0.0.1:1\n");
  EXPECT_TRUE(finder.look());
  EXPECT_EQ(finder.address().http.port, 1);
}

TEST_F(ServerLogTest, TheLastLineSaysWhy) {
  EXPECT_EQ(last_line(log_), "");
  print("\n \n");
  EXPECT_EQ(last_line(log_), "");
  print("first\nthe \xff disk is full\n\n");
  EXPECT_EQ(last_line(log_), "the \xef\xbf\xbd disk is full");
  print(std::string(10'000, 'x'));
  EXPECT_EQ(last_line(log_), std::string(300, 'x'));
}

TEST_F(ServerLogTest, ALogDoesNotGrowWithoutEnd) {
  std::ofstream server(log_, std::ios::app);
  server << std::string(100, 'a') << std::flush;
  limit_log(log_, 100);
  EXPECT_EQ(std::filesystem::file_size(log_), 100u);
  server << "b" << std::flush;
  limit_log(log_, 100);
  EXPECT_EQ(std::filesystem::file_size(log_), 0u);
  EXPECT_EQ(std::filesystem::file_size(log_ + ".1"), 101u);
  server << "c" << std::flush;
  EXPECT_EQ(std::filesystem::file_size(log_), 1u);
  limit_log(directory_.path() / "none", 0);
}

}  // namespace
}  // namespace atl::launchers
