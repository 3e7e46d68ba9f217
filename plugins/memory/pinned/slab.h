/// Parts of one block of bytes, given out and taken back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace atl::memory {

/// Knows offsets, not the bytes. Gives the smallest piece that is large enough, and joins neighbours again. Not
/// thread-safe.
class Slab {
 public:
  static constexpr uint64_t kAlignment = 64;

  /// \param bytes  rounded down to the alignment
  explicit Slab(uint64_t bytes);

  /// What such an allocation takes: whole lines, at least one. \param bytes  at most 2^63
  static constexpr uint64_t block_bytes(uint64_t bytes) noexcept {
    return bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// \returns an offset, a multiple of the alignment; nothing: there is no piece so large.
  std::optional<uint64_t> take(uint64_t bytes);
  /// \param offset  of take() \param bytes  as given to it
  void give_back(uint64_t offset, uint64_t bytes);
  /// Blocks that are given out.
  uint64_t used_bytes() const noexcept { return used_bytes_; }
  uint64_t total_bytes() const noexcept { return total_bytes_; }

 private:
  using Pieces = std::map<uint64_t, uint64_t>;
  void add(uint64_t offset, uint64_t bytes);
  void remove(Pieces::iterator piece);

  const uint64_t total_bytes_;
  uint64_t used_bytes_ = 0;
  Pieces free_;                                    ///< sizes by offset
  std::set<std::pair<uint64_t, uint64_t>> sizes_;  ///< the same as {size, offset}
};

}  // namespace atl::memory
