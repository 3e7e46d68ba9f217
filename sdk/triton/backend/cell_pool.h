/// Where the handles that foreign code gets come from. A handle that is used after its end must be found out, so its
/// memory is never unmapped, and it becomes another handle only after many others did.
#pragma once

#include <cstdint>
#include <mutex>

namespace atl::triton {

/// Of the calling thread; threads share one only when there are many.
uint32_t thread_number() noexcept;

/// Cells of one type, which has the members `Cell* next_free` and `uint32_t shard`. They are made once and given out
/// as they were given back. [any]
///
/// A thread takes from its own shard, and a cell goes back to where it is from, whichever thread is done with it. In
/// steady state nothing is allocated. Static storage: no destructor runs, foreign threads may go on to the end of the
/// process.
template <class Cell>
class CellPool {
 public:
  /// So many others of the shard are given back before a cell is used again.
  static constexpr uint32_t kDelay = 1024;

  Cell& take() noexcept {
    const uint32_t number = thread_number() % kShards;
    Shard& shard = shards_[number];
    std::lock_guard lock(shard.mutex);
    if (shard.free_count > kDelay) return pop(shard);
    if (shard.unused == 0) {
      shard.slab = new Slab{shard.slab, {}};
      shard.unused = kSlabCells;
    }
    Cell& cell = shard.slab->cells[--shard.unused];
    cell.shard = number;
    return cell;
  }
  void give_back(Cell& cell) noexcept {
    Shard& shard = shards_[cell.shard];
    std::lock_guard lock(shard.mutex);
    cell.next_free = nullptr;
    (shard.last == nullptr ? shard.first : shard.last->next_free) = &cell;
    shard.last = &cell;
    ++shard.free_count;
  }

 private:
  static constexpr uint32_t kShards = 16;
  static constexpr uint32_t kSlabCells = 64;

  struct Slab {
    Slab* older;
    Cell cells[kSlabCells];
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    Cell* first = nullptr;
    Cell* last = nullptr;
    Slab* slab = nullptr;  ///< the youngest; they are never freed
    uint32_t free_count = 0;
    uint32_t unused = 0;  ///< cells of it that were never given out
  };

  static Cell& pop(Shard& shard) noexcept {
    Cell& cell = *shard.first;
    shard.first = cell.next_free;
    --shard.free_count;
    return cell;
  }

  Shard shards_[kShards];
};

}  // namespace atl::triton
