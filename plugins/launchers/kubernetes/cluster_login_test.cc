#include "launchers/kubernetes/cluster_login.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "atoll/core/stop_executor.h"
#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::launchers {
namespace {

/// A program that prints what is in a file, and adds a line to another one each time.
class ClusterLoginTest : public ::testing::Test {
 protected:
  ClusterLoginTest() {
    access_.exec.words = {"sh", "-c", cat("echo x >> ", path_, "/runs; cat ", path_, "/printed")};
    access_.exec.api_version = "client.authentication.k8s.io/v1";
    login_.emplace(access_, 60 * kNsPerSecond, clock_, log_);
    EXPECT_TRUE(login_->start(executors_, *executor_).ok());
  }
  ~ClusterLoginTest() override {
    login_->stop();
    stop_executor(executor_);
  }
  void print(const std::string& token, const std::string& expires = {}) {
    std::ofstream(path_ + "/printed")
        << R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":")"
        << token << (expires.empty() ? "" : R"(","expirationTimestamp":")" + expires) << "\"}}";
  }
  /// What a call shows; why there is nothing to show.
  std::string shown() {
    std::string text = "nothing";
    login_->ask(
        [&](const Status& status) { text = status.ok() ? login_->credential().token : status.text(); });
    executors_.run_ready();
    return text;
  }
  int runs() {
    std::ifstream file(path_ + "/runs");
    int count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }

  test::FakeClock clock_;
  test::DeterministicExecutors executors_{clock_, 1};
  test::RecordingLog log_;
  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.path();
  SerialExecutorPtr executor_ = std::move(executors_.create("launcher", {})).value();
  ClusterAccess access_{"https://a"};
  std::optional<ClusterLogin> login_;
};

TEST_F(ClusterLoginTest, AProgramIsRunOnceForAllWhoWait) {
  print("t1");
  std::string seen;
  for (int call = 0; call < 3; ++call)
    login_->ask([&](const Status& status) { seen += status.ok() ? login_->credential().token : "?"; });
  EXPECT_EQ(seen, "") << "nobody waits for the program";
  executors_.run_ready();
  EXPECT_EQ(seen, "t1t1t1");
  clock_.advance(86'400 * kNsPerSecond);
  EXPECT_EQ(shown(), "t1") << "it has not said when that expires";
  EXPECT_EQ(runs(), 1);
}

TEST_F(ClusterLoginTest, ItIsRunAgainWhenWhatItGaveExpires) {
  print("t1", "2001-09-09T02:46:40Z");  // an hour after the clock's zero
  EXPECT_EQ(shown(), "t1");
  print("t2");
  clock_.advance(3'000 * kNsPerSecond);
  EXPECT_EQ(shown(), "t1");
  clock_.advance(598 * kNsPerSecond);  // a little earlier than that
  EXPECT_EQ(shown(), "t2");
  EXPECT_EQ(runs(), 2);
}

TEST_F(ClusterLoginTest, ItIsRunAgainWhenWhatItGaveIsRefused) {
  print("t1");
  EXPECT_EQ(shown(), "t1");
  const uint64_t first = login_->number();
  clock_.advance(60 * kNsPerSecond);
  print("t2");
  EXPECT_TRUE(login_->refused(first));
  EXPECT_EQ(shown(), "t2");
  EXPECT_TRUE(login_->refused(first)) << "of a call that was sent before: there is a newer one";
  EXPECT_EQ(shown(), "t2");
  EXPECT_EQ(runs(), 2);
}

TEST_F(ClusterLoginTest, ItIsNotRunAgainAtOnce) {
  print("t1", "1999-01-01T00:00:00Z");  // or somebody's clock is wrong
  EXPECT_EQ(shown(), "t1");
  EXPECT_FALSE(login_->refused(login_->number()));
  EXPECT_EQ(shown(), "t1");
  EXPECT_EQ(runs(), 1);
  clock_.advance(5 * kNsPerSecond);
  EXPECT_EQ(shown(), "t1");
  EXPECT_EQ(runs(), 2);
}

TEST_F(ClusterLoginTest, AFailureIsToldToAllAndTriedAgain) {
  EXPECT_NE(shown().find("No such file"), std::string::npos);
  print("t1");
  EXPECT_NE(shown().find("No such file"), std::string::npos);
  EXPECT_EQ(runs(), 1);
  EXPECT_EQ(log_.count(LogLevel::kWarning, "no credentials for the cluster: sh exited with status 1"), 1u);
  clock_.advance(5 * kNsPerSecond);
  EXPECT_EQ(shown(), "t1");
}

TEST_F(ClusterLoginTest, WhatWasGivenBeforeIsNotShownOnceItHasExpired) {
  print("t1", "2001-09-09T02:46:40Z");
  EXPECT_EQ(shown(), "t1");
  clock_.advance(3'600 * kNsPerSecond);
  std::ofstream(path_ + "/printed") << "secret";
  EXPECT_EQ(shown(), "sh: what it prints is no ExecCredential in JSON");
}

TEST_F(ClusterLoginTest, NobodyIsCalledAfterItsEnd) {
  print("t1");
  bool is_called = false;
  login_->ask([&](const Status&) { is_called = true; });
  login_->stop();
  executors_.run_ready();
  EXPECT_FALSE(is_called);
}

TEST(ClusterLogin, ATokenOfAFileIsReadAgain) {
  const test::TemporaryDirectory folder;
  ClusterAccess access{"https://a"};
  access.token_file = folder.path() / "token";
  test::FakeClock clock;
  test::DeterministicExecutors executors(clock, 1);
  test::RecordingLog log;
  SerialExecutorPtr executor = std::move(executors.create("launcher", {})).value();
  ClusterLogin login(access, kNsPerSecond, clock, log);
  ASSERT_TRUE(login.start(executors, *executor).ok());
  const auto shown = [&] {
    bool is_there = false;
    login.ask([&](const Status& status) { is_there = status.ok(); });
    return is_there ? login.credential().token : "nothing";
  };
  std::ofstream(access.token_file) << "t1\n";
  EXPECT_EQ(shown(), "t1");
  std::ofstream(access.token_file) << "t2";
  EXPECT_EQ(shown(), "t1");
  clock.advance(60 * kNsPerSecond);
  EXPECT_EQ(shown(), "t2");
  std::ofstream(access.token_file) << "t3";
  EXPECT_TRUE(login.refused(login.number()));
  EXPECT_EQ(shown(), "t3");
  std::ofstream(access.token_file) << "";
  EXPECT_TRUE(login.refused(login.number()));
  EXPECT_EQ(shown(), "t3");
  EXPECT_EQ(log.count(LogLevel::kWarning, "the token before is used on"), 1u);
  stop_executor(executor);
}

}  // namespace
}  // namespace atl::launchers
