#include "frontends/common/call/output_blocks.h"

#include <malloc.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <mutex>

namespace atl::frontends {
namespace {

constexpr size_t kAlignment = 64;
/// Smaller ones are kept by the C library itself.
constexpr size_t kLeastKeptBytes = size_t{64} << 10;
constexpr size_t kMostKeptBytes = size_t{32} << 20;  ///< of all that are kept
constexpr size_t kLargestKeptBytes = kMostKeptBytes / 4;

/// The last one freed, whose memory is warmest, comes first. [any]
class KeptBlocks {
 public:
  ~KeptBlocks() {
    while (count_ != 0) std::free(blocks_[--count_].memory);
  }
  /// One that fits and is not much too large; null: there is none.
  void* take(size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    for (size_t i = count_; i-- > 0;) {
      if (blocks_[i].bytes < bytes || blocks_[i].bytes / 2 > bytes) continue;
      return remove(i);
    }
    return nullptr;
  }
  void give(void* memory, size_t bytes) noexcept {
    std::array<void*, kMostKept> old;
    size_t old_count = 0;
    {
      const std::lock_guard lock(mutex_);
      // Old ones make room: sizes that nobody asks for any more are not to stay for good.
      while (count_ == kMostKept || bytes_ + bytes > kMostKeptBytes) old[old_count++] = remove(0);
      blocks_[count_++] = {memory, bytes};
      bytes_ += bytes;
    }
    while (old_count != 0) std::free(old[--old_count]);
  }

 private:
  static constexpr size_t kMostKept = 64;
  struct Block {
    void* memory;
    size_t bytes;
  };

  void* remove(size_t i) noexcept {
    void* const memory = blocks_[i].memory;
    bytes_ -= blocks_[i].bytes;
    --count_;
    for (; i < count_; ++i) blocks_[i] = blocks_[i + 1];
    return memory;
  }

  std::mutex mutex_;
  std::array<Block, kMostKept> blocks_{};
  size_t count_ = 0;
  size_t bytes_ = 0;
};

KeptBlocks& kept() noexcept {
  static KeptBlocks blocks;
  return blocks;
}

}  // namespace

void* take_output_block(size_t bytes) noexcept {
  if (bytes >= kLeastKeptBytes && bytes <= kLargestKeptBytes) {
    if (void* memory = kept().take(bytes); memory != nullptr) return memory;
  }
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
}

void free_output_block(void* block) noexcept {
  const size_t bytes = block == nullptr ? 0 : malloc_usable_size(block);
  if (bytes < kLeastKeptBytes || bytes > kLargestKeptBytes) return std::free(block);
  kept().give(block, bytes);
}

}  // namespace atl::frontends
