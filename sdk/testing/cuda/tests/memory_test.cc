#include <cstring>
#include <vector>

#include "double_test.h"

namespace atl::test {
namespace {

class CudaMemory : public DoubleTest {
 protected:
  void write(CudaAddress to, const std::string& text, CudaStream stream = nullptr) {
    EXPECT_CUDA(SUCCESS, cuda.cuMemcpyAsync(to, at(text.data()), text.size(), stream));
  }
  std::string read(CudaAddress from, size_t bytes, CudaStream stream = nullptr) {
    std::string text(bytes, '\0');
    EXPECT_CUDA(SUCCESS, cuda.cuMemcpyAsync(at(text.data()), from, bytes, stream));
    return text;
  }
  CudaPool make_pool(uint64_t most_bytes = 0) {
    CudaPoolOptions options;
    options.location = {CudaLocationType::kDevice, 0};
    options.max_bytes = most_bytes;
    CudaPool pool = nullptr;
    EXPECT_CUDA(SUCCESS, cuda.cuMemPoolCreate(&pool, &options));
    return pool;
  }
  uint64_t value_of(CudaPool pool, CudaPoolAttribute attribute) {
    uint64_t value = 0;
    EXPECT_CUDA(SUCCESS, cuda.cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
  }
};
using CudaMemoryDeathTest = CudaMemory;

constexpr size_t kMiB = 1 << 20;

TEST_F(CudaMemory, BytesGoInAndOut) {
  begin();
  const CudaAddress first = allocate(5);
  const CudaAddress second = allocate(3 * kMiB);
  write(first, "12345");
  ASSERT_CUDA(cuda.cuMemcpyAsync(second + 7, first, 5, nullptr));
  EXPECT_EQ(read(second + 7, 5), "12345");
  ASSERT_CUDA(cuda.cuMemsetD32Async(second, 0x41424344, 2, nullptr));
  ASSERT_CUDA(cuda.cuMemsetD8Async(second + 3, 'x', 1, nullptr));
  EXPECT_EQ(read(second, 8), "DCBxDCBA");
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(first));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(second));
  EXPECT_EQ(end(), "");
}

TEST_F(CudaMemoryDeathTest, TheCpuCanNotFollowAnAddress) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  begin();
  const CudaAddress address = allocate(64);
  EXPECT_DEATH(std::fprintf(stderr, "%c", *reinterpret_cast<volatile char*>(address)), "");
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(address));
}

TEST_F(CudaMemory, ItIsCountedAndLimited) {
  set("ATOLL_CUDA_DOUBLE_MEMORY", "4MiB");
  begin();
  size_t free_bytes = 0;
  size_t total = 0;
  const CudaAddress first = allocate(kMiB);
  ASSERT_CUDA(cuda.cuMemGetInfo(&free_bytes, &total));
  EXPECT_EQ(total, 4 * kMiB);
  EXPECT_EQ(free_bytes, 3 * kMiB);
  CudaAddress second = 0;
  EXPECT_CUDA(OUT_OF_MEMORY, cuda.cuMemAlloc(&second, 3 * kMiB + 1));
  control.limit_memory(0, 2 * kMiB);
  EXPECT_CUDA(OUT_OF_MEMORY, cuda.cuMemAlloc(&second, 2 * kMiB));
  EXPECT_CUDA(SUCCESS, cuda.cuMemAlloc(&second, kMiB));
  EXPECT_EQ(control.used_memory(0), 2 * kMiB);
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(first));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(second));
  EXPECT_EQ(control.used_memory(0), 0U);
}

TEST_F(CudaMemory, AnAddressBelongsToAnAllocation) {
  begin();
  const CudaAddress address = allocate(100);
  CudaAddress base = 0;
  size_t bytes = 0;
  ASSERT_CUDA(cuda.cuMemGetAddressRange(&base, &bytes, address + 99));
  EXPECT_EQ(base, address);
  EXPECT_EQ(bytes, 100U);
  EXPECT_CUDA(NOT_FOUND, cuda.cuMemGetAddressRange(&base, &bytes, address + 100));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(address));
}

