/// Memory for messages to a worker, and for the tensors in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "atoll/core/status.h"
#include "backends/python/memory/protocol.h"
#include "backends/python/memory/slab_table.h"

namespace atl::python {

/// One block that the worker may read. Valid until it is given back.
struct Block {
  BlockHeader* header = nullptr;
  std::byte* payload = nullptr;
  uint32_t slab = 0;
  uint64_t offset = 0;      ///< of the payload
  uint64_t size_bytes = 0;  ///< of the payload, as asked for
};

/// Cuts this process's slabs into blocks. A block is free again when both sides are done with it: this one by give_back(), the worker by
/// what it stores into the block's header. [any]
class BlockAllocator {
 public:
  /// \param first_slab_bytes  of the first slab; later ones are larger
  BlockAllocator(SlabTable& slabs, uint64_t first_slab_bytes) noexcept
      : slabs_(slabs), next_slab_bytes_(first_slab_bytes) {}
  BlockAllocator(const BlockAllocator&) = delete;
  BlockAllocator& operator=(const BlockAllocator&) = delete;

  /// Held by both sides. Its payload is aligned to kBlockAlignment and uninitialised. Errors: as SlabTable::add().
  Result<const Block*> allocate(uint64_t size_bytes);
  /// This side is done with it. \param was_sent  false: the worker has never heard of it
  void give_back(const Block* block, bool was_sent) noexcept;
  /// Gives memory that nobody uses back to the system, as far as it is more than `keep_bytes`.
  void trim(uint64_t keep_bytes) noexcept;
  /// Of blocks that are in use by either side.
  uint64_t used_bytes() const noexcept;

 private:
  struct Entry : Block {
    uint64_t begin = 0, taken_bytes = 0;  ///< in the slab, with header
    bool is_ours = true;                  ///< not given back yet
  };
  struct Slab {
    uint32_t index = 0;
    SharedRegion* region = nullptr;
    std::map<uint64_t, uint64_t> free;  ///< sizes by offset
  };

  bool is_free(const Entry& entry) const noexcept;
  void reclaim(size_t count) noexcept;
  void release(Entry& entry) noexcept;
  Entry* cut(uint64_t bytes);
  Status grow(uint64_t bytes);

  SlabTable& slabs_;
  mutable std::mutex mutex_;
  uint64_t next_slab_bytes_;
  uint64_t used_bytes_ = 0;
  std::vector<Slab> own_;
  std::vector<std::unique_ptr<Entry>> in_use_;
  std::vector<std::unique_ptr<Entry>> spare_;
  size_t next_reclaimed_ = 0;
};

}  // namespace atl::python
