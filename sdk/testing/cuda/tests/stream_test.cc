#include <atomic>
#include <thread>

#include "double_test.h"

namespace atl::test {
namespace {

using CudaStreams = DoubleTest;

void set_flag(void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }

/// A host function that waits until the test lets it go.
struct Blocker {
  std::atomic<bool> may_go = false;
  static void wait(void* self) {
    while (!static_cast<Blocker*>(self)->may_go) std::this_thread::yield();
  }
};

TEST_F(CudaStreams, TheyRunBehind) {
  begin();
  const CudaStream stream = make_stream();
  const CudaEvent event = make_event(kCudaEventDisableTiming);
  EXPECT_CUDA(SUCCESS, cuda.cuEventQuery(event));
  Blocker blocker;
  ASSERT_CUDA(cuda.cuLaunchHostFunc(stream, Blocker::wait, &blocker));
  ASSERT_CUDA(cuda.cuEventRecord(event, stream));
  EXPECT_CUDA(NOT_READY, cuda.cuStreamQuery(stream));
  EXPECT_CUDA(NOT_READY, cuda.cuEventQuery(event));
  blocker.may_go = true;
  EXPECT_CUDA(SUCCESS, cuda.cuEventSynchronize(event));
  EXPECT_CUDA(SUCCESS, cuda.cuStreamQuery(stream));
  ASSERT_CUDA(cuda.cuEventDestroy(event));
  ASSERT_CUDA(cuda.cuStreamDestroy(stream));
  EXPECT_EQ(end(), "");
}

TEST_F(CudaStreams, PinnedCopiesAreReallyLater) {
  begin();
  control.set_stepped(true);
  const CudaStream stream = make_stream();
  auto* host = pin<int>(1);
  const CudaAddress address = allocate(sizeof(int));
  *host = 1;
  ASSERT_CUDA(cuda.cuMemcpyAsync(address, at(host), sizeof(int), stream));
  *host = 2;
  int pageable = 3;
  const CudaAddress other = allocate(sizeof(int));
  ASSERT_CUDA(cuda.cuMemcpyAsync(other, at(&pageable), sizeof(int), stream));
  pageable = 4;
  while (control.step()) {
  }
  EXPECT_EQ(*static_cast<int*>(control.memory(address, sizeof(int))), 2);
  EXPECT_EQ(*static_cast<int*>(control.memory(other, sizeof(int))), 3);
}

TEST_F(CudaStreams, StreamsWaitForEventsOfOthers) {
  set("ATOLL_CUDA_DOUBLE_DEVICES", "2");
  begin(1);
  const CudaStream theirs = make_stream();
  const CudaEvent event = make_event();
  begin(0);
  const CudaStream mine = make_stream();
  control.set_stepped(true);
  std::atomic<bool> first = false;
  std::atomic<bool> second = false;
  EXPECT_CUDA(INVALID_HANDLE, cuda.cuEventRecord(event, mine));
  ASSERT_CUDA(cuda.cuLaunchHostFunc(theirs, set_flag, &first));
  ASSERT_CUDA(cuda.cuEventRecord(event, theirs));
  ASSERT_CUDA(cuda.cuStreamWaitEvent(mine, event, 0));
  ASSERT_CUDA(cuda.cuLaunchHostFunc(mine, set_flag, &second));
  control.step();
  EXPECT_TRUE(first);
  control.step();
  EXPECT_FALSE(second);
  EXPECT_CUDA(NOT_READY, cuda.cuStreamQuery(mine));
  while (control.step()) {
  }
  EXPECT_TRUE(second);
  EXPECT_EQ(control.operations(0), 2U);
  EXPECT_EQ(control.operations(1), 2U);
}

TEST_F(CudaStreams, StreamZeroIsInOrderWithBlockingStreams) {
  begin();
  control.set_stepped(true);
  CudaStream blocking = nullptr;
  ASSERT_CUDA(cuda.cuStreamCreateWithPriority(&blocking, 0, 0));
  std::atomic<bool> done = false;
  ASSERT_CUDA(cuda.cuLaunchHostFunc(blocking, set_flag, &done));
  ASSERT_CUDA(cuda.cuLaunchHostFunc(
      nullptr, [](void* flag) { EXPECT_TRUE(*static_cast<std::atomic<bool>*>(flag)); }, &done));
  const CudaStream free_one = make_stream();
  std::atomic<bool> other = false;
  ASSERT_CUDA(cuda.cuLaunchHostFunc(free_one, set_flag, &other));
  while (control.step()) {
  }
  EXPECT_TRUE(other);
  EXPECT_TRUE(done);
}

TEST_F(CudaStreams, HostFunctionsMayNotCallTheDriver) {
  begin();
  struct Asked {
    const CudaDriver* cuda;
    CudaResult result;
  } asked = {&cuda, CudaResult::SUCCESS};
  const CudaStream stream = make_stream();
  ASSERT_CUDA(cuda.cuLaunchHostFunc(
      stream,
      [](void* data) {
        auto* to = static_cast<Asked*>(data);
        int32_t count = 0;
        to->result = to->cuda->cuDeviceGetCount(&count);
      },
      &asked));
  ASSERT_CUDA(cuda.cuStreamSynchronize(stream));
  EXPECT_CUDA(NOT_PERMITTED, asked.result);
  EXPECT_EQ(asked.result, CudaResult::NOT_PERMITTED);
}

TEST_F(CudaStreams, EventsTellTheTimeBetweenThem) {
  begin();
  const CudaStream stream = make_stream();
  const CudaEvent start = make_event();
  const CudaEvent stop = make_event();
  const CudaEvent without = make_event(kCudaEventDisableTiming);
  float milliseconds = -1;
  EXPECT_CUDA(INVALID_HANDLE, cuda.cuEventElapsedTime(&milliseconds, start, stop));
  control.slow_copies(2'000'000);
  const CudaAddress address = allocate(64);
  auto* host = pin<char>(64);
  ASSERT_CUDA(cuda.cuEventRecord(start, stream));
  ASSERT_CUDA(cuda.cuMemcpyAsync(address, at(host), 64, stream));
  ASSERT_CUDA(cuda.cuEventRecord(stop, stream));
  ASSERT_CUDA(cuda.cuEventRecord(without, stream));
  ASSERT_CUDA(cuda.cuStreamSynchronize(stream));
  ASSERT_CUDA(cuda.cuEventElapsedTime(&milliseconds, start, stop));
  EXPECT_GE(milliseconds, 2);
  EXPECT_CUDA(INVALID_HANDLE, cuda.cuEventElapsedTime(&milliseconds, start, without));
}

TEST_F(CudaStreams, UseAfterTheEndIsReported) {
  begin();
  const CudaStream stream = make_stream();
  const CudaEvent event = make_event();
  ASSERT_CUDA(cuda.cuStreamDestroy(stream));
  ASSERT_CUDA(cuda.cuEventDestroy(event));
  EXPECT_CUDA(INVALID_HANDLE, cuda.cuStreamQuery(stream));
  EXPECT_CUDA(INVALID_HANDLE, cuda.cuEventQuery(event));
  make_stream();
  EXPECT_EQ(end(),
            "misuse: cuStreamQuery: there is no such stream, or no longer\n"
            "misuse: cuEventQuery: there is no such event, or no longer\n"
            "misuse: cuDevicePrimaryCtxRelease: the context went with 1 streams and 0 events\n");
}

TEST_F(CudaStreams, ADestroyedStreamFinishesWhatItHas) {
  begin();
  const CudaStream stream = make_stream();
  Blocker blocker;
  std::atomic<bool> done = false;
  ASSERT_CUDA(cuda.cuLaunchHostFunc(stream, Blocker::wait, &blocker));
  ASSERT_CUDA(cuda.cuLaunchHostFunc(stream, set_flag, &done));
  ASSERT_CUDA(cuda.cuStreamDestroy(stream));
  blocker.may_go = true;
  EXPECT_EQ(end(), "");
  EXPECT_TRUE(done);
}

TEST_F(CudaStreams, ManyThreadsUseManyStreams) {
  begin();
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      EXPECT_CUDA(SUCCESS, cuda.cuCtxSetCurrent(context));
      const CudaStream one = make_stream();
      const CudaStream two = make_stream();
      const CudaEvent event = make_event();
      auto* host = pin<int>(2);
      const CudaAddress address = allocate(sizeof(int));
      for (int i = 0; i < kRounds; ++i) {
        host[0] = t * kRounds + i;
        EXPECT_CUDA(SUCCESS, cuda.cuMemcpyAsync(address, at(host), sizeof(int), one));
        EXPECT_CUDA(SUCCESS, cuda.cuEventRecord(event, one));
        EXPECT_CUDA(SUCCESS, cuda.cuStreamWaitEvent(two, event, 0));
        EXPECT_CUDA(SUCCESS, cuda.cuMemcpyAsync(at(host + 1), address, sizeof(int), two));
        EXPECT_CUDA(SUCCESS, cuda.cuStreamSynchronize(two));
        EXPECT_EQ(host[1], t * kRounds + i);
      }
      EXPECT_CUDA(SUCCESS, cuda.cuMemFree(address));
      EXPECT_CUDA(SUCCESS, cuda.cuMemFreeHost(host));
      EXPECT_CUDA(SUCCESS, cuda.cuEventDestroy(event));
      EXPECT_CUDA(SUCCESS, cuda.cuStreamDestroy(one));
      EXPECT_CUDA(SUCCESS, cuda.cuStreamDestroy(two));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(end(), "");
}

}  // namespace
}  // namespace atl::test
