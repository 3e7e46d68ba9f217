#include "backends/python/memory/block_allocator.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <new>
#include <utility>

namespace atl::python {
namespace {

/// Blocks that are looked at for each that is allocated: more than one, so that looking catches up.
constexpr size_t kLooksPerBlock = 8;

constexpr uint64_t rounded(uint64_t size, uint64_t to) { return (size + to - 1) / to * to; }

}  // namespace

Result<const Block*> BlockAllocator::allocate(uint64_t size_bytes) {
  if (size_bytes > UINT64_MAX / 4)
    return make_status(Code::kResourceExhausted, "no memory for ", size_bytes, " bytes");
  const uint64_t bytes = rounded(sizeof(BlockHeader) + size_bytes, kBlockAlignment);
  std::lock_guard lock(mutex_);
  reclaim(kLooksPerBlock);
  Entry* entry = cut(bytes);
  if (entry == nullptr) {
    reclaim(in_use_.size());
    entry = cut(bytes);
  }
  if (entry == nullptr) {
    ATOLL_RETURN_IF_ERROR(grow(bytes));
    entry = cut(bytes);
  }
  entry->size_bytes = size_bytes;
  entry->is_ours = true;
  // The worker may still hold a dead reference to what was here: it does not write, so nothing is to be awaited.
  std::atomic_ref(entry->header->held).store(1, std::memory_order_relaxed);
  std::atomic_ref(entry->header->waiting).store(0, std::memory_order_relaxed);
  return static_cast<const Block*>(entry);
}

void BlockAllocator::give_back(const Block* block, bool was_sent) noexcept {
  auto* entry = const_cast<Entry*>(static_cast<const Entry*>(block));
  std::lock_guard lock(mutex_);
  entry->is_ours = false;
  if (!was_sent) std::atomic_ref(entry->header->held).store(0, std::memory_order_relaxed);
}

void BlockAllocator::trim(uint64_t keep_bytes) noexcept {
  std::lock_guard lock(mutex_);
  reclaim(in_use_.size());
  for (Slab& slab : own_) {
    for (const auto& [offset, size] : slab.free) {
      const uint64_t kept = std::min(keep_bytes, size);
      keep_bytes -= kept;
      slab.region->drop(offset + kept, size - kept);
    }
  }
}

uint64_t BlockAllocator::used_bytes() const noexcept {
  std::lock_guard lock(mutex_);
  return used_bytes_;
}

bool BlockAllocator::is_free(const Entry& entry) const noexcept {
  return !entry.is_ours && std::atomic_ref(entry.header->held).load(std::memory_order_acquire) == 0;
}

/// Looks at so many of those in use, in turn.
void BlockAllocator::reclaim(size_t count) noexcept {
  for (count = std::min(count, in_use_.size()); count != 0; --count) {
    if (next_reclaimed_ >= in_use_.size()) next_reclaimed_ = 0;
    std::unique_ptr<Entry>& entry = in_use_[next_reclaimed_];
    if (!is_free(*entry)) {
      ++next_reclaimed_;
      continue;
    }
    release(*entry);
    spare_.push_back(std::move(entry));
    entry = std::move(in_use_.back());
    in_use_.pop_back();
  }
}

void BlockAllocator::release(Entry& entry) noexcept {
  used_bytes_ -= entry.taken_bytes;
  auto& slab = *std::ranges::find(own_, entry.slab, &Slab::index);
  uint64_t begin = entry.begin, size = entry.taken_bytes;
  auto after = slab.free.lower_bound(begin);
  if (after != slab.free.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      size += before->second;
      slab.free.erase(before);
    }
  }
  if (after != slab.free.end() && after->first == begin + size) {
    size += after->second;
    slab.free.erase(after);
  }
  slab.free[begin] = size;
}

/// From the first piece that is large enough, so that the same memory is used again and again. Null: there is none.
BlockAllocator::Entry* BlockAllocator::cut(uint64_t bytes) {
  for (Slab& slab : own_) {
    const auto piece =
        std::ranges::find_if(slab.free, [&](const auto& free) { return free.second >= bytes; });
    if (piece == slab.free.end()) continue;
    const auto [begin, size] = *piece;
    slab.free.erase(piece);
    if (size > bytes) slab.free[begin + bytes] = size - bytes;
    std::unique_ptr<Entry> entry;
    if (spare_.empty()) {
      entry = std::make_unique<Entry>();
    } else {
      entry = std::move(spare_.back());
      spare_.pop_back();
    }
    entry->slab = slab.index;
    entry->begin = begin;
    entry->taken_bytes = bytes;
    entry->header = reinterpret_cast<BlockHeader*>(slab.region->data() + begin);
    entry->payload = slab.region->data() + begin + sizeof(BlockHeader);
    entry->offset = begin + sizeof(BlockHeader);
    used_bytes_ += bytes;
    in_use_.push_back(std::move(entry));
    return in_use_.back().get();
  }
  return nullptr;
}

Status BlockAllocator::grow(uint64_t bytes) {
  constexpr uint64_t kPage = 4096;
  Result<SlabTable::Slab> added =
      slabs_.add(SlabOwner::kServer, rounded(std::max(next_slab_bytes_, bytes), kPage));
  // One that is just large enough may still fit into the limit.
  if (!added.ok() && bytes < next_slab_bytes_) added = slabs_.add(SlabOwner::kServer, rounded(bytes, kPage));
  if (!added.ok()) return std::move(added).status();
  next_slab_bytes_ = std::max(next_slab_bytes_, added->region->size_bytes()) * 2;
  own_.push_back({added->index, added->region, {{0, added->region->size_bytes()}}});
  return {};
}

}  // namespace atl::python
