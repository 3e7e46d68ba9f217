#include "scratch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace atl::ort {
namespace {

/// Gives heap memory up to a limit and knows what is out.
class LimitedMemory final : public Memory {
 public:
  virtual ~LimitedMemory() = default;
  MemoryKind kind() const noexcept override { return MemoryKind::kCpu; }
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

TEST(ScratchTest, ALargeBlockIsGivenBack) {
  LimitedMemory memory;
  {
    Scratch scratch(&memory, 100);
    ASSERT_TRUE(scratch.reserve(100).ok());
    scratch.done();
    EXPECT_EQ(memory.used_bytes(), 100u);
    ASSERT_TRUE(scratch.reserve(101).ok());
    EXPECT_EQ(memory.used_bytes(), 101u);
    scratch.done();
    EXPECT_EQ(memory.used_bytes(), 0u);
    ASSERT_TRUE(scratch.reserve(1).ok());
  }
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(ScratchTest, ARefusedBlockIsAnError) {
  LimitedMemory memory;
  Scratch limited(&memory, 100);
  EXPECT_EQ(limited.reserve(1001).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(limited.reserve(1000).ok());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The sanitizers' allocators end the process instead of returning null.
TEST(ScratchTest, AHeapWithoutRoomIsAnError) {
  Scratch heap(nullptr, 100);
  EXPECT_EQ(heap.reserve(uint64_t{1} << 62).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(heap.reserve(10).ok());
}
#endif

}  // namespace
}  // namespace atl::ort
