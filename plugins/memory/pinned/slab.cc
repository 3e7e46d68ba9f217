#include "memory/pinned/slab.h"

#include <iterator>

namespace atl::memory {

Slab::Slab(uint64_t bytes) : total_bytes_(bytes / kAlignment * kAlignment) {
  if (total_bytes_ != 0) add(0, total_bytes_);
}

void Slab::add(uint64_t offset, uint64_t bytes) {
  free_.emplace(offset, bytes);
  sizes_.emplace(bytes, offset);
}

void Slab::remove(Pieces::iterator piece) {
  sizes_.erase({piece->second, piece->first});
  free_.erase(piece);
}

std::optional<uint64_t> Slab::take(uint64_t bytes) {
  if (bytes > total_bytes_) return std::nullopt;
  const uint64_t wanted = block_bytes(bytes);
  const auto found = sizes_.lower_bound({wanted, 0});
  if (found == sizes_.end()) return std::nullopt;
  const auto [size, offset] = *found;
  remove(free_.find(offset));
  if (size > wanted) add(offset + wanted, size - wanted);
  used_bytes_ += wanted;
  return offset;
}

void Slab::give_back(uint64_t offset, uint64_t bytes) {
  uint64_t size = block_bytes(bytes);
  used_bytes_ -= size;
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      remove(before);
    }
  }
  if (after != free_.end() && offset + size == after->first) {
    size += after->second;
    remove(after);
  }
  add(offset, size);
}

}  // namespace atl::memory
