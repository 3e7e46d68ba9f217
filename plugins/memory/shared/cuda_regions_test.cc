#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/shared_memory_object.h"
#include "memory/shared/regions.h"
#include "memory/shared/shared_memory_plugin.h"

namespace atl::memory {
namespace {

using test::FakeDeviceMemory;
using test::TestObject;

/// A client's allocation on a device.
class TestAllocation {
 public:
  explicit TestAllocation(uint64_t size_bytes) {
    static int count = 0;
    name_ = cat(FakeDeviceMemory::kHandlePrefix, "regions-", getpid(), "-", ++count);
    const int fd = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(size_bytes)), 0);
    close(fd);
    handle_ = FakeDeviceMemory::handle_of(name_);
  }
  TestAllocation(const TestAllocation&) = delete;
  TestAllocation& operator=(const TestAllocation&) = delete;
  ~TestAllocation() { shm_unlink(name_.c_str()); }
  std::span<const std::byte> handle() const { return handle_; }

 private:
  std::string name_;
  std::array<std::byte, FakeDeviceMemory::kHandleBytes> handle_;
};

void expect_failure(const Status& status, Code code, std::string_view text) {
  EXPECT_EQ(status.code(), code);
  EXPECT_EQ(status.message(), text);
}

RegionSettings client_memory_allowed() {
  RegionSettings settings;
  settings.allow_client_shm = true;
  settings.max_regions = 2;
  return settings;
}

class CudaRegionsTest : public ::testing::Test {
 protected:
  CudaRegionsTest() {
    EXPECT_TRUE(BusErrorGuard::install().ok());
    host_.registry().publish<Memory>("gpu", gpu_, 0, Memory::kDevicesMinor);
    EXPECT_TRUE(devices_.open().ok());
  }
  ~CudaRegionsTest() override {
    regions_.reset();
    devices_.close();
    EXPECT_EQ(gpu_.live(), 0u);
    BusErrorGuard::uninstall();
  }
  Status add(const std::string& name, uint64_t byte_size, int64_t device_id = 0) {
    return regions_->register_cuda(name, object_.handle(), device_id, byte_size);
  }

  TestAllocation object_{100};
  test::FakeHost host_{"shared"};
  FakeDeviceMemory gpu_{2, 1000};
  DeviceMemory devices_{host_};
  test::FakeClock clock_;
  std::optional<Regions> regions_{std::in_place, client_memory_allowed(), clock_, &devices_};
};

TEST_F(CudaRegionsTest, PartsAreWhereTheProviderSays) {
  ASSERT_TRUE(add("c", 50, 1).ok());
  auto status = regions_->status(RegionKind::kCuda, "c");
  ASSERT_TRUE(status.ok());
  ASSERT_EQ(status->size(), 1u);
  EXPECT_EQ(status->front().device_id, 1);
  EXPECT_EQ(status->front().byte_size, 50u);
  auto lease = regions_->acquire("c", 10, 3);
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(lease->buffer.kind, MemoryKind::kGpu);
  EXPECT_EQ(lease->buffer.device_id, 1);
  EXPECT_EQ(lease->buffer.size_bytes, 3u);
  EXPECT_TRUE(regions_->check(lease.value()).ok());
  std::string bytes = "abc";
  Buffer host;
  host.data = bytes.data();
  host.size_bytes = bytes.size();
  ASSERT_TRUE(gpu_.copy(lease->buffer, host).ok());
  auto whole = regions_->acquire("c", 0, 50);
  EXPECT_EQ(gpu_.read(whole->buffer).substr(10, 3), "abc");
  regions_->release(lease.value());
  regions_->release(whole.value());
  expect_failure(regions_->acquire("c", 50, 1).status(), Code::kInvalidArgument,
                 "Invalid offset for shared memory region: 'c'");
  expect_failure(regions_->acquire("c", 49, 2).status(), Code::kInvalidArgument,
                 "Invalid offset + byte size for shared memory region: 'c'");
}

