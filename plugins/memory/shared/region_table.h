/// The registered regions by name.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/shared/region.h"

namespace atl::memory {

/// Requests look regions up here: a reader locks only its thread's own shard, a writer all of them. Nothing
/// is opened, mapped or unmapped under these locks. A region that is unregistered while somebody uses it is
/// found here until its last user has done with it, unless its name has been given to another. [any]
class RegionTable {
 public:
  RegionTable() noexcept = default;
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;
  ~RegionTable() { remove_all(); }

  /// With a reference for the caller; null: no such region of this owner.
  Region* acquire(std::string_view owner, std::string_view name) const noexcept;
  /// Takes back a reference of acquire() or all(). The region's memory goes with its last one.
  void release(Region* region) noexcept;
  /// Takes over the caller's reference if it succeeds. False: a registered region has the name.
  bool insert(Region* region) noexcept;
  /// An unknown name is nothing, nor is one of another kind.
  void remove(std::string_view owner, std::string_view name, std::optional<RegionKind> kind = {}) noexcept;
  /// Those for which it is true; null: all. Asked under the locks.
  void remove_all(const std::function<bool(const Region&)>& which = {}) noexcept;
  /// Only if `region`, which the caller holds, is still registered, nobody else uses it and nobody has since
  /// the time. \returns whether it was removed.
  bool remove_unused(const Region* region, int64_t since_ns) noexcept;

  /// Ordered by name, each with a reference for the caller.
  std::vector<Region*> all() const noexcept;
  uint64_t size() const noexcept;

 private:
  struct alignas(64) Shard {
    std::mutex mutex;
  };
  class Read;
  class Write;

  static constexpr uint32_t kShards = 16;
  mutable std::array<Shard, kShards> shards_;
  // Name, then owner, so that the list is ordered by name; both texts are the regions'. Ordered, because a look-up
  // among a thousand short names is as quick.
  using Name = std::pair<std::string_view, std::string_view>;
  static Name name_of(const Region& region) noexcept { return {region.about().name, region.owner()}; }
  std::map<Name, Region*> regions_;
};

}  // namespace atl::memory
