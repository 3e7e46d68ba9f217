#include <thread>

#include "double_test.h"

namespace atl::test {
namespace {

using CudaFailures = DoubleTest;

TEST_F(CudaFailures, TheNthCallFails) {
  begin();
  control.fail_call("cuMemAlloc", 2, CudaResult::OUT_OF_MEMORY);
  const CudaAddress first = allocate(8);
  CudaAddress second = 0;
  EXPECT_CUDA(OUT_OF_MEMORY, cuda.cuMemAlloc(&second, 8));
  second = allocate(8);
  // A call that gives back does it even so.
  control.fail_call("*", 1, CudaResult::UNKNOWN);
  EXPECT_CUDA(UNKNOWN, cuda.cuMemFree(first));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(second));
  control.fail_call("cuEventCreate", 0, CudaResult::OUT_OF_MEMORY);
  CudaEvent event = nullptr;
  EXPECT_CUDA(OUT_OF_MEMORY, cuda.cuEventCreate(&event, 0));
  EXPECT_CUDA(OUT_OF_MEMORY, cuda.cuEventCreate(&event, 0));
  control.end_failures();
  EXPECT_CUDA(SUCCESS, cuda.cuEventCreate(&event, 0));
  EXPECT_CUDA(SUCCESS, cuda.cuEventDestroy(event));
  EXPECT_EQ(control.calls("cuMemAlloc"), 3U);
  EXPECT_EQ(end(), "");
}

TEST_F(CudaFailures, TheEnvironmentPlansThem) {
  set("ATOLL_CUDA_DOUBLE_FAIL", "cuMemAlloc:1:2,cuEventCreate:1:999");
  set("ATOLL_CUDA_DOUBLE_STICKY", "0:2:700");
  begin();
  CudaAddress address = 0;
  CudaEvent event = nullptr;
  EXPECT_CUDA(OUT_OF_MEMORY, cuda.cuMemAlloc(&address, 8));
  EXPECT_CUDA(UNKNOWN, cuda.cuEventCreate(&event, 0));
  event = make_event();
  EXPECT_CUDA(SUCCESS, cuda.cuEventRecord(event, nullptr));
  EXPECT_CUDA(SUCCESS, cuda.cuEventSynchronize(event));
  EXPECT_CUDA(SUCCESS, cuda.cuEventRecord(event, nullptr));
  EXPECT_CUDA(ILLEGAL_ADDRESS, cuda.cuEventSynchronize(event));
}

TEST_F(CudaFailures, AStickyErrorStays) {
  set("ATOLL_CUDA_DOUBLE_DEVICES", "2");
  begin(1);
  const CudaAddress elsewhere = allocate(8);
  begin(0);
  const CudaStream stream = make_stream();
  const CudaEvent event = make_event();
  const CudaAddress address = allocate(8);
  bool was_called = false;
  control.fail_operation(0, 2, CudaResult::ILLEGAL_ADDRESS);
  control.set_stepped(true);
  ASSERT_CUDA(cuda.cuMemsetD8Async(address, 1, 8, stream));
  ASSERT_CUDA(cuda.cuMemsetD8Async(address, 2, 8, stream));
  ASSERT_CUDA(cuda.cuLaunchHostFunc(
      stream, [](void* flag) { *static_cast<bool*>(flag) = true; }, &was_called));
  ASSERT_CUDA(cuda.cuEventRecord(event, stream));
  control.set_stepped(false);
  EXPECT_CUDA(ILLEGAL_ADDRESS, cuda.cuEventSynchronize(event));
  EXPECT_CUDA(ILLEGAL_ADDRESS, cuda.cuEventQuery(event));
  EXPECT_CUDA(ILLEGAL_ADDRESS, cuda.cuMemFree(address));
  EXPECT_CUDA(ILLEGAL_ADDRESS, cuda.cuStreamDestroy(stream));
  EXPECT_FALSE(was_called);
  EXPECT_EQ(control.memory(address, 8) == nullptr ? 0 : *static_cast<char*>(control.memory(address, 8)), 1);
  // The other device goes on.
  CudaContext other = nullptr;
  ASSERT_CUDA(cuda.cuDevicePrimaryCtxRetain(&other, 1));
  ASSERT_CUDA(cuda.cuCtxSetCurrent(other));
  EXPECT_CUDA(ILLEGAL_ADDRESS, cuda.cuStreamSynchronize(stream));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(elsewhere));
  ASSERT_CUDA(cuda.cuDevicePrimaryCtxRelease(1));
  EXPECT_EQ(end(1), "");
}

TEST_F(CudaFailures, ADeviceIsLostWhileACallWaits) {
  begin();
  const CudaStream stream = make_stream();
  const CudaEvent event = make_event();
  control.hang_event(1);
  ASSERT_CUDA(cuda.cuEventRecord(event, stream));
  EXPECT_CUDA(NOT_READY, cuda.cuEventQuery(event));
  std::thread waits([&] {
    EXPECT_CUDA(SUCCESS, cuda.cuCtxSetCurrent(context));
    EXPECT_CUDA(UNKNOWN, cuda.cuEventSynchronize(event));
  });
  while (control.calls("cuEventSynchronize") == 0) std::this_thread::yield();
  control.fail_device(0, CudaResult::UNKNOWN);
  waits.join();
  CudaContext again = nullptr;
  EXPECT_CUDA(UNKNOWN, cuda.cuDevicePrimaryCtxRetain(&again, 0));
}

TEST_F(CudaFailures, AnEventThatHangsGoesOnWhenFailuresEnd) {
  begin();
  const CudaStream stream = make_stream();
  const CudaEvent event = make_event();
  const CudaEvent after = make_event();
  control.hang_event(1);
  ASSERT_CUDA(cuda.cuEventRecord(event, stream));
  ASSERT_CUDA(cuda.cuEventRecord(after, stream));
  EXPECT_CUDA(NOT_READY, cuda.cuEventQuery(after));
  control.end_failures();
  EXPECT_CUDA(SUCCESS, cuda.cuEventSynchronize(after));
  EXPECT_CUDA(SUCCESS, cuda.cuEventQuery(event));
}

}  // namespace
}  // namespace atl::test
