#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "double_test.h"

namespace atl::test {
namespace {

using CudaIpc = DoubleTest;

/// The rest of a process that was started with `--gtest_filter=CudaIpcOther.*` and two pipes.
constexpr const char* kPipes = "ATOLL_TEST_PIPES";

/// Another process, made of this program: it allocates, and frees, as it is told.
class OtherProcess {
 public:
  OtherProcess() {
    EXPECT_EQ(pipe(to_), 0);
    EXPECT_EQ(pipe(from_), 0);
    child_ = fork();
    if (child_ != 0) {
      close(to_[0]);
      close(from_[1]);
      return;
    }
    // Else it would not see that they are closed.
    close(to_[1]);
    close(from_[0]);
    setenv(kPipes, (std::to_string(to_[0]) + " " + std::to_string(from_[1])).c_str(), 1);
    execl("/proc/self/exe", "other", "--gtest_filter=CudaIpcOther.*", nullptr);
    _exit(127);
  }
  ~OtherProcess() {
    close(to_[1]);
    close(from_[0]);
    int state = 0;
    waitpid(child_, &state, 0);
  }
  CudaIpcHandle handle() {
    CudaIpcHandle handle = {};
    EXPECT_EQ(::read(from_[0], &handle, sizeof(handle)), static_cast<ssize_t>(sizeof(handle)));
    return handle;
  }
  void proceed() {
    EXPECT_EQ(::write(to_[1], "x", 1), 1);
    char answer = 0;
    EXPECT_EQ(::read(from_[0], &answer, 1), 1);
  }
  void kill() {
    ::kill(child_, SIGKILL);
    int state = 0;
    waitpid(child_, &state, 0);
  }

 private:
  int to_[2] = {};
  int from_[2] = {};
  pid_t child_ = 0;
};

/// In the other process.
TEST(CudaIpcOther, Serves) {
  const char* pipes = std::getenv(kPipes);
  if (pipes == nullptr) return;
  int from = 0;
  int to = 0;
  ASSERT_EQ(std::sscanf(pipes, "%d %d", &from, &to), 2);
  const CudaDriver cuda = make_driver();
  CudaContext context = nullptr;
  ASSERT_CUDA(initialise_double());
  ASSERT_CUDA(cuda.cuDevicePrimaryCtxRetain(&context, 0));
  ASSERT_CUDA(cuda.cuCtxSetCurrent(context));
  CudaAddress address = 0;
  ASSERT_CUDA(cuda.cuMemAlloc(&address, 100));
  ASSERT_CUDA(cuda.cuMemcpyAsync(address, at("theirs"), 6, nullptr));
  ASSERT_CUDA(cuda.cuStreamSynchronize(nullptr));
  CudaIpcHandle handle = {};
  // Of an address inside: it stands for the allocation.
  ASSERT_CUDA(cuda.cuIpcGetMemHandle(&handle, address + 10));
  char byte = 0;
  EXPECT_EQ(::write(to, &handle, sizeof(handle)), static_cast<ssize_t>(sizeof(handle)));
  if (::read(from, &byte, 1) != 1) return;
  char text[7] = {};
  ASSERT_CUDA(cuda.cuMemcpyAsync(at(text), address, 6, nullptr));
  byte = std::strcmp(text, "mine!!") == 0 ? 'y' : 'n';
  ASSERT_CUDA(cuda.cuMemFree(address));
  EXPECT_EQ(::write(to, &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  // Until the other end is closed.
  EXPECT_EQ(::read(from, &byte, 1), 0);
}

TEST_F(CudaIpc, MemoryOfAnotherProcessIsUsed) {
  OtherProcess other;
  begin();
  const CudaIpcHandle handle = other.handle();
  CudaAddress address = 0;
  CudaAddress again = 0;
  ASSERT_CUDA(cuda.cuIpcOpenMemHandle(&address, handle, kCudaIpcLazyPeerAccess));
  ASSERT_CUDA(cuda.cuIpcOpenMemHandle(&again, handle, kCudaIpcLazyPeerAccess));
  EXPECT_EQ(address, again);
  size_t bytes = 0;
  ASSERT_CUDA(cuda.cuMemGetAddressRange(&again, &bytes, address));
  EXPECT_EQ(bytes, 100U);
  char text[7] = {};
  ASSERT_CUDA(cuda.cuMemcpyAsync(at(text), address, 6, nullptr));
  EXPECT_STREQ(text, "theirs");
  ASSERT_CUDA(cuda.cuMemcpyAsync(address, at("mine!!"), 6, nullptr));
  const CudaEvent event = make_event();
  ASSERT_CUDA(cuda.cuEventRecord(event, nullptr));
  ASSERT_CUDA(cuda.cuEventSynchronize(event));
  ASSERT_CUDA(cuda.cuEventDestroy(event));
  other.proceed();
  EXPECT_CUDA(INVALID_VALUE, cuda.cuMemFree(address));
  ASSERT_CUDA(cuda.cuIpcCloseMemHandle(address));
  EXPECT_CUDA(SUCCESS, cuda.cuMemcpyAsync(at(text), address, 6, nullptr));
  EXPECT_EQ(control.used_memory(0), 0U);
  ASSERT_CUDA(cuda.cuIpcCloseMemHandle(address));
  EXPECT_CUDA(INVALID_VALUE, cuda.cuIpcCloseMemHandle(address));
  // It was freed meanwhile.
  EXPECT_CUDA(INVALID_VALUE, cuda.cuIpcOpenMemHandle(&address, handle, kCudaIpcLazyPeerAccess));
}

TEST_F(CudaIpc, MemoryOutlivesTheProcessForThoseWhoHaveItOpen) {
  OtherProcess other;
  begin();
  const CudaIpcHandle handle = other.handle();
  CudaAddress address = 0;
  ASSERT_CUDA(cuda.cuIpcOpenMemHandle(&address, handle, kCudaIpcLazyPeerAccess));
  other.kill();
  char text[7] = {};
  ASSERT_CUDA(cuda.cuMemcpyAsync(at(text), address, 6, nullptr));
  EXPECT_STREQ(text, "theirs");
  ASSERT_CUDA(cuda.cuIpcCloseMemHandle(address));
  EXPECT_CUDA(INVALID_VALUE, cuda.cuIpcOpenMemHandle(&address, handle, kCudaIpcLazyPeerAccess));
  EXPECT_EQ(end(), "");
}

TEST_F(CudaIpc, HandlesThatMeanNothingAreRefused) {
  begin();
  const CudaAddress mine = allocate(8);
  CudaIpcHandle handle = {};
  CudaAddress address = 0;
  EXPECT_CUDA(INVALID_VALUE, cuda.cuIpcOpenMemHandle(&address, handle, kCudaIpcLazyPeerAccess));
  ASSERT_CUDA(cuda.cuIpcGetMemHandle(&handle, mine));
  EXPECT_CUDA(INVALID_VALUE, cuda.cuIpcOpenMemHandle(&address, handle, 0));
  EXPECT_CUDA(INVALID_CONTEXT, cuda.cuIpcOpenMemHandle(&address, handle, kCudaIpcLazyPeerAccess));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(mine));
  EXPECT_EQ(end(), "misuse: cuIpcOpenMemHandle: the handle is one of this process\n");
}

}  // namespace
}  // namespace atl::test
