#include "atoll/lib/running_program.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <string>
#include <thread>

#include "atoll/core/clock.h"

namespace atl {
namespace {

constexpr size_t kBytesMax = 1000;

RunningProgram started(std::string script) {
  Result<RunningProgram> program = RunningProgram::start({.words = {"sh", "-c", std::move(script)},
                                                          .input = "read\n",
                                                          .output_bytes_max = kBytesMax,
                                                          .errors_bytes_max = kBytesMax});
  EXPECT_TRUE(program.ok()) << program.status().text();
  return std::move(program).value();
}

ProcessEnd end_of(RunningProgram& program) {
  return program.wait(RunningProgram::kNoTimeout).value_or(ProcessEnd{-1, -1});
}

TEST(RunningProgram, ReadsItsInputAndWhatItWritesIsKept) {
  RunningProgram program = started("read -r x; echo \"$x\"; echo wrong >&2; ls /proc/$$/fd; exit 3");
  EXPECT_EQ(end_of(program).text(), "exited with status 3");
  EXPECT_EQ(program.output(), "read\n0\n1\n2\n") << "it has no other descriptor";
  EXPECT_EQ(program.errors(), "wrong\n");
  EXPECT_FALSE(program.wait(0)) << "its end is told once";
}

TEST(RunningProgram, OfMuchTheEndIsKept) {
  RunningProgram program = started("head -c 1000000 /dev/zero | tr '\\0' x; printf end");
  EXPECT_EQ(end_of(program).text(), "exited with status 0");
  EXPECT_EQ(program.output(), std::string(kBytesMax - 3, 'x') + "end");
}

TEST(RunningProgram, TellsTheSignalThatEndedIt) {
  RunningProgram program = started("kill -SEGV $$");
  EXPECT_EQ(end_of(program).text(), "was killed by signal 11 (Segmentation fault)");
}

TEST(RunningProgram, IsNotWaitedForLongerThanItsTime) {
  RunningProgram program = started("exec sleep 1000");
  EXPECT_FALSE(program.wait(0));
  EXPECT_FALSE(program.wait(kNsPerMs));
}

TEST(RunningProgram, WhatItLeavesOpenIsNotWaitedFor) {
  RunningProgram program = started("sleep 1000 & echo $!");
  EXPECT_EQ(end_of(program).text(), "exited with status 0");
  const pid_t left = std::stoi(program.output());
  while (::kill(left, 0) == 0 || errno != ESRCH) std::this_thread::yield();  // its group is killed
}

TEST(RunningProgram, MayLeaveWhatItHasStarted) {
  Result<RunningProgram> program = RunningProgram::start(
      {.words = {"sh", "-c", "sleep 1000 & echo $!"}, .output_bytes_max = kBytesMax, .leaves_group = true});
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(end_of(*program).text(), "exited with status 0");
  const pid_t left = std::stoi(program->output());
  EXPECT_EQ(::kill(left, 0), 0);
  EXPECT_EQ(::kill(left, SIGKILL), 0);
}

TEST(RunningProgram, EndsWithItsObject) {
  pid_t process = 0;
  {
    RunningProgram program = started("trap '' TERM INT; echo $$; sleep 1000");
    while (program.output().empty()) ASSERT_FALSE(program.wait(kNsPerMs));
    process = std::stoi(program.output());
  }
  EXPECT_EQ(::kill(process, 0), -1);
}

TEST(RunningProgram, OneThatIsNotThereIsNamed) {
  const Status status = RunningProgram::start({.words = {"/nowhere/program"}}).status();
  EXPECT_EQ(status.text(), "/nowhere/program cannot be started: No such file or directory");
  EXPECT_EQ(status.code(), Code::kUnavailable);
}

TEST(LastLine, IsTheLastThatSaysSomething) {
  EXPECT_EQ(last_line_of("one\ntwo \r\n\n"), "two");
  EXPECT_EQ(last_line_of("one"), "one");
  EXPECT_EQ(last_line_of("\n \n"), "");
  EXPECT_EQ(last_line_of(""), "");
  EXPECT_EQ(last_line_of(std::string(500, 'x')).size(), 400u);
}

}  // namespace
}  // namespace atl