TEST_F(CudaMemory, MistakesAreFoundOut) {
  begin();
  const CudaAddress address = allocate(16);
  EXPECT_CUDA(INVALID_VALUE, cuda.cuMemsetD8Async(address, 0, 17, nullptr));
  EXPECT_CUDA(INVALID_VALUE, cuda.cuMemFree(address + 8));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(address));
  EXPECT_CUDA(INVALID_VALUE, cuda.cuMemFree(address));
  EXPECT_EQ(end(),
            "misuse: cuMemsetD8Async: device memory that is not allocated, or has less bytes\n"
            "misuse: cuMemFree: this is no allocation, or no longer\n");
}

TEST_F(CudaMemory, WhatIsLeftIsReported) {
  begin();
  allocate(16);
  pin<char>(8);
  make_pool();
  make_stream();
  make_event();
  EXPECT_EQ(report_of(control),
            "1 allocations\nthe context of device 0 is retained 1 times\n1 pools\n1 streams\n1 events\n"
            "1 ranges of pinned memory\n");
}

TEST_F(CudaMemory, PoolsGrowKeepAndShrink) {
  begin();
  const CudaPool pool = make_pool();
  const CudaStream stream = make_stream();
  CudaAddress address = 0;
  ASSERT_CUDA(cuda.cuMemAllocFromPoolAsync(&address, 3 * kMiB, pool, stream));
  EXPECT_EQ(value_of(pool, CudaPoolAttribute::kUsedCurrent), 3 * kMiB);
  EXPECT_EQ(value_of(pool, CudaPoolAttribute::kReservedCurrent), 4 * kMiB);
  write(address, "hello", stream);
  EXPECT_EQ(read(address, 5, stream), "hello");
  CudaIpcHandle handle;
  EXPECT_CUDA(INVALID_VALUE, cuda.cuIpcGetMemHandle(&handle, address));
  // Unused memory goes at the next synchronisation, unless it is below the threshold.
  uint64_t threshold = UINT64_MAX;
  ASSERT_CUDA(cuda.cuMemPoolSetAttribute(pool, CudaPoolAttribute::kReleaseThreshold, &threshold));
  ASSERT_CUDA(cuda.cuMemFreeAsync(address, stream));
  ASSERT_CUDA(cuda.cuStreamSynchronize(stream));
  EXPECT_EQ(value_of(pool, CudaPoolAttribute::kUsedCurrent), 0U);
  EXPECT_EQ(value_of(pool, CudaPoolAttribute::kReservedCurrent), 4 * kMiB);
  EXPECT_EQ(control.used_memory(0), 4 * kMiB);
  ASSERT_CUDA(cuda.cuMemPoolTrimTo(pool, kMiB));
  EXPECT_EQ(value_of(pool, CudaPoolAttribute::kReservedCurrent), 2 * kMiB);
  threshold = 0;
  ASSERT_CUDA(cuda.cuMemPoolSetAttribute(pool, CudaPoolAttribute::kReleaseThreshold, &threshold));
  ASSERT_CUDA(cuda.cuStreamSynchronize(stream));
  EXPECT_EQ(value_of(pool, CudaPoolAttribute::kReservedCurrent), 0U);
  EXPECT_EQ(value_of(pool, CudaPoolAttribute::kReservedHigh), 4 * kMiB);
  ASSERT_CUDA(cuda.cuMemPoolSetAttribute(pool, CudaPoolAttribute::kUsedHigh, &threshold));
  EXPECT_EQ(value_of(pool, CudaPoolAttribute::kUsedHigh), 0U);
  ASSERT_CUDA(cuda.cuMemPoolDestroy(pool));
  ASSERT_CUDA(cuda.cuStreamDestroy(stream));
  EXPECT_EQ(end(), "");
}

