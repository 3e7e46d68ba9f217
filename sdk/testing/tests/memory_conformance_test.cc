/// The fake of a GPU's memory keeps the contract.
#include "atoll/testing/conformance/memory.h"

namespace atl::test {
namespace {

MemoryProvider::Shared shared_object(uint64_t size_bytes) {
  static int count = 0;
  const std::string name = cat(FakeDeviceMemory::kHandlePrefix, "conformance-", getpid(), "-", ++count);
  const int fd = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  EXPECT_GE(fd, 0);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(size_bytes)), 0);
  close(fd);
  const auto handle = FakeDeviceMemory::handle_of(name);
  MemoryProvider::Shared shared;
  shared.handle.assign(handle.begin(), handle.end());
  shared.owner = std::shared_ptr<void>(nullptr, [name](void*) { shm_unlink(name.c_str()); });
  return shared;
}

MemoryProvider fake_device() {
  MemoryProvider provider;
  provider.name = "fake device";
  provider.make = [](uint64_t limit_bytes) { return std::make_shared<FakeDeviceMemory>(2, limit_bytes); };
  provider.device_id = 1;
  provider.share = shared_object;
  provider.grows = true;
  return provider;
}

INSTANTIATE_TEST_SUITE_P(FakeDevice, MemoryConformance, ::testing::Values(fake_device()));

TEST(FakeDeviceMemoryDeathTest, TheCpuCanNotFollowItsAddresses) {
  FakeDeviceMemory memory;
  const Buffer buffer = memory.make("bytes");
  EXPECT_DEATH(EXPECT_EQ(*static_cast<volatile char*>(buffer.data), 'b'), "");
  memory.free(buffer);
}

}  // namespace
}  // namespace atl::test
