/// Finding memory by its kind, and copying whatever there is.
#include "atoll/gpu/device_memory.h"

#include <gtest/gtest.h>

#include "atoll/testing/followed_fake.h"
#include "atoll/testing/gpu/fake_device_memory.h"

namespace atl::test {
namespace {

class HostMemory final : public Memory {
 public:
  virtual ~HostMemory() = default;
  MemoryKind kind() const noexcept override { return MemoryKind::kCpu; }
  Result<Buffer> allocate(uint64_t, int64_t) noexcept override { return internal_error("not here"); }
  void free(const Buffer&) noexcept override {}
  uint64_t used_bytes() const noexcept override { return 0; }
  uint64_t limit_bytes() const noexcept override { return 0; }
};

Buffer buffer_of(std::string& bytes) {
  Buffer buffer;
  buffer.data = bytes.data();
  buffer.size_bytes = bytes.size();
  return buffer;
}

TEST(MemoryOf, FindsByKindTheHighestRankThenTheFirstName) {
  FakeRegistry registry;
  EXPECT_EQ(memory_of(registry, MemoryKind::kGpu).status().message(), "no plugin provides GPU memory");
  HostMemory host;
  FakeDeviceMemory a, b, c;
  registry.publish<Memory>("host", host);
  EXPECT_EQ(memory_of(registry, MemoryKind::kGpu).status().code(), Code::kNotFound);
  EXPECT_EQ(memory_of(registry, MemoryKind::kCpu)->get(), &host);
  registry.publish<Memory>("a", a, 0, 0);
  registry.publish<Memory>("b", b, 0, 1);
  registry.publish<Memory>("c", c, 0, 1);
  EXPECT_EQ(memory_of(registry, MemoryKind::kGpu)->get(), &a);
  EXPECT_EQ(memory_of(registry, MemoryKind::kGpu, Memory::kDevicesMinor)->get(), &b);
  registry.publish<Memory>("c", c, 1, 1);
  EXPECT_EQ(memory_of(registry, MemoryKind::kGpu)->get(), &c);
  EXPECT_EQ(registry.holders(), 0u) << "what was only looked at is let go";
}

TEST(DeviceMemory, CopiesByTheProviderThatIsThere) {
  FakeHost host;
  FakeDeviceMemory gpu;
  DeviceMemory memory(host);
  ASSERT_TRUE(memory.open().ok());
  EXPECT_FALSE(memory.is_present());
  std::string one = "one", two = "---";
  EXPECT_TRUE(memory.copy(buffer_of(two), buffer_of(one)).ok());
  EXPECT_EQ(two, "one");
  const Buffer device = gpu.make("gpu", 1);
  EXPECT_EQ(memory.copy(buffer_of(two), device).message(),
            "a buffer is in memory of GPU 1, expected CPU memory: no plugin reaches memory of GPUs");
  host.registry().publish<Memory>("gpu", gpu, 0, 1);
  publish_service_changed(host, Memory::kInterfaceId, "gpu");
  EXPECT_TRUE(memory.is_present());
  EXPECT_TRUE(memory.copy(buffer_of(two), device).ok());
  EXPECT_EQ(two, "gpu");
  EXPECT_TRUE(memory.copy(device, buffer_of(one)).ok());
  EXPECT_EQ(gpu.read(device), "one");
  host.registry().withdraw(std::string(Memory::kInterfaceId), "gpu");
  publish_service_changed(host, Memory::kInterfaceId, "gpu");
  EXPECT_FALSE(memory.is_present());
  EXPECT_EQ(memory.copy(buffer_of(two), device).code(), Code::kInvalidArgument);
  memory.close();
  EXPECT_EQ(host.registry().holders(), 0u);
  gpu.free(device);
}

TEST(HostReady, WaitsForTheDevice) {
  std::string bytes = "abc";
  Buffer buffer = buffer_of(bytes);
  EXPECT_TRUE(is_host_ready(buffer));
  FakeDeviceEvent event;
  buffer.ready_after = &event;
  EXPECT_FALSE(is_host_ready(buffer));
  event.reach(internal_error("lost"));
  EXPECT_EQ(wait_until_ready(buffer).message(), "lost");
  buffer.ready_after = nullptr;
  EXPECT_TRUE(wait_until_ready(buffer).ok());
  buffer.kind = MemoryKind::kGpu;
  EXPECT_FALSE(is_host_ready(buffer));
}

}  // namespace
}  // namespace atl::test
