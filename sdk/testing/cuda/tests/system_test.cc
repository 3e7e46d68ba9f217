#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "double_test.h"

namespace atl::test {
namespace {

using CudaSystem = DoubleTest;

struct Found {
  void* function;
  CudaSymbolState state;
};

Found ask(const char* name, int32_t version, uint64_t flags = kCudaLegacyStream) {
  Found found = {&found, CudaSymbolState::kFound};
  EXPECT_CUDA(SUCCESS, symbols()(name, &found.function, version, flags, &found.state));
  return found;
}

TEST_F(CudaSystem, SymbolsAreFoundByNameAndVersion) {
  EXPECT_NE(ask("cuMemAlloc", 3020).function, nullptr);
  EXPECT_NE(ask("cuMemAlloc", 13000).function, nullptr);
  EXPECT_NE(ask("cuInit", 12000).function, nullptr);
  EXPECT_EQ(ask("cuMemAlloc", 3010).state, CudaSymbolState::kDriverTooOld);
  EXPECT_EQ(ask("cuMemAlloc", 3010).function, nullptr);
  EXPECT_EQ(ask("cuNothing", 12000).state, CudaSymbolState::kNotFound);
  EXPECT_EQ(ask("cuNothing", 12000).function, nullptr);
  EXPECT_EQ(ask("cuLaunchHostFunc", 13010).function, nullptr);
  EXPECT_EQ(ask("cuMemcpyAsync", 4000, kCudaStreamPerThread).state, CudaSymbolState::kNotFound);
  EXPECT_EQ(double_symbol("cuMemAlloc"), nullptr);
}

TEST_F(CudaSystem, AnOldDriverHasNoNewSymbols) {
  set("ATOLL_CUDA_DOUBLE_DRIVER", "11080");
  EXPECT_EQ(ask("cuLibraryLoadData", 12000).state, CudaSymbolState::kNotFound);
  EXPECT_NE(ask("cuMemPoolCreate", 12000).function, nullptr);
  int32_t version = 0;
  EXPECT_CUDA(SUCCESS, cuda.cuDriverGetVersion(&version));
  EXPECT_EQ(version, 11080);
}

TEST_F(CudaSystem, NothingWorksBeforeCuInit) {
  int32_t count = 0;
  EXPECT_CUDA(NOT_INITIALIZED, cuda.cuDeviceGetCount(&count));
  ASSERT_CUDA(initialise_double());
  EXPECT_CUDA(SUCCESS, cuda.cuDeviceGetCount(&count));
  EXPECT_EQ(count, 1);
}

TEST_F(CudaSystem, CuInitFailsAsItIsTold) {
  set("ATOLL_CUDA_DOUBLE_INIT", "803");
  EXPECT_CUDA(SYSTEM_DRIVER_MISMATCH, initialise_double());
}

TEST_F(CudaSystem, DevicesAreThoseOfTheEnvironment) {
  set("ATOLL_CUDA_DOUBLE_DEVICES", "3");
  set("ATOLL_CUDA_DOUBLE_COMPUTE_CAPABILITY", "7.5,9.0");
  set("ATOLL_CUDA_DOUBLE_MEMORY", "1GiB,64MiB");
  set("ATOLL_CUDA_DOUBLE_NAME", "Small,Large");
  ASSERT_CUDA(initialise_double());
  int32_t value = 0;
  EXPECT_CUDA(SUCCESS, cuda.cuDeviceGetAttribute(&value, CudaDeviceAttribute::kComputeCapabilityMajor, 0));
  EXPECT_EQ(value, 7);
  EXPECT_CUDA(SUCCESS, cuda.cuDeviceGetAttribute(&value, CudaDeviceAttribute::kComputeCapabilityMajor, 2));
  EXPECT_EQ(value, 9);
  size_t bytes = 0;
  EXPECT_CUDA(SUCCESS, cuda.cuDeviceTotalMem(&bytes, 2));
  EXPECT_EQ(bytes, size_t{64} << 20);
  char text[16];
  EXPECT_CUDA(SUCCESS, cuda.cuDeviceGetName(text, sizeof(text), 0));
  EXPECT_STREQ(text, "Small");
  EXPECT_CUDA(SUCCESS, cuda.cuDeviceGetPCIBusId(text, sizeof(text), 1));
  EXPECT_STREQ(text, "0000:02:00.0");
  EXPECT_CUDA(INVALID_DEVICE, cuda.cuDeviceTotalMem(&bytes, 3));
}

TEST_F(CudaSystem, VisibleDevicesEndWithTheFirstThatThereIsNot) {
  set("ATOLL_CUDA_DOUBLE_DEVICES", "3");
  set("CUDA_VISIBLE_DEVICES", "2,0,7,1");
  ASSERT_CUDA(initialise_double());
  int32_t count = 0;
  EXPECT_CUDA(SUCCESS, cuda.cuDeviceGetCount(&count));
  EXPECT_EQ(count, 2);
  char text[16];
  EXPECT_CUDA(SUCCESS, cuda.cuDeviceGetPCIBusId(text, sizeof(text), 0));
  EXPECT_STREQ(text, "0000:03:00.0");
}

TEST_F(CudaSystem, NoVisibleDeviceIsNone) {
  set("CUDA_VISIBLE_DEVICES", "");
  EXPECT_CUDA(NO_DEVICE, initialise_double());
}

TEST_F(CudaSystem, AContextIsCurrentOnAThread) {
  begin();
  std::thread other([this] {
    CudaAddress address = 0;
    EXPECT_CUDA(INVALID_CONTEXT, cuda.cuMemAlloc(&address, 8));
    EXPECT_CUDA(SUCCESS, cuda.cuCtxSetCurrent(context));
    EXPECT_CUDA(SUCCESS, cuda.cuMemAlloc(&address, 8));
    EXPECT_CUDA(SUCCESS, cuda.cuMemFree(address));
  });
  other.join();
  EXPECT_EQ(end(), "");
}

TEST_F(CudaSystem, PrimaryContextsAreCounted) {
  begin();
  CudaContext again = nullptr;
  ASSERT_CUDA(cuda.cuDevicePrimaryCtxRetain(&again, 0));
  EXPECT_EQ(again, context);
  uint32_t flags = 0;
  int32_t active = 0;
  ASSERT_CUDA(cuda.cuDevicePrimaryCtxRelease(0));
  ASSERT_CUDA(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  EXPECT_EQ(report_of(control), "the context of device 0 is retained 1 times\n");
  ASSERT_CUDA(cuda.cuDevicePrimaryCtxRelease(0));
  ASSERT_CUDA(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 0);
  CudaAddress address = 0;
  EXPECT_CUDA(CONTEXT_IS_DESTROYED, cuda.cuMemAlloc(&address, 8));
  EXPECT_EQ(report_of(control), "misuse: cuMemAlloc: the thread's context was released\n");
}

TEST_F(CudaSystem, ADeviceMayBeProhibitedOrTaken) {
  set("ATOLL_CUDA_DOUBLE_DEVICES", "2");
  set("ATOLL_CUDA_DOUBLE_COMPUTE_MODE", "2,3");
  set("ATOLL_CUDA_DOUBLE_TAKEN", "0,1");
  ASSERT_CUDA(initialise_double());
  CudaContext made = nullptr;
  EXPECT_CUDA(UNKNOWN, cuda.cuDevicePrimaryCtxRetain(&made, 0));
  EXPECT_CUDA(DEVICE_UNAVAILABLE, cuda.cuDevicePrimaryCtxRetain(&made, 1));
}

TEST_F(CudaSystem, CodesHaveNames) {
  const char* text = nullptr;
  EXPECT_CUDA(SUCCESS, cuda.cuGetErrorName(CudaResult::ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_CUDA(SUCCESS, cuda.cuGetErrorName(CudaResult::SUCCESS, &text));
  EXPECT_STREQ(text, "CUDA_SUCCESS");
  EXPECT_CUDA(INVALID_VALUE, cuda.cuGetErrorName(static_cast<CudaResult>(12345), &text));
}

TEST_F(CudaSystem, AForkedChildHasNoDriver) {
  ASSERT_CUDA(initialise_double());
  const pid_t child = fork();
  if (child == 0) {
    int32_t count = 0;
    const bool refused = cuda.cuDeviceGetCount(&count) == CudaResult::NOT_INITIALIZED &&
                         initialise_double() == CudaResult::NOT_INITIALIZED;
    _exit(refused ? 0 : 1);
  }
  int state = 1;
  waitpid(child, &state, 0);
  EXPECT_EQ(state, 0);
}

}  // namespace
}  // namespace atl::test