TEST_F(CudaRegionsTest, AnotherOwnersRegionIsUnknown) {
  ASSERT_TRUE(regions_->register_cuda_for("blue", "c", object_.handle(), 0, 50).ok());
  for (const char* other : {"red", ""}) {
    EXPECT_EQ(regions_->acquire_for(other, "c", 0, 1).status().code(), Code::kNotFound);
    EXPECT_EQ(regions_->status_for(other, RegionKind::kCuda, "c").status().code(), Code::kNotFound);
    EXPECT_TRUE(regions_->status_for(other, RegionKind::kCuda, "")->empty());
    EXPECT_TRUE(regions_->unregister_for(other, RegionKind::kCuda, "").ok());
  }
  auto lease = regions_->acquire_for("blue", "c", 0, 1);
  ASSERT_TRUE(lease.ok());
  regions_->release(*lease);
  EXPECT_TRUE(regions_->unregister_for("blue", RegionKind::kCuda, "c").ok());
}

TEST_F(CudaRegionsTest, RefusalsHaveTheProtocolsTexts) {
  const char* bad = "failed to register shared memory region: invalid args";
  const std::vector<std::byte> nothing(64);
  expect_failure(regions_->register_cuda("c", nothing, 0, 1), Code::kInvalidArgument, bad);
  expect_failure(regions_->register_cuda("c", object_.handle().first(63), 0, 1), Code::kInvalidArgument, bad);
  for (int64_t device : {int64_t{-1}, int64_t{2}, std::numeric_limits<int64_t>::max()}) {
    expect_failure(add("c", 1, device), Code::kInvalidArgument, bad);
  }
  for (uint64_t size : {uint64_t{0}, uint64_t{101}, uint64_t{1} << 43}) {
    expect_failure(add("c", size), Code::kInvalidArgument,
                   "failed to register shared memory region 'c': invalid args");
  }
  ASSERT_TRUE(add("c", 100).ok());
  expect_failure(add("c", 1), Code::kAlreadyExists, "shared memory region 'c' already in manager");
  ASSERT_TRUE(add("d", 100).ok());
  expect_failure(add("e", 100), Code::kResourceExhausted,
                 "cannot register shared memory region 'e': the limit of 2 regions is reached");
  EXPECT_EQ(gpu_.live(), 2u);
}

TEST_F(CudaRegionsTest, ADeviceWithoutRoomSaysSo) {
  const Buffer held = gpu_.allocate(950, 0).value();
  expect_failure(
      add("c", 51), Code::kResourceExhausted,
      "failed to register CUDA shared memory region 'c': GPU 0: 51 bytes asked for, 950 bytes of the "
      "limit of 1000 bytes are in use");
  EXPECT_TRUE(add("c", 50).ok());
  gpu_.free(held);
}

TEST_F(CudaRegionsTest, KindsAreUnregisteredApart) {
  test::TestObject object(test::page());
  ASSERT_TRUE(regions_->register_system("s", object.key(), 0, 8).ok());
  ASSERT_TRUE(add("c", 8).ok());
  ASSERT_TRUE(regions_->unregister(RegionKind::kCuda, "s").ok());
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "c").ok());
  ASSERT_TRUE(regions_->unregister(RegionKind::kSystem, "").ok());
  EXPECT_EQ(object.mappings(), 0);
  expect_failure(regions_->status(RegionKind::kSystem, "c").status(), Code::kNotFound,
                 "The region named 'c' is registered as CUDA shared memory, not system shared memory");
  ASSERT_TRUE(regions_->unregister(RegionKind::kCuda, "").ok());
  EXPECT_EQ(gpu_.live(), 0u);
}

TEST_F(CudaRegionsTest, WhatARequestUsesStaysOpen) {
  ASSERT_TRUE(add("c", 8).ok());
  auto lease = regions_->acquire("c", 0, 8);
  ASSERT_TRUE(regions_->unregister(RegionKind::kCuda, "c").ok());
  EXPECT_EQ(gpu_.read(lease->buffer), std::string(8, '\0'));
  regions_->release(lease.value());
  EXPECT_EQ(gpu_.live(), 0u);
}

