/// The parts of shared memory regions that one request uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/gpu/device_memory.h"
#include "atoll/memory/shared_memory.h"
#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {

/// Most bytes of one request that are copied where others are used in place.
struct CopyLimit {
  uint64_t bytes = UINT64_MAX;
  std::string_view option;  ///< that sets it; a literal
};

/// Not thread safe; one request's.
class RegionUses {
 public:
  RegionUses() noexcept = default;
  RegionUses(const RegionUses&) = delete;
  RegionUses& operator=(const RegionUses&) = delete;
  ~RegionUses() { release(); }

  /// Where regions come from, and what reaches those in device memory. Set once, before use; they outlive
  /// this.
  void set_source(const Followed<SharedMemory>& source, CopyLimit limit = {},
                  const DeviceMemory* devices = nullptr) noexcept {
    source_ = &source;
    limit_ = limit;
    devices_ = devices;
  }

  /// Whose regions they are, until release(); nobody's if it is not called. \param owner  not empty
  void set_owner(std::string_view owner) { owner_ = owner; }
  const std::string& owner() const noexcept { return owner_; }
  /// Holds a part of a region until release(). A request stays with the service that gave it its first
  /// region, also if another one takes its place meanwhile. Errors: as SharedMemory::acquire().
  Status acquire(std::string_view region, uint64_t offset, uint64_t byte_size, Buffer* buffer) noexcept {
    if (!service_ && source_ != nullptr) service_ = source_->hold();
    if (!service_) return Status(Code::kNotFound, messages::unknown_region(region));
    const bool knows_owners = service_.minor() >= 1;
    if (!owner_.empty() && !knows_owners) return Status(Code::kNotFound, messages::unknown_region(region));
    Result<RegionLease> lease = knows_owners ? service_->acquire_for(owner_, region, offset, byte_size)
                                             : service_->acquire(region, offset, byte_size);
    if (!lease.ok()) return std::move(lease).status();
    leases_.push_back(lease.value());
    *buffer = lease->buffer;
    return {};
  }
  /// To be asked before bytes are copied out of a region: a region may be far larger than any message.
  /// Errors: INVALID_ARGUMENT with them the request would copy more than the limit.
  Status count_copy(std::string_view input, uint64_t size_bytes) noexcept {
    if (size_bytes > limit_.bytes - copied_bytes_) {
      return invalid_argument("input '", input, "' has ", size_bytes,
                              " bytes in shared memory that must be copied, ", copied_bytes_,
                              " bytes of other inputs are, at most ", limit_.bytes, " are allowed (option ",
                              limit_.option, ")");
    }
    copied_bytes_ += size_bytes;
    return {};
  }
  /// Whether device memory can be copied.
  bool reaches_devices() const noexcept { return devices_ != nullptr && devices_->is_present(); }
  /// Between buffers in any memory; blocks. Errors: as DeviceMemory::copy().
  Status copy(const Buffer& to, const Buffer& from) const noexcept {
    return devices_ != nullptr ? devices_->copy(to, from) : copy_on_host(to, from);
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
    service_.reset();
    copied_bytes_ = 0;
    owner_.clear();
  }

 private:
  const Followed<SharedMemory>* source_ = nullptr;  ///< null: there are no regions
  const DeviceMemory* devices_ = nullptr;           ///< null: there are none
  Followed<SharedMemory>::Hold service_;
  CopyLimit limit_;
  uint64_t copied_bytes_ = 0;
  std::string owner_;
  std::vector<RegionLease> leases_;
};

}  // namespace atl::frontends
