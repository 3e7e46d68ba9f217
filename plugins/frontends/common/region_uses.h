/// The parts of shared memory regions that one request uses.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "atoll/shared_memory.h"
#include "common/wire_messages.h"

namespace atl::frontends {

/// Not thread safe; one request's.
class RegionUses {
 public:
  RegionUses() noexcept = default;
  RegionUses(const RegionUses&) = delete;
  RegionUses& operator=(const RegionUses&) = delete;
  ~RegionUses() { release(); }

  /// Where regions come from; null: there are none. Set once, before use.
  void set_service(SharedMemory* service) noexcept { service_ = service; }

  /// Holds a part of a region until release(). Errors: as SharedMemory::acquire().
  Status acquire(std::string_view region, uint64_t offset, uint64_t byte_size, Buffer* buffer) noexcept {
    if (service_ == nullptr) return Status(Code::kNotFound, messages::unknown_region(region));
    Result<RegionLease> lease = service_->acquire(region, offset, byte_size);
    if (!lease.ok()) return std::move(lease).status();
    leases_.push_back(lease.value());
    *buffer = lease->buffer;
    return {};
  }
  bool empty() const noexcept { return leases_.empty(); }
  /// OK if all regions were there all the time; to be asked before an answer is sent that rests on them.
  Status check() const noexcept {
    for (const RegionLease& lease : leases_) ATOLL_RETURN_IF_ERROR(service_->check(lease));
    return {};
  }
  void release() noexcept {
    for (const RegionLease& lease : leases_) service_->release(lease);
    leases_.clear();
  }

 private:
  SharedMemory* service_ = nullptr;
  std::vector<RegionLease> leases_;
};

}  // namespace atl::frontends
