/// The lines of a device by the deadline of their first request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "admission/deadlines/line.h"

namespace atl::deadlines {

/// An ordered list in blocks. Each block knows the earliest time of its entries, so that a search for one leaves
/// out whole blocks, and what changes moves no more than a block. Not thread safe.
class FrontIndex {
 public:
  static constexpr size_t kBlockMax = 64;

  struct Entry {
    FrontKey key;
    int64_t latest_ns;  ///< until when its first request must begin, were it alone; kNever: it is not bound
    Line* line;
  };
  struct Block {
    int64_t latest_ns = kNever;  ///< the earliest of its entries
    std::vector<Entry> entries;  ///< by key; never empty
  };

  const std::vector<Block>& blocks() const noexcept { return blocks_; }
  bool empty() const noexcept { return blocks_.empty(); }
  /// No other entry has its key.
  void insert(const Entry& entry);
  /// It is there.
  void erase(const FrontKey& key) noexcept;

 private:
  size_t block_of(const FrontKey& key) const noexcept;
  static void summarize(Block& block) noexcept;

  std::vector<Block> blocks_;
};

}  // namespace atl::deadlines