TEST_F(CudaRegionsTest, ADeviceThatIsLostIsSaidSo) {
  host_.registry().withdraw(std::string(Memory::kInterfaceId), "gpu");
  test::publish_service_changed(host_, Memory::kInterfaceId, "gpu");
  host_.registry().publish<Memory>("gpu", gpu_, 0, Memory::kUsageMinor);
  test::publish_service_changed(host_, Memory::kInterfaceId, "gpu");
  ASSERT_TRUE(add("c", 8, 1).ok());
  ASSERT_TRUE(add("d", 8, 0).ok());
  auto lease = regions_->acquire("c", 0, 8);
  ASSERT_TRUE(regions_->check(*lease).ok());
  gpu_.lose(1);
  const char* text = "shared memory region 'c': GPU 1 is lost: it fell off the bus";
  expect_failure(regions_->check(*lease), Code::kUnavailable, text);
  expect_failure(regions_->acquire("c", 0, 8).status(), Code::kUnavailable, text);
  regions_->release(*lease);
  auto other = regions_->acquire("d", 0, 8);
  ASSERT_TRUE(other.ok()) << "another device's";
  EXPECT_TRUE(regions_->check(*other).ok());
  regions_->release(*other);
  ASSERT_TRUE(regions_->unregister(RegionKind::kCuda, "c").ok());
  EXPECT_EQ(regions_->status(RegionKind::kCuda, "c").status().code(), Code::kNotFound);
  EXPECT_EQ(gpu_.live(), 1u);
  expect_failure(add("e", 8, 1), Code::kUnavailable,
                 "failed to register CUDA shared memory region 'e': GPU 1 is lost: it fell off the bus");
  gpu_.lose(0);
  expect_failure(add("e", 8, 1), Code::kUnavailable,
                 "failed to register CUDA shared memory region 'e': GPU 1 is lost: it fell off the bus");
  expect_failure(add("e", 8, 2), Code::kInvalidArgument,
                 "failed to register CUDA shared memory region: 'e', GPUs not supported");
}

TEST_F(CudaRegionsTest, AProviderThatGivesNoReasonsIsNotAskedForOne) {
  ASSERT_TRUE(add("c", 8).ok());
  gpu_.lose(0);
  expect_failure(regions_->acquire("c", 0, 8).status(), Code::kUnavailable,
                 "shared memory region 'c': GPU 0 is lost");
}

TEST(CudaRegionsPluginTest, RegionsGoWithTheProviderOfTheirMemory) {
  TestAllocation object(100);
  test::FakeHost host("shared");
  host.options()
      .set_bool("allow_client_shm", true)
      .set_int("max_regions", 4)
      .set_bytes("max_bytes", 0)
      .set_strings("allowed_owners", {})
      .set_duration_ns("idle_timeout", 0);
  FakeDeviceMemory gpu;
  SharedMemoryPlugin plugin(host);
  ASSERT_TRUE(plugin.init().ok());
  ASSERT_TRUE(plugin.start().ok());
  SharedMemory& memory = plugin.regions();
  expect_failure(memory.register_cuda("c", object.handle(), 0, 8), Code::kInvalidArgument,
                 "failed to register CUDA shared memory region: 'c', GPUs not supported");
  host.registry().publish<Memory>("gpu", gpu, 0, Memory::kDevicesMinor);
  test::publish_service_changed(host, Memory::kInterfaceId, "gpu");
  ASSERT_TRUE(memory.register_cuda("used", object.handle(), 0, 8).ok());
  ASSERT_TRUE(memory.register_cuda("unused", object.handle(), 0, 8).ok());
  auto lease = memory.acquire("used", 0, 8);
  host.registry().withdraw(std::string(Memory::kInterfaceId), "gpu");
  test::publish_service_changed(host, Memory::kInterfaceId, "gpu");
  EXPECT_EQ(gpu.live(), 1u) << "a request uses it";
  EXPECT_EQ(host.registry().holders(), 1u);
  EXPECT_EQ(gpu.read(lease->buffer), std::string(8, '\0'));
  EXPECT_EQ(memory.acquire("unused", 0, 8).status().code(), Code::kNotFound);
  memory.release(lease.value());
  EXPECT_EQ(gpu.live(), 0u);
  EXPECT_EQ(host.registry().holders(), 0u);
  EXPECT_TRUE(
      host.log().contains("CUDA shared memory region 'used' is unregistered: the plugin that provides memory "
                          "of GPUs goes or is replaced"));
  plugin.stop();
}

}  // namespace
}  // namespace atl::memory
