#include "schedulers/ensemble/block_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace atl::ensemble {
namespace {

/// 64, 80, 96, 112, 128, 160, ...: the smallest has 2^6 bytes, a fourth of which is the first step.
constexpr uint32_t kSmallestLog2 = 6;

}  // namespace

BlockPool::~BlockPool() {
  for (SizeClass& of_size : classes_) {
    while (of_size.free != nullptr) {
      Free* block = of_size.free;
      of_size.free = block->next;
      std::free(block);
    }
  }
}

uint64_t BlockPool::block_bytes_of(uint32_t size_class) noexcept {
  const uint64_t doubling = uint64_t{1} << (kSmallestLog2 + size_class / 4);
  return doubling + doubling / 4 * (size_class % 4);
}

uint32_t BlockPool::class_of(uint64_t size_bytes, uint64_t* block_bytes) noexcept {
  const uint64_t size = std::max<uint64_t>(size_bytes, 1U << kSmallestLog2);
  const auto log2 = static_cast<uint32_t>(std::bit_width(size) - 1);
  const uint64_t quarter = uint64_t{1} << (log2 - 2);
  const uint64_t quarters = (size - (uint64_t{1} << log2) + quarter - 1) / quarter;  // 0..4
  const auto found = static_cast<uint32_t>(4 * (log2 - kSmallestLog2) + quarters);
  if (found >= kClasses) {
    *block_bytes = size_bytes;
    return kClasses;
  }
  *block_bytes = block_bytes_of(found);
  return found;
}

void* BlockPool::take(uint64_t size_bytes) noexcept {
  uint64_t block_bytes = 0;
  const uint32_t size_class = class_of(size_bytes, &block_bytes);
  if (size_class < kClasses) {
    SizeClass& of_size = classes_[size_class];
    std::scoped_lock lock(of_size.mutex);
    if (Free* block = of_size.free; block != nullptr) {
      of_size.free = block->next;
      kept_bytes_.fetch_sub(block_bytes, std::memory_order_relaxed);
      return block;
    }
  }
  if (block_bytes > UINT64_MAX - kAlignment) return nullptr;
  return std::aligned_alloc(kAlignment, (block_bytes + kAlignment - 1) / kAlignment * kAlignment);
}

void BlockPool::give_back(void* block, uint64_t size_bytes) noexcept {
  uint64_t block_bytes = 0;
  const uint32_t size_class = class_of(size_bytes, &block_bytes);
  if (size_class == kClasses || !make_room(block_bytes)) return std::free(block);
  SizeClass& of_size = classes_[size_class];
  std::scoped_lock lock(of_size.mutex);
  auto* free = static_cast<Free*>(block);
  free->next = of_size.free;
  of_size.free = free;
}

/// Counts the block as kept. \returns false if it cannot be.
bool BlockPool::make_room(uint64_t block_bytes) noexcept {
  if (block_bytes > kept_bytes_max_) return false;
  uint64_t kept = kept_bytes_.fetch_add(block_bytes, std::memory_order_relaxed) + block_bytes;
  for (uint32_t looked_at = 0; kept > kept_bytes_max_ && looked_at < kClasses; ++looked_at) {
    const uint32_t victim = hand_.fetch_add(1, std::memory_order_relaxed) % kClasses;
    SizeClass& of_size = classes_[victim];
    std::scoped_lock lock(of_size.mutex);
    while (kept > kept_bytes_max_ && of_size.free != nullptr) {
      Free* block = of_size.free;
      of_size.free = block->next;
      std::free(block);
      kept =
          kept_bytes_.fetch_sub(block_bytes_of(victim), std::memory_order_relaxed) - block_bytes_of(victim);
    }
  }
  if (kept <= kept_bytes_max_) return true;
  kept_bytes_.fetch_sub(block_bytes, std::memory_order_relaxed);
  return false;
}

}  // namespace atl::ensemble