TEST_F(CudaMemory, APoolHasItsOwnLimit) {
  begin();
  const CudaPool pool = make_pool(2 * kMiB);
  CudaAddress first = 0;
  CudaAddress second = 0;
  ASSERT_CUDA(cuda.cuMemAllocFromPoolAsync(&first, kMiB, pool, nullptr));
  EXPECT_CUDA(OUT_OF_MEMORY, cuda.cuMemAllocFromPoolAsync(&second, kMiB + 1, pool, nullptr));
  // What a stream will have freed by then may be allocated.
  ASSERT_CUDA(cuda.cuMemFreeAsync(first, nullptr));
  EXPECT_CUDA(SUCCESS, cuda.cuMemAllocFromPoolAsync(&second, 2 * kMiB, pool, nullptr));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(second));
  ASSERT_CUDA(cuda.cuMemPoolDestroy(pool));
  EXPECT_EQ(control.used_memory(0), 0U);
}

TEST_F(CudaMemory, MemoryIsUsedInTheOrderOfStreams) {
  begin();
  control.set_stepped(true);
  const CudaPool pool = make_pool();
  const CudaStream first = make_stream();
  const CudaStream second = make_stream();
  CudaAddress address = 0;
  ASSERT_CUDA(cuda.cuMemAllocFromPoolAsync(&address, 64, pool, second));
  // It does not wait for the stream that allocates.
  ASSERT_CUDA(cuda.cuMemsetD8Async(address, 1, 64, first));
  EXPECT_TRUE(control.step());
  EXPECT_CUDA(ILLEGAL_ADDRESS, cuda.cuStreamQuery(first));
  EXPECT_EQ(
      report_of(control),
      "misuse: a setting of memory used device memory before it was allocated, or after it was freed\n");
}

TEST_F(CudaMemory, RangesGrow) {
  begin();
  const CudaAllocationOptions options = {.location = {CudaLocationType::kDevice, 0}};
  size_t unit = 0;
  ASSERT_CUDA(cuda.cuMemGetAllocationGranularity(&unit, &options, CudaGranularity::kMinimum));
  CudaAddress base = 0;
  ASSERT_CUDA(cuda.cuMemAddressReserve(&base, 4 * unit, 0, 0, 0));
  const CudaAccess access = {{CudaLocationType::kDevice, 0}, CudaMemoryAccess::kReadWrite};
  for (int i = 0; i < 2; ++i) {
    CudaAllocation allocation = 0;
    ASSERT_CUDA(cuda.cuMemCreate(&allocation, unit, &options, 0));
    ASSERT_CUDA(cuda.cuMemMap(base + static_cast<size_t>(i) * unit, unit, 0, allocation, 0));
    EXPECT_CUDA(INVALID_VALUE, cuda.cuMemsetD8Async(base + static_cast<size_t>(i) * unit, 1, 1, nullptr));
    ASSERT_CUDA(cuda.cuMemSetAccess(base + static_cast<size_t>(i) * unit, unit, &access, 1));
    ASSERT_CUDA(cuda.cuMemRelease(allocation));
  }
  // Over the border of both.
  write(base + unit - 3, "border");
  EXPECT_EQ(read(base + unit - 3, 6), "border");
  std::vector<char> past(2 * unit + 1);
  EXPECT_CUDA(INVALID_VALUE, cuda.cuMemcpyAsync(at(past.data()), base, past.size(), nullptr));
  EXPECT_EQ(control.used_memory(0), 2 * unit);
  CudaIpcHandle handle;
  EXPECT_CUDA(INVALID_VALUE, cuda.cuIpcGetMemHandle(&handle, base));
  ASSERT_CUDA(cuda.cuMemUnmap(base, 2 * unit));
  ASSERT_CUDA(cuda.cuMemAddressFree(base, 4 * unit));
  EXPECT_EQ(control.used_memory(0), 0U);
}

TEST_F(CudaMemory, HostMemoryIsPinnedOrRegistered) {
  begin();
  std::vector<char> host(100);
  ASSERT_CUDA(cuda.cuMemHostRegister(host.data(), host.size(), 0));
  EXPECT_NE(CudaResult::SUCCESS, cuda.cuMemHostRegister(host.data() + 50, 10, 0));
  EXPECT_CUDA(INVALID_VALUE, cuda.cuMemFreeHost(host.data()));
  ASSERT_CUDA(cuda.cuMemHostUnregister(host.data()));
  EXPECT_CUDA(INVALID_VALUE, cuda.cuMemHostUnregister(host.data()));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFreeHost(pin<char>(10)));
}

}  // namespace
}  // namespace atl::test
