#include "backends/onnxruntime/scratch.h"

#include <gtest/gtest.h>

#include <cstring>

#include "atoll/testing/followed_fake.h"

namespace atl::ort {
namespace {

/// Gives heap memory up to a limit and knows what is out.
class LimitedMemory : public Memory {
 public:
  virtual ~LimitedMemory() = default;
  explicit LimitedMemory(MemoryKind kind = MemoryKind::kCpu) : kind_(kind) {}
  MemoryKind kind() const noexcept override { return kind_; }
  Result<Buffer> allocate(uint64_t size_bytes, int64_t) noexcept override {
    if (size_bytes > 1000) return Status(Code::kResourceExhausted, "limit");
    void* data = ::operator new(size_bytes, std::align_val_t(64));
    used_ += size_bytes;
    return Buffer{data, size_bytes};
  }
  void free(const Buffer& buffer) noexcept override {
    used_ -= buffer.size_bytes;
    ::operator delete(buffer.data, std::align_val_t(64));
  }
  uint64_t used_bytes() const noexcept override { return used_; }
  uint64_t limit_bytes() const noexcept override { return 1000; }

 private:
  const MemoryKind kind_;
  uint64_t used_ = 0;
};

TEST(ScratchTest, GrowsAndIsReused) {
  Scratch scratch(nullptr, 1 << 20);
  std::byte* small = scratch.reserve(100).value();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(small) % Scratch::kAlignment, 0u);
  EXPECT_EQ(scratch.reserve(50).value(), small);
  std::byte* large = scratch.reserve(5000).value();
  std::memset(large, 1, 5000);
  scratch.done();
  EXPECT_EQ(scratch.reserve(5000).value(), large);
}

class ScratchFromService : public ::testing::Test {
 protected:
  ScratchFromService() { EXPECT_TRUE(source_.open().ok()); }
  ~ScratchFromService() override { source_.close(); }
  void put(Memory& memory) {
    host_.registry().publish<Memory>("host", memory);
    atl::test::publish_service_changed(host_, Memory::kInterfaceId, "host");
  }
  void take_away() {
    host_.registry().withdraw(std::string(Memory::kInterfaceId), "host");
    atl::test::publish_service_changed(host_, Memory::kInterfaceId, "host");
  }
  size_t holders() { return host_.registry().holders(Memory::kInterfaceId); }

  atl::test::FakeHost host_;
  ScratchSource source_{host_};
  LimitedMemory memory_;
  LimitedMemory next_;
};

TEST_F(ScratchFromService, ALargeBlockIsGivenBack) {
  put(memory_);
  {
    Scratch scratch(&source_, 100);
    ASSERT_TRUE(scratch.reserve(100).ok());
    scratch.done();
    EXPECT_EQ(memory_.used_bytes(), 100u);
    ASSERT_TRUE(scratch.reserve(101).ok());
    EXPECT_EQ(memory_.used_bytes(), 101u);
    scratch.done();
    EXPECT_EQ(memory_.used_bytes(), 0u);
    ASSERT_TRUE(scratch.reserve(1).ok());
  }
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(ScratchFromService, ARefusedBlockIsAnError) {
  put(memory_);
  Scratch limited(&source_, 100);
  EXPECT_EQ(limited.reserve(1001).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(limited.reserve(1000).ok());
}

TEST_F(ScratchFromService, AServiceThatGoesGetsBackWhatIsIdleAtOnce) {
  Scratch scratch(&source_, 100);
  ASSERT_TRUE(scratch.reserve(10).ok()) << "from the heap";
  scratch.done();
  put(memory_);
  ASSERT_TRUE(scratch.reserve(5).ok());
  EXPECT_EQ(memory_.used_bytes(), 5u) << "the block of the heap would do, but is not the service's";
  ASSERT_TRUE(scratch.reserve(20).ok());
  EXPECT_EQ(memory_.used_bytes(), 20u);
  scratch.done();
  put(next_);
  EXPECT_EQ(memory_.used_bytes(), 0u);
  ASSERT_TRUE(scratch.reserve(30).ok());
  EXPECT_EQ(next_.used_bytes(), 30u);
  scratch.done();
  take_away();
  EXPECT_EQ(next_.used_bytes(), 0u);
  EXPECT_EQ(holders(), 0u);
  ASSERT_TRUE(scratch.reserve(40).ok()) << "from the heap";
}

TEST_F(ScratchFromService, AServiceThatGoesGetsBackWhatIsInUseAfterTheBatch) {
  put(memory_);
  Scratch scratch(&source_, 100);
  std::byte* block = scratch.reserve(20).value();
  put(next_);
  std::memset(block, 1, 20);
  EXPECT_EQ(memory_.used_bytes(), 20u);
  EXPECT_EQ(holders(), 2u);
  scratch.done();
  EXPECT_EQ(memory_.used_bytes(), 0u);
  EXPECT_EQ(holders(), 1u);
}

TEST_F(ScratchFromService, MemoryOfAnotherKindIsNotTaken) {
  class Pinned final : public LimitedMemory {
    MemoryKind kind() const noexcept override { return MemoryKind::kCpuPinned; }
  } pinned;
  put(pinned);
  Scratch scratch(&source_, 100);
  ASSERT_TRUE(scratch.reserve(10).ok());
  EXPECT_EQ(pinned.used_bytes(), 0u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The sanitizers' allocators end the process instead of returning null.
TEST(ScratchTest, AHeapWithoutRoomIsAnError) {
  Scratch heap(nullptr, 100);
  EXPECT_EQ(heap.reserve(uint64_t{1} << 62).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(heap.reserve(10).ok());
}
#endif

TEST(ScratchOfAKindTest, APoolOfPinnedMemoryThatIsFullIsNoFailure) {
  LimitedMemory pinned(MemoryKind::kCpuPinned);
  atl::test::FakeHost host("onnxruntime");
  host.registry().publish<Memory>("pinned", pinned);
  ScratchSource source(host, MemoryKind::kCpuPinned);
  ASSERT_TRUE(source.open().ok());
  Scratch scratch(&source, 1 << 20);
  ASSERT_TRUE(scratch.reserve(500).ok());
  EXPECT_EQ(pinned.used_bytes(), 500u);
  auto large = scratch.reserve(2000);
  ASSERT_TRUE(large.ok());
  std::memset(*large, 1, 2000);
  EXPECT_EQ(pinned.used_bytes(), 0u);
  scratch.done();
  ASSERT_TRUE(scratch.reserve(500).ok());
  EXPECT_EQ(pinned.used_bytes(), 500u) << "the pool again where it is large enough";
}

TEST(ScratchOfAKindTest, MemoryOfGpusIsNeverReplaced) {
  atl::test::FakeHost host("onnxruntime");
  ScratchSource source(host, MemoryKind::kGpu);
  ASSERT_TRUE(source.open().ok());
  Scratch scratch(&source, 1 << 20);
  EXPECT_EQ(scratch.reserve(500).status().text(), "no plugin provides GPU memory");
  LimitedMemory gpu(MemoryKind::kGpu);
  host.registry().publish<Memory>("gpu", gpu);
  atl::test::publish_service_changed(host, Memory::kInterfaceId, "gpu");
  ASSERT_TRUE(scratch.reserve(500).ok());
  EXPECT_EQ(scratch.reserve(2000).status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace atl::ort
