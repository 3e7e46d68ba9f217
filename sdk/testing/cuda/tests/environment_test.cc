#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "atoll/testing/temporary_directory.h"
#include "double_test.h"

namespace atl::test {
namespace {

using CudaEnvironment = DoubleTest;
using CudaEnvironmentDeathTest = DoubleTest;

TEST_F(CudaEnvironment, KernelsComeFromSharedObjects) {
  set("ATOLL_CUDA_DOUBLE_KERNELS", ATOLL_CUDA_KERNELS);
  begin();
  CudaModule module = nullptr;
  CudaFunction function = nullptr;
  ASSERT_CUDA(cuda.cuModuleLoadDataEx(
      &module, ".version 8.8 .target sm_75 .visible .entry twice(.param .u64 twice_param_0) { ret; }", 0,
      nullptr, nullptr));
  ASSERT_CUDA(cuda.cuModuleGetFunction(&function, module, "twice"));
  CudaAddress address = allocate(sizeof(int32_t));
  int32_t value = 21;
  void* arguments[] = {&address};
  ASSERT_CUDA(cuda.cuMemcpyAsync(address, at(&value), sizeof(value), nullptr));
  ASSERT_CUDA(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  ASSERT_CUDA(cuda.cuMemcpyAsync(at(&value), address, sizeof(value), nullptr));
  EXPECT_EQ(value, 42);
  ASSERT_CUDA(cuda.cuModuleUnload(module));
  ASSERT_CUDA(cuda.cuMemFree(address));
  EXPECT_EQ(end(), "");
}

/// In another process, which ends with something left.
TEST(CudaEnvironmentOther, Leaves) {
  if (std::getenv("ATOLL_CUDA_DOUBLE_REPORT") == nullptr) return;
  const CudaDriver cuda = make_driver();
  CudaContext context = nullptr;
  ASSERT_CUDA(initialise_double());
  ASSERT_CUDA(cuda.cuDevicePrimaryCtxRetain(&context, 0));
}

TEST_F(CudaEnvironment, WhatIsLeftIsSaidWhenTheProcessEnds) {
  const TemporaryDirectory folder;
  const std::string path = folder.path() / "report";
  set("ATOLL_CUDA_DOUBLE_REPORT", path);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "other", "--gtest_filter=CudaEnvironmentOther.*", nullptr);
    _exit(127);
  }
  int state = 1;
  waitpid(child, &state, 0);
  EXPECT_EQ(state, 0);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "the context of device 0 is retained 1 times\n");
}

TEST_F(CudaEnvironmentDeathTest, AValueThatIsNoneEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  set("ATOLL_CUDA_DOUBLE_MEMORY", "much");
  EXPECT_DEATH(initialise_double(), "CUDA double: ATOLL_CUDA_DOUBLE_MEMORY: found .much.");
}

}  // namespace
}  // namespace atl::test
