#include "backends/python/process/control_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "atoll/core/text.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/python/process/worker_process.h"

namespace atl::python {
namespace {

namespace fs = std::filesystem;

ProcessLimits with_memory(uint64_t bytes) {
  ProcessLimits limits;
  limits.memory_bytes = bytes;
  return limits;
}

TEST(GroupFolder, WhatIsNoneSaysWhy) {
  std::string why;
  EXPECT_EQ(GroupFolder::open("/nowhere", why).path, "");
  EXPECT_EQ(why, "no group can be made in '/nowhere': No such file or directory");
  const test::TemporaryDirectory folder;
  why.clear();
  EXPECT_EQ(GroupFolder::open(folder.path(), why).path, "") << "a folder as any other";
  EXPECT_NE(why.find("/memory.max': No such file or directory"), std::string::npos) << why;
  EXPECT_TRUE(fs::is_empty(folder.path())) << "the group that it tried with is gone";
}

TEST(GroupFolder, WhatAKilledServerHasLeftIsRemoved) {
  const test::TemporaryDirectory folder;
  const fs::path of_nobody =
      folder.path() / cat("atoll-", 4'194'304, "-1");  // more than any process's number
  const fs::path of_this = folder.path() / cat("atoll-", ::getpid(), "-0");
  for (const fs::path& path : {of_nobody, of_this, folder.path() / "atoll-x-1", folder.path() / "other"}) {
    fs::create_directory(path);
  }
  std::string why;
  (void)GroupFolder::open(folder.path(), why);
  EXPECT_FALSE(fs::exists(of_nobody));
  EXPECT_TRUE(fs::exists(of_this));
  EXPECT_TRUE(fs::exists(folder.path() / "atoll-x-1"));
  EXPECT_TRUE(fs::exists(folder.path() / "other"));
}

TEST(ControlGroup, IsMadeWithItsLimitsAndGoesWithItsObject) {
  const test::TemporaryDirectory folder;
  GroupFolder groups;
  groups.path = folder.path();
  {
    const Result<ControlGroup> group = ControlGroup::create(groups, with_memory(5));
    ASSERT_TRUE(group.ok()) << group.status().text();
    EXPECT_FALSE(fs::is_empty(folder.path()));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  groups.memory = true;
  const Status failed = ControlGroup::create(groups, with_memory(5)).status();
  EXPECT_EQ(failed.code(), Code::kUnavailable);
  EXPECT_TRUE(failed.message().ends_with("/memory.max': No such file or directory")) << failed.message();
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(TasksOfGroup, AreThoseOfItsProcesses) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor read_end(ends[0]), write_end(ends[1]);
  const pid_t leader = ::fork();
  if (leader == 0) {
    (void)::setpgid(0, 0);
    for (int i = 0; i < 4; ++i) {
      if (::fork() == 0) ::pause();
    }
    (void)!::write(write_end.get(), "x", 1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(read_end.get(), &byte, 1), 1);
  EXPECT_EQ(tasks_of_group(leader), 5u);
  EXPECT_EQ(tasks_of_group(::getpid() + 4'194'304), 0u);
  ASSERT_EQ(::kill(-leader, SIGKILL), 0);
  EXPECT_EQ(::waitpid(leader, nullptr, 0), leader);
}

}  // namespace
}  // namespace atl::python
