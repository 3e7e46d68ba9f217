/// Memory that clients share with the server: regions registered by name, used by inputs and outputs of
/// requests. Service "atoll.shared_memory/1".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl {

enum class RegionKind : uint32_t { kSystem = 0, kCuda = 1 };

/// A registered region as the status calls show it.
struct SharedMemoryRegion {
  std::string name;
  RegionKind kind = RegionKind::kSystem;
  std::string key;         ///< POSIX name of the object; system regions only
  uint64_t offset = 0;     ///< of the region in the object, bytes; system regions only
  uint64_t byte_size = 0;  ///< of the region
  int64_t device_id = 0;   ///< CUDA ordinal; CUDA regions only
};

/// A part of a region, held for one tensor of one request. While it is held the memory stays mapped, even if
/// the region is unregistered meanwhile. Copied as a value; given back once.
struct RegionLease {
  Buffer buffer;  ///< the part's bytes, of CUDA regions on the device; the client may change them at any time
  void* token = nullptr;  ///< null: no lease
};

/// [any] Every function. Texts of errors are those of the protocol.
class SharedMemory {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.shared_memory/1";

  // --- control ---
  /// \param key  POSIX name of the object; slashes at its front do not count. \param offset  any
  /// Errors: UNIMPLEMENTED clients may not register; ALREADY_EXISTS the name is taken; INVALID_ARGUMENT name,
  /// key, offset or size; INTERNAL the object cannot be opened; PERMISSION_DENIED it belongs to a user whose
  /// objects are not wanted; RESOURCE_EXHAUSTED too many regions or bytes.
  virtual Status register_system(std::string_view name, std::string_view key, uint64_t offset,
                                 uint64_t byte_size) noexcept = 0;
  /// The region ends, too, when the provider of GPU memory that opened it goes.
  /// \param raw_handle  a cudaIpcMemHandle_t, 64 bytes.
  /// Errors: UNIMPLEMENTED, ALREADY_EXISTS, RESOURCE_EXHAUSTED as register_system(); INVALID_ARGUMENT nobody
  /// provides memory of GPUs, or no such device, or a handle that is none or of a smaller allocation; what
  /// else Memory::open_handle() says.
  virtual Status register_cuda(std::string_view name, std::span<const std::byte> raw_handle,
                               int64_t device_id, uint64_t byte_size) noexcept = 0;
  /// Unknown names are no error. A region in use stays usable until its last user is done; its name is free.
  /// \param name  empty: every region of the kind. Errors: UNIMPLEMENTED clients may not.
  virtual Status unregister(RegionKind kind, std::string_view name) noexcept = 0;
  /// \param name  empty: every region of the kind, ordered by name. Errors: NOT_FOUND no such region of this
  /// kind.
  virtual Result<std::vector<SharedMemoryRegion>> status(RegionKind kind,
                                                         std::string_view name) const noexcept = 0;

  // --- [request] ---
  /// Errors: NOT_FOUND unknown region; INVALID_ARGUMENT offset or size beyond it, overflow, or its object has
  /// shrunk.
  virtual Result<RegionLease> acquire(std::string_view region, uint64_t offset,
                                      uint64_t byte_size) noexcept = 0;
  /// OK while every page of the region that was touched has been there. An owner may shrink its object under
  /// the server: reads of what has gone then give zeros, writes go nowhere, and this says so
  /// (INVALID_ARGUMENT), from then on for every user of the region. Asked after the last use, before the
  /// answer is sent.
  virtual Status check(const RegionLease& lease) const noexcept = 0;
  virtual void release(const RegionLease& lease) noexcept = 0;

 protected:
  ~SharedMemory() = default;
};

}  // namespace atl
