#include "backends/python/memory/slab_table.h"

#include <utility>

namespace atl::python {

Result<SlabTable::Slab> SlabTable::add(SlabOwner owner, uint64_t size_bytes) {
  std::lock_guard lock(mutex_);
  if (sender_ == nullptr) return unavailable("worker '", name_, "' has ended");
  const uint64_t used = this->size_bytes();
  if (count_ == kMaxSlabs || size_bytes > limit_bytes_ || used > limit_bytes_ - size_bytes) {
    return make_status(Code::kResourceExhausted, "worker '", name_, "' shares ", used, " of at most ",
                       limit_bytes_, " bytes with the server in ", count_, " pieces, and ", size_bytes,
                       " more do not fit");
  }
  Result<SharedRegion> region = SharedRegion::create(name_, size_bytes);
  if (!region.ok()) return std::move(region).status();
  auto added = std::make_unique<SharedRegion>(std::move(region).value());
  const uint32_t index = count_++;
  size_bytes_.store(used + size_bytes, std::memory_order_relaxed);
  known_[index].store(added.get(), std::memory_order_release);
  regions_[index] = std::move(added);
  SlabPacket packet;
  packet.index = index;
  packet.owner = owner;
  packet.size_bytes = size_bytes;
  SharedRegion& kept = *regions_[index];
  const bool is_sent = sender_->send_slab(packet, kept.descriptor());
  kept.close_descriptor();
  if (!is_sent) return unavailable("worker '", name_, "' takes no memory");
  return Slab{index, &kept};
}

}  // namespace atl::python
