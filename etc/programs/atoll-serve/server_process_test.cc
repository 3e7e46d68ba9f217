#include "server_process.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "demo.h"

namespace atl::serve {
namespace {

/// Waits for the end of the process. \returns its exit code
int end_of(ServerProcess& process, const SignalFeed& signals) {
  for (;;) {
    if (const auto code = process.poll()) return *code;
    (void)signals.next(-1);
  }
}

class ServerProcessTest : public testing::Test {
 protected:
  SignalFeed signals = SignalFeed::open().value();
};

TEST_F(ServerProcessTest, ExitCodesAreItsOwn) {
  auto process = ServerProcess::start({"/bin/sh", "-c", "exit 7"});
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(end_of(*process, signals), 7);
}

TEST_F(ServerProcessTest, SignalsAreNotBlockedInIt) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    auto process = ServerProcess::start({"/bin/sleep", "1000"});
    ASSERT_TRUE(process.ok());
    process->send(number);
    EXPECT_EQ(end_of(*process, signals), 128 + number);
  }
}

TEST_F(ServerProcessTest, WhatIsNoProgramSaysSo) {
  testing::internal::CaptureStderr();
  auto process = ServerProcess::start({"/nowhere/atoll"});
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(end_of(*process, signals), 127);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "/nowhere/atoll: cannot be run: No such file or directory\n");
}

TEST_F(ServerProcessTest, SignalsOfThisProcessAreRead) {
  ::kill(::getpid(), SIGHUP);
  EXPECT_EQ(signals.next(-1), SIGHUP);
  EXPECT_EQ(signals.next(0), 0);
}

TEST(Demo, IsSmallAndHasEveryDigit) {
  EXPECT_LT(demo_model().size(), 40'000u);
  ASSERT_EQ(demo_digits().size(), 10u);
  for (int label = 0; label < 10; ++label) EXPECT_EQ(demo_digits()[static_cast<size_t>(label)].label, label);
}

TEST(Demo, ADigitIsDrawn) {
  DemoDigit digit{1, {}};
  digit.pixels[0] = 16, digit.pixels[3] = 1, digit.pixels[9] = 8;
  EXPECT_EQ(demo_drawing(digit), "##    ..\n  ++\n\n\n\n\n\n\n");
}

}  // namespace
}  // namespace atl::serve
