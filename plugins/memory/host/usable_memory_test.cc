#include "memory/host/usable_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::memory {
namespace {

class UsableMemoryTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string root() const { return folder_.path().string(); }

  test::TemporaryDirectory folder_;
};

TEST_F(UsableMemoryTest, WithoutGroupsItIsTheMachines) {
  const UsableMemory usable = usable_memory(root());
  EXPECT_GT(usable.bytes, 0u);
  EXPECT_EQ(usable.reason.find("control group"), std::string::npos);
}

TEST_F(UsableMemoryTest, TheLeastLimitOfTheGroupAndThoseAboveItCounts) {
  write("/proc/self/cgroup", "0::/pod/container\n");
  write("/sys/fs/cgroup/pod/container/memory.max", "max\n");
  write("/sys/fs/cgroup/pod/memory.max", "1048576\n");
  EXPECT_EQ(usable_memory(root()).bytes, 1048576u);
  EXPECT_EQ(usable_memory(root()).reason, "control group limit memory.max");
  write("/sys/fs/cgroup/pod/container/memory.max", "524288\n");
  EXPECT_EQ(usable_memory(root()).bytes, 524288u);
  write("/sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(usable_memory(root()).bytes, 4096u);
}

TEST_F(UsableMemoryTest, AContainerSeesItsOwnGroupAtTheTop) {
  write("/proc/self/cgroup", "0::/not/mounted/here\n");
  write("/sys/fs/cgroup/memory.max", "2097152\n");
  EXPECT_EQ(usable_memory(root()).bytes, 2097152u);
}

TEST_F(UsableMemoryTest, TheFirstVersionHasAHierarchyForMemory) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/a\n9:memory:/a/b\n0::/a\n");
  write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "3145728\n");
  EXPECT_EQ(usable_memory(root()).bytes, 3145728u);
  EXPECT_EQ(usable_memory(root()).reason, "control group limit memory.limit_in_bytes");
}

TEST_F(UsableMemoryTest, WhatIsNoNumberIsNoLimit) {
  const uint64_t without = usable_memory(root()).bytes;
  write("/proc/self/cgroup", "nonsense\n0::/a\n::\n");
  write("/sys/fs/cgroup/a/memory.max", "many\n");
  write("/sys/fs/cgroup/memory.max", "");
  EXPECT_EQ(usable_memory(root()).bytes, without);
}

TEST_F(UsableMemoryTest, ALimitOfTheDataSegmentCounts) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  rlimit low = before;
  low.rlim_cur = 512 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &low), 0);
  const UsableMemory usable = usable_memory(root());
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_EQ(usable.bytes, uint64_t{512} << 20);
  EXPECT_EQ(usable.reason, "limit of the data segment");
}

}  // namespace
}  // namespace atl::memory
