/// Memory that clients share with the server: regions that they register by name, and use for inputs and
/// outputs of requests. Service "atoll.shared_memory/1", provided by memory/shared. The calls are those of
/// Triton's shared-memory extensions (SystemSharedMemoryRegister, CudaSharedMemoryRegister and so on).
///
/// A frontend leases the part of a region that a tensor names, and gives it back when the request has ended:
///
///     Result<RegionLease> lease = regions->acquire("inputs", offset, byte_size);
///     if (!lease.ok()) return refuse(std::move(lease).status());
///     input.buffers = {&lease->buffer, 1};
///     input.flags |= InputTensor::kShared;
///     ... run the request
///     Status lost = regions->check(*lease);  // before the answer is sent
///     regions->release(*lease);
///
/// Owners, since minor 1. Where callers are known (atoll/frontend/access.h) regions belong to whoever has registered
/// them: names of two owners are apart, and to the calls of one owner there are no regions of others. The functions
/// without an owner are those of nobody, to whom regions belong where callers are not known.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl {

/// kSystem: a POSIX shared memory object (shm_open). kCuda: memory of a GPU that another process shares.
enum class RegionKind : uint32_t { kSystem = 0, kCuda = 1 };

/// A registered region as the status calls show it.
struct SharedMemoryRegion {
  std::string name;
  RegionKind kind = RegionKind::kSystem;
  /// The POSIX name of the object; system regions only.
  std::string key;
  /// Where the region begins in the object, in bytes; system regions only.
  uint64_t offset = 0;
  /// Bytes of the region.
  uint64_t byte_size = 0;
  /// The CUDA ordinal; CUDA regions only.
  int64_t device_id = 0;
};

/// A part of a region, held for one tensor of one request. While it is held the memory stays mapped, even if
/// the region is unregistered meanwhile. It is copied as a value, and given back once.
struct RegionLease {
  /// The bytes of the part, for a CUDA region on the device. The client may change them at any time.
  Buffer buffer;
  /// The provider's; null: there is no lease.
  void* token = nullptr;
};

/// Every function may be called from any thread [any]. Texts of errors are those of Triton's protocol, so
/// frontends pass them on as they are.
class SharedMemory {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.shared_memory/1";

  // --- control ---
  /// Opens a POSIX shared memory object and maps a part of it as a region. Makes system calls.
  /// \param key  the POSIX name of the object; slashes at its front do not count
  /// \param offset  of the region in the object, in bytes; need not be a multiple of the page size
  /// Errors: UNIMPLEMENTED clients may not register; ALREADY_EXISTS the name is taken; INVALID_ARGUMENT name,
  /// key, offset or size; INTERNAL the object cannot be opened; PERMISSION_DENIED it belongs to a user whose
  /// objects are not wanted; RESOURCE_EXHAUSTED there are too many regions or bytes.
  virtual Status register_system(std::string_view name, std::string_view key, uint64_t offset,
                                 uint64_t byte_size) noexcept = 0;
  /// Opens memory of a GPU that another process shares. The region also ends when the provider of GPU memory
  /// that opened it goes.
  /// \param raw_handle  a cudaIpcMemHandle_t, 64 bytes
  /// Errors: UNIMPLEMENTED, ALREADY_EXISTS, RESOURCE_EXHAUSTED as register_system(); INVALID_ARGUMENT nobody
  /// provides memory of GPUs, there is no such device, or the handle is none or that of a smaller allocation;
  /// others of Memory::open_handle().
  virtual Status register_cuda(std::string_view name, std::span<const std::byte> raw_handle,
                               int64_t device_id, uint64_t byte_size) noexcept = 0;
  /// Removes a region. A region in use stays usable until its last user is done; its name is free at once.
  /// Unknown names are no error.
  /// \param name  empty: every region of the kind
  /// Errors: UNIMPLEMENTED clients may not register.
  virtual Status unregister(RegionKind kind, std::string_view name) noexcept = 0;
  /// The registered regions, ordered by name.
  /// \param name  empty: every region of the kind
  /// Errors: NOT_FOUND there is no such region of this kind.
  virtual Result<std::vector<SharedMemoryRegion>> status(RegionKind kind,
                                                         std::string_view name) const noexcept = 0;

  // --- [request] ---
  /// Holds a part of a region. Touches none of its bytes. [request]
  /// Errors: NOT_FOUND the region is unknown; INVALID_ARGUMENT offset or size lie beyond the region or
  /// overflow, or its object has shrunk; others if the GPU of a CUDA region is lost.
  virtual Result<RegionLease> acquire(std::string_view region, uint64_t offset,
                                      uint64_t byte_size) noexcept = 0;
  /// OK as long as every page of the region that was touched has been there. An owner may shrink its object
  /// under the server: reads of what is gone then give zeros, writes go nowhere, and this function says so
  /// from then on, for every user of the region. Call it after the last use of the memory and before the
  /// answer is sent. [request]
  /// Errors: INVALID_ARGUMENT the object has shrunk; for a CUDA region those of a lost device.
  virtual Status check(const RegionLease& lease) const noexcept = 0;
  /// Gives the lease back; its buffer must not be used afterwards. [request]
  virtual void release(const RegionLease& lease) noexcept = 0;

  // --- since minor 1: the functions of these names, for the regions of one owner ---
  /// \param owner  any text; empty: nobody
  virtual Status register_system_for(std::string_view owner, std::string_view name, std::string_view key,
                                     uint64_t offset, uint64_t byte_size) noexcept {
    return owner.empty() ? register_system(name, key, offset, byte_size) : without_owners();
  }
  virtual Status register_cuda_for(std::string_view owner, std::string_view name,
                                   std::span<const std::byte> raw_handle, int64_t device_id,
                                   uint64_t byte_size) noexcept {
    return owner.empty() ? register_cuda(name, raw_handle, device_id, byte_size) : without_owners();
  }
  virtual Status unregister_for(std::string_view owner, RegionKind kind, std::string_view name) noexcept {
    return owner.empty() ? unregister(kind, name) : without_owners();
  }
  virtual Result<std::vector<SharedMemoryRegion>> status_for(std::string_view owner, RegionKind kind,
                                                             std::string_view name) const noexcept {
    if (!owner.empty()) return without_owners();
    return status(kind, name);
  }
  /// [request]
  virtual Result<RegionLease> acquire_for(std::string_view owner, std::string_view region, uint64_t offset,
                                          uint64_t byte_size) noexcept {
    if (!owner.empty()) return without_owners();
    return acquire(region, offset, byte_size);
  }

 protected:
  ~SharedMemory() = default;
  static Status without_owners() noexcept { return unimplemented("regions of this server have no owners"); }
};

}  // namespace atl
