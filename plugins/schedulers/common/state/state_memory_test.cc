#include "schedulers/common/state/state_memory.h"

#include <gtest/gtest.h>

#include <cstring>

#include "atoll/testing/followed_fake.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/sanitized.h"
#include "schedulers/common/testing/host_memory_fake.h"

namespace atl::schedulers {
namespace {

class StateMemoryTest : public ::testing::Test {
 protected:
  ~StateMemoryTest() override { memory_.close(); }
  void provide(const char* instance, Memory& provider, uint32_t minor = Memory::kGrowableMinor) {
    host_.registry().publish<Memory>(instance, provider, 0, minor);
    test::publish_service_changed(host_, Memory::kInterfaceId, instance);
  }
  StateBlock take(uint64_t size_bytes, MemoryKind kind = MemoryKind::kCpu, int64_t device_id = 0) {
    Result<StateBlock> block = memory_.allocate(size_bytes, kind, device_id);
    EXPECT_TRUE(block.ok()) << block.status().message();
    return block.ok() ? std::move(block).value() : StateBlock();
  }

  test::FakeHost host_;
  StateMemory memory_{host_, 1000};
};

TEST_F(StateMemoryTest, WithoutProvidersThereIsTheHeap) {
  ASSERT_TRUE(memory_.open().ok());
  for (MemoryKind kind : {MemoryKind::kCpu, MemoryKind::kCpuPinned, MemoryKind::kGpu, MemoryKind{7}}) {
    for (uint64_t size : {0, 1, 100, 1 << 20}) {
      const StateBlock block = take(size, kind, 3);
      ASSERT_TRUE(block);
      EXPECT_EQ(block.buffer().kind, MemoryKind::kCpu);
      EXPECT_EQ(block.buffer().device_id, 0);
      EXPECT_EQ(block.buffer().size_bytes, size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block.buffer().data) % StateMemory::kAlignment, 0u);
      if (size != 0) std::memset(block.buffer().data, 1, size);
    }
  }
  if (test::kSanitized) return;  // it ends the process instead
  EXPECT_EQ(StateMemory().allocate(uint64_t{1} << 60, MemoryKind::kCpu, 0).status().code(),
            Code::kResourceExhausted);
}

TEST_F(StateMemoryTest, EveryKindIsFromItsProvider) {
  HostMemoryFake cpu(MemoryKind::kCpu), pinned(MemoryKind::kCpuPinned);
  test::FakeDeviceMemory gpu(2);
  ASSERT_TRUE(memory_.open().ok());
  provide("cpu", cpu);
  provide("pinned", pinned);
  provide("gpu", gpu);
  StateBlock blocks[] = {take(10), take(20, MemoryKind::kCpuPinned), take(30, MemoryKind::kGpu, 1)};
  EXPECT_EQ(cpu.used_bytes(), 10u);
  EXPECT_EQ(pinned.used_bytes(), 20u);
  EXPECT_EQ(gpu.used_bytes(), 30u);
  EXPECT_EQ(blocks[2].buffer().device_id, 1);
  EXPECT_EQ(take(5, MemoryKind::kGpu, 9).buffer().kind, MemoryKind::kCpu) << "there is no such device";
  for (StateBlock& block : blocks) block.reset();
  EXPECT_EQ(cpu.used_bytes() + pinned.used_bytes() + gpu.used_bytes(), 0u);
  EXPECT_EQ(cpu.live() + pinned.live() + gpu.live(), 0u);
}

TEST_F(StateMemoryTest, ABlockKeepsItsProviderAndSaysThatItIsToGo) {
  HostMemoryFake first(MemoryKind::kCpu), second(MemoryKind::kCpu);
  provide("cpu", first);
  ASSERT_TRUE(memory_.open().ok());
  StateBlock block = take(8);
  EXPECT_FALSE(block.is_outdated());
  provide("cpu", second);
  EXPECT_TRUE(block.is_outdated());
  StateBlock moved = std::move(block);
  EXPECT_TRUE(moved.is_outdated());
  EXPECT_EQ(host_.registry().holders(Memory::kInterfaceId), 2u);
  moved.reset();
  EXPECT_EQ(first.live(), 0u);
  EXPECT_EQ(host_.registry().holders(Memory::kInterfaceId), 1u);
  const StateBlock other = take(8);
  EXPECT_EQ(second.live(), 1u);
}

TEST_F(StateMemoryTest, WhereMemoryDoesNotGrowThereIsHalfAsMuchAgain) {
  HostMemoryFake older(MemoryKind::kCpu), cpu(MemoryKind::kCpu);
  ASSERT_TRUE(memory_.open().ok());
  const StateBlock heap = memory_.allocate_growable(100, MemoryKind::kCpu, 0).value();
  provide("cpu", older, Memory::kDevicesMinor);
  const StateBlock fixed = memory_.allocate_growable(100, MemoryKind::kCpu, 0).value();
  EXPECT_EQ(older.used_bytes(), 150u);
  for (const StateBlock* block : {&heap, &fixed}) {
    EXPECT_FALSE(block->is_growable());
    EXPECT_EQ(block->buffer().size_bytes, 150u);
  }
  provide("cpu", cpu);
  StateBlock grows = memory_.allocate_growable(100, MemoryKind::kCpu, 0).value();
  ASSERT_TRUE(grows.is_growable());
  EXPECT_EQ(cpu.used_bytes(), 100u);
  EXPECT_TRUE(grows.grow(1000).ok());
  EXPECT_EQ(grows.grow(1001).code(), Code::kOutOfRange);
  EXPECT_EQ(grows.buffer().size_bytes, 1000u);
  const StateBlock large = memory_.allocate_growable(2000, MemoryKind::kCpu, 0).value();
  EXPECT_TRUE(large.is_growable()) << "more than is reserved otherwise";
  cpu.set_limit(cpu.used_bytes() + 110);
  const StateBlock tight = memory_.allocate_growable(105, MemoryKind::kCpu, 0).value();
  EXPECT_EQ(memory_.allocate_growable(105, MemoryKind::kCpu, 0).status().code(), Code::kResourceExhausted);
  StateMemory none(host_, 0);
  ASSERT_TRUE(none.open().ok());
  cpu.set_limit(0);
  {
    const StateBlock block = none.allocate_growable(10, MemoryKind::kCpu, 0).value();
    EXPECT_FALSE(block.is_growable()) << "none is to grow where it is";
  }
  none.close();
}

TEST_F(StateMemoryTest, ALimitIsAnError) {
  HostMemoryFake cpu(MemoryKind::kCpu, 100);
  test::FakeDeviceMemory gpu(1, 50);
  provide("cpu", cpu);
  provide("gpu", gpu);
  ASSERT_TRUE(memory_.open().ok());
  EXPECT_EQ(memory_.allocate(101, MemoryKind::kCpu, 0).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(take(60, MemoryKind::kGpu).buffer().kind, MemoryKind::kCpu) << "another kind is better than none";
  EXPECT_EQ(memory_.allocate(101, MemoryKind::kGpu, 0).status().code(), Code::kResourceExhausted);
}

TEST_F(StateMemoryTest, BytesAreCopiedBetweenKinds) {
  test::FakeDeviceMemory gpu;
  provide("gpu", gpu);
  ASSERT_TRUE(memory_.open().ok());
  const StateBlock from = take(4), device = take(4, MemoryKind::kGpu, 1), other = take(6, MemoryKind::kGpu),
                   to = take(4);
  std::memcpy(from.buffer().data, "abcd", 4);
  EXPECT_TRUE(StateMemory::copy(device, from, 4).ok());
  EXPECT_TRUE(StateMemory::copy(other, device, 3).ok());
  EXPECT_TRUE(StateMemory::copy(to, other, 3).ok());
  EXPECT_EQ(std::memcmp(to.buffer().data, "abc", 3), 0);
  EXPECT_FALSE(StateMemory::copy(to, other, 5).ok()) << "there is no room";
}

}  // namespace
}  // namespace atl::schedulers
