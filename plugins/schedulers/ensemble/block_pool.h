/// Memory of the CPU for tensors between the steps of ensembles, kept for the next ones.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace atl::ensemble {

/// Blocks in size classes, four to each doubling, so that a block is at most a quarter larger than what it was
/// taken for. Of those that are given back so many bytes are kept; a class whose blocks nobody takes any more gives
/// way to those that are. [any]
class BlockPool {
 public:
  static constexpr uint64_t kAlignment = 64;

  /// \param kept_bytes_max  0: none are kept
  explicit BlockPool(uint64_t kept_bytes_max) noexcept : kept_bytes_max_(kept_bytes_max) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  /// Uninitialised; null: the system has none.
  void* take(uint64_t size_bytes) noexcept;
  /// What take() gave for that size.
  void give_back(void* block, uint64_t size_bytes) noexcept;

  uint64_t kept_bytes() const noexcept { return kept_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Free {
    Free* next;
  };
  struct alignas(64) SizeClass {
    std::mutex mutex;
    Free* free = nullptr;
  };
  static constexpr uint32_t kClasses = 4 * 38;  ///< up to 16 TiB

  /// kClasses: larger than that, and not kept. \param block_bytes  what such a block has
  static uint32_t class_of(uint64_t size_bytes, uint64_t* block_bytes) noexcept;
  static uint64_t block_bytes_of(uint32_t size_class) noexcept;
  bool make_room(uint64_t block_bytes) noexcept;

  const uint64_t kept_bytes_max_;
  std::atomic<uint64_t> kept_bytes_{0};
  std::atomic<uint32_t> hand_{0};  ///< the class that gives way next
  std::array<SizeClass, kClasses> classes_;
};

}  // namespace atl::ensemble
