/// The service atoll.shared_memory/1: system regions, and CUDA regions by whoever provides memory of GPUs.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/metrics.h"
#include "atoll/memory/shared_memory.h"
#include "memory/shared/region_table.h"

namespace atl::memory {

struct RegionSettings {
  bool allow_client_shm = false;
  uint64_t max_regions = 1024;
  uint64_t max_bytes = 0;             ///< of address space; 0: kMaxMappedBytes
  std::vector<uid_t> allowed_owners;  ///< of objects; empty: everybody
  int64_t idle_timeout_ns = 0;        ///< 0: regions stay

  /// 16 TiB. Objects may have holes, so the machine's memory is no limit, and the address space, which they
  /// would fill, is what everything else needs too.
  static constexpr uint64_t kMaxMappedBytes = uint64_t{1} << 44;
  uint64_t mapped_bytes_max() const noexcept {
    return max_bytes == 0 ? kMaxMappedBytes : std::min(max_bytes, kMaxMappedBytes);
  }
};

/// While BusErrorGuard is installed. All leases are given back before it is destroyed. [any]
class Regions final : public SharedMemory, public MetricSource {
 public:
  /// \param devices  null: there are no GPUs; else outlives this
  Regions(RegionSettings settings, Clock& clock, const DeviceMemory* devices = nullptr) noexcept;

  /// Registrations from now on meet these limits, and the idle time counts from now on; what is registered stays. Whether
  /// clients may register at all does not change.
  void follow(const RegionSettings& settings) noexcept;

  Status register_system(std::string_view name, std::string_view key, uint64_t offset,
                         uint64_t byte_size) noexcept override {
    return register_system_for({}, name, key, offset, byte_size);
  }
  Status register_cuda(std::string_view name, std::span<const std::byte> raw_handle, int64_t device_id,
                       uint64_t byte_size) noexcept override {
    return register_cuda_for({}, name, raw_handle, device_id, byte_size);
  }
  Status unregister(RegionKind kind, std::string_view name) noexcept override {
    return unregister_for({}, kind, name);
  }
  Result<std::vector<SharedMemoryRegion>> status(RegionKind kind,
                                                 std::string_view name) const noexcept override {
    return status_for({}, kind, name);
  }
  Result<RegionLease> acquire(std::string_view region, uint64_t offset,
                              uint64_t byte_size) noexcept override {
    return acquire_for({}, region, offset, byte_size);
  }
  Status check(const RegionLease& lease) const noexcept override;
  void release(const RegionLease& lease) noexcept override;

  Status register_system_for(std::string_view owner, std::string_view name, std::string_view key,
                             uint64_t offset, uint64_t byte_size) noexcept override;
  Status register_cuda_for(std::string_view owner, std::string_view name,
                           std::span<const std::byte> raw_handle, int64_t device_id,
                           uint64_t byte_size) noexcept override;
  Status unregister_for(std::string_view owner, RegionKind kind, std::string_view name) noexcept override;
  Result<std::vector<SharedMemoryRegion>> status_for(std::string_view owner, RegionKind kind,
                                                     std::string_view name) const noexcept override;
  Result<RegionLease> acquire_for(std::string_view owner, std::string_view region, uint64_t offset,
                                  uint64_t byte_size) noexcept override;

  void collect(MetricSink& sink) const noexcept override;

  /// Unregisters regions that nobody has used for the idle time. \param removed  their names are appended.
  /// \returns when to look again, on the clock; nothing without an idle time.
  std::optional<int64_t> sweep(std::vector<std::string>* removed) noexcept;
  void unregister_all() noexcept { table_.remove_all(); }
  /// Unregisters regions whose provider of device memory is going. \param removed  their names are appended.
  void unregister_outdated(std::vector<std::string>* removed) noexcept;
  int64_t idle_timeout_ns() const noexcept { return idle_timeout_ns_.load(std::memory_order_relaxed); }
  /// Regions that requests use, registered or not.
  uint64_t in_use() const noexcept;

 private:
  struct Release {
    RegionTable* table;
    void operator()(Region* region) const noexcept { table->release(region); }
  };
  /// A reference that the table gave, for as long as it lives.
  using RegionRef = std::unique_ptr<Region, Release>;

  RegionRef find(std::string_view owner, std::string_view name) const noexcept;
  std::vector<RegionRef> all() const noexcept;
  Status check_registration(std::string_view name) const noexcept;
  Status check_object_owner(std::string_view name, std::string_view key, uid_t owner) const noexcept;
  Status insert(std::unique_ptr<Region> region) noexcept;

  bool idles_end() const noexcept { return idle_timeout_ns() != 0; }

  const bool allow_client_shm_;
  std::atomic<int64_t> idle_timeout_ns_;
  mutable std::mutex mutex_;
  std::vector<uid_t> allowed_owners_;  // guarded by mutex_
  Clock& clock_;
  const DeviceMemory* const devices_;
  RegionUsage usage_;
  mutable RegionTable table_;  // a const look-up holds a region for a moment
};

}  // namespace atl::memory
