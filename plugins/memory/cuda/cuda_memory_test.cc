#include "memory/cuda/cuda_memory.h"

#include <array>
#include <cstring>

#include "atoll/testing/conformance/memory.h"
#include "memory/cuda/testing/gpus.h"
#include "memory/cuda/testing/shared_allocation.h"

namespace atl::memory {
namespace {

using test::FakeDeviceEvent;
using test::Gpus;
using test::host_buffer;
using test::SharedAllocation;

std::string read(CudaMemory& memory, const Buffer& from) {
  std::string bytes(from.size_bytes, '?');
  EXPECT_TRUE(memory.copy(host_buffer(bytes), from).ok());
  return bytes;
}

TEST(CudaMemory, EachDeviceHasItsLimit) {
  Gpus gpus({.devices = 2});
  CudaMemory memory(gpus.devices(), {.limit = {.all = 1000, .some = {{1, 2000}}}, .kept = {}});
  EXPECT_EQ(memory.limit_bytes(), 3000u);
  auto first = memory.allocate(900, 0), second = memory.allocate(1900, 1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(memory.used_bytes(), 2800u);
  EXPECT_EQ(memory.allocate(101, 0).status().message(),
            "GPU 0: 101 bytes asked for, 900 bytes of the limit of 1000 bytes are in use");
  auto exact = memory.allocate(100, 1);
  ASSERT_TRUE(exact.ok());
  for (const Buffer& one : {*first, *second, *exact}) memory.free(one);
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(CudaMemory, LookingAtDevicesUsesNone) {
  Gpus gpus({.devices = 2});
  CudaMemory memory(gpus.devices(), {});
  EXPECT_EQ(memory.devices(), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(gpus.driver().calls("cuDevicePrimaryCtxRetain"), 0u);
  auto buffer = memory.allocate(1, 1);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(gpus.driver().calls("cuDevicePrimaryCtxRetain"), 1u);
  memory.free(*buffer);
}

TEST(CudaMemory, FreedMemoryIsKeptForLater) {
  Gpus gpus;
  CudaMemory memory(gpus.devices(), {.limit = {}, .kept = {.all = 64 << 20}});
  auto buffer = memory.allocate(1 << 20, 0);
  ASSERT_TRUE(buffer.ok());
  const uint64_t reserved = gpus.driver().used_memory(0);
  EXPECT_GE(reserved, 1u << 20);
  memory.free(*buffer);
  auto again = memory.allocate(1 << 20, 0);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(gpus.driver().used_memory(0), reserved);
  memory.free(*again);
}

TEST(CudaMemory, MemoryThatIsKeptIsGivenUpBeforeItFails) {
  Gpus gpus;
  CudaMemory memory(gpus.devices(), {.limit = {}, .kept = {.all = 1 << 30}});
  auto buffer = memory.allocate(8 << 20, 0);
  ASSERT_TRUE(buffer.ok());
  memory.free(*buffer);
  gpus.driver().fail_call("cuMemAllocFromPoolAsync", 1, CudaResult::OUT_OF_MEMORY);
  auto again = memory.allocate(16 << 20, 0);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(gpus.driver().calls("cuMemPoolTrimTo"), 1u);
  memory.free(*again);
}

TEST(CudaMemory, ADeviceThatIsFullSaysSo) {
  Gpus gpus({.memory = "64MiB"});
  CudaMemory memory(gpus.devices(), {});
  const auto refused = memory.allocate(128 << 20, 0);
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.status().message(), "GPU 0: cuMemAllocFromPoolAsync gave CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_TRUE(gpus.devices().lost(0).ok());
}

TEST(CudaMemory, SaysHowMuchOfADeviceIsFree) {
  Gpus gpus({.devices = 2, .memory = "64MiB,128MiB"});
  CudaMemory memory(gpus.devices(), {});
  auto buffer = memory.allocate(8 << 20, 1);
  ASSERT_TRUE(buffer.ok());
  for (const int32_t device : {0, 1}) {
    auto usage = memory.device_usage(device);
    ASSERT_TRUE(usage.ok()) << usage.status().message();
    EXPECT_EQ(usage->total_bytes, device == 0 ? 64u << 20 : 128u << 20);
    EXPECT_EQ(usage->total_bytes - usage->free_bytes, gpus.driver().used_memory(device));
  }
  EXPECT_GE(gpus.driver().used_memory(1), 8u << 20);
  memory.free(*buffer);
  EXPECT_EQ(memory.device_usage(2).status().message(), "there is no GPU 2 that is used");
  EXPECT_EQ(memory.device_usage(-1).status().message(), "there is no GPU -1");
}

TEST(CudaMemory, TheUseOfALostDeviceIsNotKnown) {
  Gpus gpus;
  CudaMemory memory(gpus.devices(), {});
  gpus.do_not_check();  // what a lost device has is not given back
  gpus.driver().fail_call("cuMemGetInfo", 1, CudaResult::ILLEGAL_ADDRESS);
  for (int i = 0; i < 2; ++i) {
    auto usage = memory.device_usage(0);
    EXPECT_EQ(usage.status().code(), Code::kUnavailable);
    EXPECT_EQ(usage.status().message(), "GPU 0 is lost: cuMemGetInfo gave CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  }
  EXPECT_EQ(gpus.driver().calls("cuMemGetInfo"), 1u);
}

TEST(CudaMemory, CopiesBetweenDevices) {
  Gpus gpus({.devices = 2});
  CudaMemory memory(gpus.devices(), {});
  auto first = memory.allocate(4, 0), second = memory.allocate(4, 1);
  ASSERT_TRUE(first.ok() && second.ok());
  std::string bytes = "abcd";
  ASSERT_TRUE(memory.copy(*first, host_buffer(bytes)).ok());
  ASSERT_TRUE(memory.copy(*second, *first).ok());
  EXPECT_EQ(read(memory, *second), "abcd");
  EXPECT_EQ(gpus.driver().calls("cuMemcpyPeerAsync"), 1u);
  memory.free(*first);
  memory.free(*second);
}

TEST(CudaMemory, CopiesOnlyItsOwnMemory) {
  Gpus gpus;
  CudaMemory memory(gpus.devices(), {});
  std::string bytes = "abcd";
  EXPECT_EQ(memory.copy(host_buffer(bytes), host_buffer(bytes)).code(), Code::kInvalidArgument);
  Buffer elsewhere = host_buffer(bytes);
  elsewhere.kind = MemoryKind::kGpu;
  elsewhere.device_id = 9;
  EXPECT_EQ(memory.copy(elsewhere, host_buffer(bytes)).message(), "there is no GPU 9 that is used");
}

/// An event of the driver, as a backend hands it on.
class NativeEvent final : public DeviceEvent {
 public:
  NativeEvent(CudaEvent event, Status outcome) : event_(event), outcome_(std::move(outcome)) {}
  bool is_reached() noexcept override { return waits_ != 0; }
  Status wait() noexcept override {
    ++waits_;
    return outcome_.clone();
  }
  void* native_handle() noexcept override { return event_; }
  uint32_t waits() const noexcept { return waits_; }

 private:
  CudaEvent event_;
  Status outcome_;
  uint32_t waits_ = 0;
};

TEST(CudaMemory, TheDeviceWaitsForAnEventOfItsOwn) {
  Gpus gpus;
  Devices& devices = gpus.devices();
  CudaMemory memory(devices, {});
  auto buffer = memory.allocate(4, 0);
  ASSERT_TRUE(buffer.ok());
  const CudaStream stream = devices.acquire_stream(0).value();
  const CudaEvent event = devices.acquire_event(0).value();
  ASSERT_TRUE(
      devices.call<&CudaDriver::cuMemsetD8Async>(0, to_address(buffer->data), 'x', size_t{4}, stream).ok());
  ASSERT_TRUE(devices.call<&CudaDriver::cuEventRecord>(0, event, stream).ok());
  NativeEvent filled(event, Status()), failed(event, internal_error("the kernel failed"));
  Buffer from = *buffer;
  from.ready_after = &filled;
  EXPECT_EQ(read(memory, from), "xxxx");
  EXPECT_EQ(gpus.driver().calls("cuStreamWaitEvent"), 1u);
  from.ready_after = &failed;
  std::string bytes(4, '?');
  EXPECT_EQ(memory.copy(host_buffer(bytes), from).message(), "the kernel failed");
  devices.release_stream(0, stream);
  devices.release_event(0, event);
  memory.free(*buffer);
}

TEST(CudaMemory, AnEventOfABufferIsReachedWhenWhatIsBeforeItIsDone) {
  Gpus gpus;
  Devices& devices = gpus.devices();
  CudaMemory memory(devices, {});
  const CudaStream stream = devices.acquire_stream(0).value();
  DeviceEvent* event = memory.make_event(0).value();
  gpus.driver().set_stepped(true);
  ASSERT_TRUE(
      devices.call<&CudaDriver::cuEventRecord>(0, static_cast<CudaEvent>(event->native_handle()), stream)
          .ok());
  EXPECT_FALSE(event->is_reached());
  gpus.driver().set_stepped(false);
  EXPECT_TRUE(event->wait().ok());
  EXPECT_TRUE(event->is_reached());
  memory.free_event(event);
  devices.release_stream(0, stream);
  EXPECT_EQ(memory.make_event(1).status().code(), Code::kInvalidArgument);
}

TEST(CudaMemory, AHandleIsMappedOnce) {
  Gpus gpus;
  CudaMemory memory(gpus.devices(), {});
  const SharedAllocation shared(1000);
  auto first = memory.open_handle(shared.handle(), 0, 1000),
       second = memory.open_handle(shared.handle(), 0, 10);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status().message();
  EXPECT_EQ(gpus.driver().calls("cuIpcOpenMemHandle"), 1u);
  EXPECT_EQ(memory.used_bytes(), 0u) << "it is the client's";
  memory.close_handle(*first);
  EXPECT_EQ(gpus.driver().calls("cuIpcCloseMemHandle"), 0u);
  memory.close_handle(*second);
  EXPECT_EQ(gpus.driver().calls("cuIpcCloseMemHandle"), 1u);
}

TEST(CudaMemory, AnAllocationThatIsTooSmallIsUnmapped) {
  Gpus gpus;
  CudaMemory memory(gpus.devices(), {});
  const SharedAllocation shared(1000);
  const auto refused = memory.open_handle(shared.handle(), 0, 1001);
  EXPECT_EQ(refused.status().code(), Code::kOutOfRange);
  EXPECT_EQ(refused.status().message(), "the allocation has 1000 bytes, expected 1001");
  EXPECT_EQ(gpus.driver().calls("cuIpcCloseMemHandle"), 1u);
}

TEST(CudaMemory, WhatFailsWhileAHandleIsOpenedIsUndone) {
  Gpus gpus;
  CudaMemory memory(gpus.devices(), {});
  const SharedAllocation shared(1000);
  gpus.driver().fail_call("cuMemGetAddressRange", 1, CudaResult::NOT_FOUND);
  EXPECT_EQ(memory.open_handle(shared.handle(), 0, 1).status().code(), Code::kInternal);
  EXPECT_EQ(gpus.driver().calls("cuIpcCloseMemHandle"), 1u);
  gpus.driver().fail_call("cuIpcOpenMemHandle", 1, CudaResult::MAP_FAILED_);
  EXPECT_EQ(memory.open_handle(shared.handle(), 0, 1).status().code(), Code::kResourceExhausted);
  auto opened = memory.open_handle(shared.handle(), 0, 1);
  ASSERT_TRUE(opened.ok());
  memory.close_handle(*opened);
}

TEST(CudaMemory, ALostDeviceIsLeftAloneAndTheOtherServes) {
  Gpus gpus({.devices = 2});
  CudaMemory memory(gpus.devices(), {});
  auto lost = memory.allocate(4, 0), other = memory.allocate(4, 1);
  auto growing = memory.allocate_growable(4, 1 << 20, 0);
  ASSERT_TRUE(lost.ok() && other.ok() && growing.ok());
  DeviceEvent* event = memory.make_event(0).value();
  gpus.lose(0);
  const uint64_t calls = gpus.driver().calls("*");
  EXPECT_EQ(memory.devices(), std::vector<int32_t>{1});
  EXPECT_EQ(memory.allocate(1, 0).status().code(), Code::kUnavailable);
  EXPECT_EQ(memory.grow(*growing, 1 << 20).code(), Code::kOk);
  std::string bytes = "abcd";
  EXPECT_EQ(memory.copy(host_buffer(bytes), *lost).code(), Code::kUnavailable);
  EXPECT_TRUE(event->is_reached());
  EXPECT_EQ(event->wait().code(), Code::kUnavailable) << "the bytes are lost";
  memory.free_event(event);
  memory.free(*lost);
  memory.free_growable(*growing);
  EXPECT_EQ(gpus.driver().calls("*"), calls);
  EXPECT_EQ(memory.used_bytes(), 4u);
  EXPECT_TRUE(memory.copy(*other, host_buffer(bytes)).ok());
  EXPECT_EQ(read(memory, *other), "abcd");
  memory.free(*other);
}

}  // namespace
}  // namespace atl::memory

namespace atl::test {
namespace {

struct MemoryOnGpu {
  explicit MemoryOnGpu(uint64_t limit_bytes)
      : memory(gpus.devices(),
               {.limit = {.all = limit_bytes, .some = {}}, .kept = {.all = 64 << 20, .some = {}}}) {}
  Gpus gpus;
  memory::CudaMemory memory;
};

MemoryProvider cuda_memory() {
  MemoryProvider provider;
  provider.name = "cuda";
  provider.make = [](uint64_t limit_bytes) {
    auto made = std::make_shared<MemoryOnGpu>(limit_bytes);
    return std::shared_ptr<Memory>(made, &made->memory);
  };
  provider.share = [](uint64_t size_bytes) {
    auto owner = std::make_shared<SharedAllocation>(size_bytes);
    return MemoryProvider::Shared{owner->handle(), owner};
  };
  provider.grows = provider.has_events = true;
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Cuda, MemoryConformance, ::testing::Values(cuda_memory()));

}  // namespace
}  // namespace atl::test
