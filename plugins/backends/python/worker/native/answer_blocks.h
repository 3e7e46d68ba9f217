/// AnswerBlocks: a few blocks of the worker that answers use in turn, with the slabs that large data may stay in, and what keeps it there.
#pragma once

#include "backends/python/memory/protocol.h"
#include "backends/python/worker/native/python_api.h"
#include "backends/python/worker/native/region.h"

namespace atl::python {

inline constexpr uint32_t kAnswerBlocksMax = 8;
/// Pieces of data that one answer leaves where they are.
inline constexpr uint32_t kKeptMax = 8;
inline constexpr uint32_t kSlabsMax = 64;

/// Where one block is.
struct BlockPlace {
  MappedRegion* region;
  uint64_t offset;
  uint64_t size_bytes;
  uint32_t slab;
  uint32_t kept_count;
  PyObject* kept[kKeptMax];  ///< owns data that stays where it is, as long as the server has the block

  BlockHeader& header() const noexcept {
    return *reinterpret_cast<BlockHeader*>(region->data + offset - sizeof(BlockHeader));
  }
};

struct RegionSlab {
  MappedRegion* region;
  uint32_t index;
};

struct ResponseBlocks {
  PyObject_HEAD BlockPlace places[kAnswerBlocksMax];
  RegionSlab slabs[kSlabsMax];
  uint32_t count;
  uint32_t slab_count;
};

/// What a block has kept, once it is not in it any more: dropping it may run anybody's code.
class Dropped {
 public:
  Dropped() = default;
  Dropped(const Dropped&) = delete;
  Dropped& operator=(const Dropped&) = delete;
  ~Dropped() {
    while (count_ != 0) Py_DECREF(kept_[--count_]);
  }
  void take(BlockPlace& place) noexcept {
    while (place.kept_count != 0) kept_[count_++] = place.kept[--place.kept_count];
  }

 private:
  PyObject* kept_[kAnswerBlocksMax * kKeptMax];
  uint32_t count_ = 0;
};

/// Null without an exception if it is none.
ResponseBlocks* as_answer_blocks(PyObject* object) noexcept;
/// Null: all are with the server, or there is none.
BlockPlace* free_place(ResponseBlocks& blocks) noexcept;

/// Adds the type to the module: add(region, slab, offset, size), add_slab(index, region), drop_kept(), forget(), is_held(), len(). False: an
/// exception is set.
bool add_answer_blocks_type(PyObject* module) noexcept;

}  // namespace atl::python
