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

TEST(HostMemory, ThereIsOneDevice) {
  HostMemory memory(0);
  EXPECT_EQ(memory.allocate(1, 1).status().code(), Code::kInvalidArgument);
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
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Host, MemoryConformance, ::testing::Values(host_memory()));

}  // namespace
}  // namespace atl::test
