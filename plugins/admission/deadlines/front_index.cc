#include "admission/deadlines/front_index.h"

#include <algorithm>
#include <utility>

namespace atl::deadlines {
namespace {

constexpr auto kBefore = [](const FrontIndex::Entry& entry, const FrontKey& key) { return entry.key < key; };

}  // namespace

/// The first one whose last entry does not come before the key.
size_t FrontIndex::block_of(const FrontKey& key) const noexcept {
  const auto block = std::lower_bound(
      blocks_.begin(), blocks_.end(), key,
      [](const Block& one, const FrontKey& wanted) { return one.entries.back().key < wanted; });
  return static_cast<size_t>(block - blocks_.begin());
}

void FrontIndex::summarize(Block& block) noexcept {
  block.latest_ns = kNever;
  for (const Entry& entry : block.entries) block.latest_ns = std::min(block.latest_ns, entry.latest_ns);
}

void FrontIndex::insert(const Entry& entry) {
  if (blocks_.empty()) {
    blocks_.push_back({entry.latest_ns, {entry}});
    return;
  }
  const size_t at = std::min(block_of(entry.key), blocks_.size() - 1);
  std::vector<Entry>& entries = blocks_[at].entries;
  entries.insert(std::lower_bound(entries.begin(), entries.end(), entry.key, kBefore), entry);
  if (entries.size() <= kBlockMax) {
    blocks_[at].latest_ns = std::min(blocks_[at].latest_ns, entry.latest_ns);
    return;
  }
  Block second;
  second.entries.assign(entries.begin() + kBlockMax / 2, entries.end());
  entries.resize(kBlockMax / 2);
  summarize(blocks_[at]);
  summarize(second);
  blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(second));
}

void FrontIndex::erase(const FrontKey& key) noexcept {
  const size_t at = block_of(key);
  std::vector<Entry>& entries = blocks_[at].entries;
  entries.erase(std::lower_bound(entries.begin(), entries.end(), key, kBefore));
  const auto here = blocks_.begin() + static_cast<ptrdiff_t>(at);
  if (entries.empty()) {
    blocks_.erase(here);
    return;
  }
  // So that there are not ever more and ever smaller ones.
  if (at + 1 < blocks_.size() && entries.size() + blocks_[at + 1].entries.size() <= kBlockMax / 2) {
    const std::vector<Entry>& more = blocks_[at + 1].entries;
    entries.insert(entries.end(), more.begin(), more.end());
    blocks_.erase(here + 1);
  }
  summarize(blocks_[at]);
}

}  // namespace atl::deadlines
