#include "memory/host/host_memory.h"

#include "atoll/testing/conformance/memory.h"

namespace atl::memory {
namespace {

TEST(HostMemory, CountsTheBytesAskedFor) {
  HostMemory memory(0);
  auto first = memory.allocate(100, 0);
  auto second = memory.allocate(0, 0);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->size_bytes, 100u);
  EXPECT_EQ(memory.used_bytes(), 100u);
  memory.free(first.value());
  memory.free(second.value());
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(HostMemory, ARefusalNamesTheSizes) {
  HostMemory memory(1000);
  auto held = memory.allocate(700, 0);
  ASSERT_TRUE(held.ok());
  auto refused = memory.allocate(301, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.status().message(),
            "CPU memory: 301 bytes asked for, 700 bytes of the limit of 1000 bytes are in use");
  auto exact = memory.allocate(300, 0);
  EXPECT_TRUE(exact.ok()) << "the limit itself may be used";
  memory.free(exact.value());
  memory.free(held.value());
}

TEST(HostMemory, WhatGrowsIsCountedInWholePages) {
  const uint64_t page = GrowableRanges::page_bytes();
  HostMemory memory(10 * page);
  auto buffer = memory.allocate_growable(1, uint64_t{1} << 30, 0);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->size_bytes, page);
  EXPECT_TRUE(memory.grow(*buffer, page + 1).ok());
  EXPECT_EQ(buffer->size_bytes, 2 * page);
  EXPECT_EQ(memory.used_bytes(), 2 * page);
  EXPECT_EQ(memory.grow(*buffer, 11 * page).message(),
            cat("CPU memory: ", 9 * page, " bytes asked for, ", 2 * page, " bytes of the limit of ",
                10 * page, " bytes are in use"));
  memory.free_growable(*buffer);
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(HostMemoryDeathTest, WhatWasNotAskedForCanNotBeTouched) {
  HostMemory memory(0);
  auto buffer = memory.allocate_growable(1, uint64_t{1} << 20, 0);
  ASSERT_TRUE(buffer.ok());
  auto* bytes = static_cast<volatile char*>(buffer->data);
  EXPECT_DEATH(bytes[buffer->size_bytes] = 1, "");
  memory.free_growable(*buffer);
}

TEST(HostMemory, ThereAreOnlySoManyThatGrow) {
  HostMemory memory(0);
  std::vector<Buffer> held;
  for (size_t i = 0; i < GrowableRanges::kRangesMax; ++i) {
    auto buffer = memory.allocate_growable(1, uint64_t{1} << 20, 0);
    ASSERT_TRUE(buffer.ok()) << i << ": " << buffer.status().message();
    held.push_back(*buffer);
  }
  const uint64_t used_bytes = memory.used_bytes();
  auto refused = memory.allocate_growable(1, 1, 0);
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.status().message(),
            "CPU memory: 16384 buffers that grow are in use, the most there may be");
  EXPECT_EQ(memory.used_bytes(), used_bytes);
  EXPECT_TRUE(memory.grow(held[0], 100'000).ok()) << "those that are there grow on";
  memory.free_growable(held.back());
  held.pop_back();
  auto again = memory.allocate_growable(1, 1, 0);
  ASSERT_TRUE(again.ok());
  held.push_back(*again);
  for (const Buffer& one : held) memory.free_growable(one);
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(HostMemory, ThereIsOneDevice) {
  HostMemory memory(0);
  EXPECT_EQ(memory.allocate(1, 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(memory.allocate_growable(1, 1, 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(memory.used_bytes(), 0u);
}

}  // namespace
}  // namespace atl::memory

namespace atl::test {
namespace {

MemoryProvider host_memory() {
  MemoryProvider provider;
  provider.name = "host";
  provider.make = [](uint64_t limit_bytes) { return std::make_shared<memory::HostMemory>(limit_bytes); };
  provider.grows = true;
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Host, MemoryConformance, ::testing::Values(host_memory()));

}  // namespace
}  // namespace atl::test
