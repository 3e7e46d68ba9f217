/// An ordered list that can be searched by more than its order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace atl::deadlines {

/// In blocks, each with a summary of its entries: a search leaves out blocks by what their summaries say, and what
/// changes moves no more than a block. Not thread safe.
/// \tparam Entry  with a `key` that orders them, no two the same, and a type Summary with
///                `static Summary of(const std::vector<Entry>&)`
template <class Entry>
class OrderedBlocks {
 public:
  static constexpr size_t kBlockMax = 64;
  using Key = decltype(Entry::key);
  using Summary = typename Entry::Summary;

  struct Block {
    Summary summary;
    std::vector<Entry> entries;  ///< never empty
  };

  const std::vector<Block>& blocks() const noexcept { return blocks_; }

  void insert(const Entry& entry) {
    if (blocks_.empty()) {
      blocks_.push_back({{}, {entry}});
      return summarize(0);
    }
    const size_t at = std::min(block_of(entry.key), blocks_.size() - 1);
    std::vector<Entry>& entries = blocks_[at].entries;
    entries.insert(position(entries, entry.key), entry);
    if (entries.size() > kBlockMax) {
      Block second;
      second.entries.assign(entries.begin() + kBlockMax / 2, entries.end());
      entries.resize(kBlockMax / 2, entry);
      blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(second));
      summarize(at + 1);
    }
    summarize(at);
  }
  /// It is there.
  void erase(const Key& key) noexcept {
    const size_t at = block_of(key);
    std::vector<Entry>& entries = blocks_[at].entries;
    entries.erase(position(entries, key));
    if (entries.empty()) {
      blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(at));
      return;
    }
    summarize(at);
    // So that there are not ever more and ever smaller ones.
    merge(at);
    if (at != 0) merge(at - 1);
  }
  /// In place of the one with the same key, which is there.
  void replace(const Entry& entry) noexcept {
    const size_t at = block_of(entry.key);
    *position(blocks_[at].entries, entry.key) = entry;
    summarize(at);
  }

 private:
  /// The first one whose last entry does not come before the key.
  size_t block_of(const Key& key) const noexcept {
    const auto block =
        std::lower_bound(blocks_.begin(), blocks_.end(), key,
                         [](const Block& one, const Key& wanted) { return one.entries.back().key < wanted; });
    return static_cast<size_t>(block - blocks_.begin());
  }
  static auto position(std::vector<Entry>& entries, const Key& key) noexcept {
    return std::lower_bound(entries.begin(), entries.end(), key,
                            [](const Entry& one, const Key& wanted) { return one.key < wanted; });
  }
  /// With the one behind it, if both are small.
  void merge(size_t at) noexcept {
    if (at + 1 >= blocks_.size()) return;
    std::vector<Entry>& entries = blocks_[at].entries;
    const std::vector<Entry>& more = blocks_[at + 1].entries;
    if (entries.size() + more.size() > kBlockMax / 2) return;
    entries.insert(entries.end(), more.begin(), more.end());
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(at) + 1);
    summarize(at);
  }
  void summarize(size_t at) noexcept { blocks_[at].summary = Summary::of(blocks_[at].entries); }

  std::vector<Block> blocks_;
};

}  // namespace atl::deadlines
