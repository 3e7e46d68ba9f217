#include "memory/pinned/pinned_memory.h"

#include "atoll/testing/conformance/memory.h"
#include "memory/pinned/testing/fake_cuda.h"

namespace atl::memory {
namespace {

TEST(PinnedMemory, NothingIsPinnedBeforeItIsAskedFor) {
  FakeCuda cuda;
  PinnedMemory memory(1 << 20);
  memory.open(cuda);
  EXPECT_EQ(memory.limit_bytes(), 1u << 20);
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_EQ(FakeCuda::counts().made_current, 0u);
  auto first = memory.allocate(100, 0);
  auto second = memory.allocate(100, 0);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(FakeCuda::counts().allocated, 1u);
  EXPECT_EQ(memory.used_bytes(), 256u);
  memory.free(*first);
  memory.free(*second);
  EXPECT_TRUE(memory.close().ok());
  EXPECT_EQ(FakeCuda::counts().freed, 1u);
}

TEST(PinnedMemory, WithoutAGpuThereIsNone) {
  FakeCuda cuda(0);
  PinnedMemory memory(1 << 20);
  EXPECT_EQ(memory.allocate(1, 0).status().message(), "pinned CPU memory: no GPU is known yet");
  memory.open(cuda);
  auto refused = memory.allocate(1, 0);
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.status().message(), "pinned CPU memory: there is no CUDA driver");
}

TEST(PinnedMemory, ThePoolMayBeTurnedOff) {
  FakeCuda cuda;
  PinnedMemory memory(0);
  memory.open(cuda);
  EXPECT_EQ(memory.allocate(0, 0).status().message(),
            "pinned CPU memory: 0 bytes asked for, 0 bytes of the pool of 0 bytes are in use");
  EXPECT_EQ(FakeCuda::counts().made_current, 0u);
}

TEST(PinnedMemory, AnotherGpuIsTakenWhereOneIsLost) {
  FakeCuda cuda(2);
  cuda.lose(0);
  PinnedMemory memory(1 << 20);
  memory.open(cuda);
  auto buffer = memory.allocate(1, 0);
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  memory.free(*buffer);
}

TEST(PinnedMemory, AFailureIsTriedAgainNextTime) {
  FakeCuda cuda;
  const auto works = cuda.functions().cuMemHostAlloc;
  cuda.functions().cuMemHostAlloc = [](void**, size_t, uint32_t) { return CudaResult::OUT_OF_MEMORY; };
  PinnedMemory memory(1 << 20);
  memory.open(cuda);
  auto refused = memory.allocate(1, 0);
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.status().message(), "pinned CPU memory: GPU 0: cuMemHostAlloc gave OUT_OF_MEMORY");
  EXPECT_EQ(memory.used_bytes(), 0u);
  cuda.functions().cuMemHostAlloc = works;
  auto buffer = memory.allocate(1, 0);
  ASSERT_TRUE(buffer.ok());
  memory.free(*buffer);
}

TEST(PinnedMemory, ALostDeviceLeavesTheMemoryUsable) {
  FakeCuda cuda;
  PinnedMemory memory(1 << 20);
  memory.open(cuda);
  auto buffer = memory.allocate(3, 0);
  ASSERT_TRUE(buffer.ok());
  void* const pool = buffer->data;
  cuda.lose(0);
  std::memcpy(buffer->data, "abc", 3);
  memory.free(*buffer);
  auto again = memory.allocate(1, 0);
  ASSERT_TRUE(again.ok());
  memory.free(*again);
  EXPECT_TRUE(memory.close().ok());
  EXPECT_EQ(FakeCuda::counts().freed, 0u) << "no call for a lost device";
  std::free(pool);
}

}  // namespace
}  // namespace atl::memory

namespace atl::test {
namespace {

struct PinnedOnGpu {
  explicit PinnedOnGpu(uint64_t bytes) : memory(bytes) { memory.open(cuda); }
  memory::FakeCuda cuda;
  memory::PinnedMemory memory;
};

MemoryProvider pinned_memory() {
  MemoryProvider provider;
  provider.name = "pinned";
  provider.make = [](uint64_t limit_bytes) {
    auto made = std::make_shared<PinnedOnGpu>(limit_bytes == 0 ? 64 << 20 : limit_bytes);
    return std::shared_ptr<Memory>(made, &made->memory);
  };
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Pinned, MemoryConformance, ::testing::Values(pinned_memory()));

}  // namespace
}  // namespace atl::test
