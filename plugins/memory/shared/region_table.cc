#include "memory/shared/region_table.h"

#include <utility>

namespace atl::memory {

/// Excludes writers while it lives.
class RegionTable::Read {
 public:
  explicit Read(const RegionTable& table) noexcept : mutex_(table.shards_[mine()].mutex) { mutex_.lock(); }
  Read(const Read&) = delete;
  Read& operator=(const Read&) = delete;
  ~Read() { mutex_.unlock(); }

 private:
  static uint32_t mine() noexcept {
    static std::atomic<uint32_t> next{0};
    // Trivially destructible, so it does not keep the plugin mapped.
    thread_local uint32_t shard = next.fetch_add(1, std::memory_order_relaxed) % kShards;
    return shard;
  }
  std::mutex& mutex_;
};

/// Excludes readers and writers while it lives.
class RegionTable::Write {
 public:
  explicit Write(RegionTable& table) noexcept : table_(table) {
    for (Shard& shard : table_.shards_) shard.mutex.lock();
  }
  Write(const Write&) = delete;
  Write& operator=(const Write&) = delete;
  ~Write() {
    for (Shard& shard : table_.shards_) shard.mutex.unlock();
  }

 private:
  RegionTable& table_;
};

Region* RegionTable::acquire(std::string_view owner, std::string_view name) const noexcept {
  Read lock(*this);
  auto found = regions_.find({name, owner});
  return found != regions_.end() && found->second->add_reference() ? found->second : nullptr;
}

void RegionTable::release(Region* region) noexcept {
  if (!region->drop_reference()) return;
  {
    // Nobody finds it any more, but its name may still lead here.
    Write lock(*this);
    auto found = regions_.find(name_of(*region));
    if (found != regions_.end() && found->second == region) regions_.erase(found);
  }
  delete region;
}

bool RegionTable::insert(Region* region) noexcept {
  Write lock(*this);
  auto found = regions_.find(name_of(*region));
  if (found != regions_.end()) {
    if (found->second->registered()) return false;
    regions_.erase(found);  // its users keep it
  }
  regions_.emplace(name_of(*region), region);
  return true;
}

void RegionTable::remove(std::string_view owner, std::string_view name,
                         std::optional<RegionKind> kind) noexcept {
  Region* removed = nullptr;
  {
    Write lock(*this);
    auto found = regions_.find({name, owner});
    if (found == regions_.end() || !found->second->registered()) return;
    if (kind && found->second->about().kind != *kind) return;
    removed = found->second;
    removed->set_unregistered();
  }
  release(removed);
}

void RegionTable::remove_all(const std::function<bool(const Region&)>& which) noexcept {
  std::vector<Region*> removed;
  {
    Write lock(*this);
    for (const auto& [name, region] : regions_) {
      if (!region->registered() || (which && !which(*region))) continue;
      region->set_unregistered();
      removed.push_back(region);
    }
  }
  for (Region* region : removed) release(region);
}

bool RegionTable::remove_unused(const Region* region, int64_t since_ns) noexcept {
  Region* removed = nullptr;
  {
    Write lock(*this);
    auto found = regions_.find(name_of(*region));
    if (found == regions_.end() || found->second != region || !region->registered()) return false;
    // Nobody can begin to use it while the table is locked. The caller has a reference too.
    if (region->references() > 2 || region->last_used_ns() > since_ns) return false;
    removed = found->second;
    removed->set_unregistered();
    regions_.erase(found);
  }
  release(removed);
  return true;
}

std::vector<Region*> RegionTable::all() const noexcept {
  std::vector<Region*> regions;
  Read lock(*this);
  regions.reserve(regions_.size());
  for (const auto& [name, region] : regions_) {
    if (region->add_reference()) regions.push_back(region);
  }
  return regions;
}

uint64_t RegionTable::size() const noexcept {
  Read lock(*this);
  return regions_.size();
}

}  // namespace atl::memory
