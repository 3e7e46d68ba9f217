/// Shared memory without shared memory: regions that are plain memory of the test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/memory/shared_memory.h"

namespace atl::test {

/// Texts of errors are the protocol's. [any]
class FakeSharedMemory final : public SharedMemory {
 public:
  virtual ~FakeSharedMemory() = default;

  /// A system region of these bytes, which stay where they are as long as this object lives.
  std::string& add(const std::string& name, std::string bytes) {
    std::lock_guard lock(mutex_);
    Region& region = regions_[name];
    region.bytes = std::move(bytes);
    return region.bytes;
  }
  /// A region that is somewhere else, in device memory mostly.
  void add(const std::string& name, const Buffer& buffer) {
    std::lock_guard lock(mutex_);
    regions_[name].elsewhere = buffer;
  }
  /// From now on check() fails for the region.
  void set_broken(const std::string& name) {
    std::lock_guard lock(mutex_);
    broken_.push_back(name);
  }
  /// Parts that are held.
  int64_t leases() const {
    std::lock_guard lock(mutex_);
    return leases_;
  }
  /// Arguments of the control calls, in order: "register a /key 0 64", "register cuda c 64 0 8",
  /// "unregister a", "unregister cuda c".
  std::vector<std::string> calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }

  Status register_system(std::string_view name, std::string_view key, uint64_t offset,
                         uint64_t byte_size) noexcept override {
    std::lock_guard lock(mutex_);
    calls_.push_back(cat("register ", name, " ", key, " ", offset, " ", byte_size));
    const auto [region, added] = regions_.try_emplace(std::string(name));
    if (!added) {
      return make_status(Code::kAlreadyExists, "shared memory region '", name, "' already in manager");
    }
    region->second.bytes.assign(byte_size, '\0');
    return {};
  }
  Status register_cuda(std::string_view name, std::span<const std::byte> raw_handle, int64_t device_id,
                       uint64_t byte_size) noexcept override {
    std::lock_guard lock(mutex_);
    calls_.push_back(cat("register cuda ", name, " ", raw_handle.size(), " ", device_id, " ", byte_size));
    return {};
  }
  Status unregister(RegionKind kind, std::string_view name) noexcept override {
    std::lock_guard lock(mutex_);
    calls_.push_back(cat("unregister ", kind == RegionKind::kCuda ? "cuda " : "", name));
    return {};
  }
  Result<std::vector<SharedMemoryRegion>> status(RegionKind kind,
                                                 std::string_view name) const noexcept override {
    std::lock_guard lock(mutex_);
    std::vector<SharedMemoryRegion> found;
    for (const auto& [region, memory] : regions_) {
      if (kind != RegionKind::kSystem || (!name.empty() && region != name)) continue;
      found.emplace_back();
      found.back().name = region;
      found.back().key = cat("/", region);
      found.back().byte_size = memory.size_bytes();
    }
    if (!found.empty() || name.empty()) return found;
    return not_found("Unable to find ", kind == RegionKind::kSystem ? "system" : "cuda",
                     " shared memory region: '", name, "'");
  }
  Result<RegionLease> acquire(std::string_view region, uint64_t offset,
                              uint64_t byte_size) noexcept override {
    std::lock_guard lock(mutex_);
    auto found = regions_.find(region);
    if (found == regions_.end()) {
      return not_found("Unable to find shared memory region: '", region, "'");
    }
    Region& memory = found->second;
    if (offset >= memory.size_bytes()) {
      return invalid_argument("Invalid offset for shared memory region: '", region, "'");
    }
    if (byte_size > memory.size_bytes() - offset) {
      return invalid_argument("Invalid offset + byte size for shared memory region: '", region, "'");
    }
    ++leases_;
    RegionLease lease;
    lease.buffer = memory.elsewhere;
    char* begin = memory.is_here() ? memory.bytes.data() : static_cast<char*>(memory.elsewhere.data);
    lease.buffer.data = begin + offset;
    lease.buffer.size_bytes = byte_size;
    lease.token = &*found;
    return lease;
  }
  Status check(const RegionLease& lease) const noexcept override {
    std::lock_guard lock(mutex_);
    const std::string& name = static_cast<const Regions::value_type*>(lease.token)->first;
    if (std::find(broken_.begin(), broken_.end(), name) == broken_.end()) return {};
    return invalid_argument("shared memory region '", name, "' has lost memory");
  }
  void release(const RegionLease&) noexcept override {
    std::lock_guard lock(mutex_);
    --leases_;
  }

 private:
  struct Region {
    std::string bytes;
    Buffer elsewhere;  ///< data null: `bytes` are the region
    bool is_here() const noexcept { return elsewhere.data == nullptr; }
    uint64_t size_bytes() const noexcept { return is_here() ? bytes.size() : elsewhere.size_bytes; }
  };
  using Regions = std::map<std::string, Region, std::less<>>;

  mutable std::mutex mutex_;
  Regions regions_;
  std::vector<std::string> broken_;
  std::vector<std::string> calls_;
  int64_t leases_ = 0;
};

}  // namespace atl::test
