/// Memory for tensors. Service "atoll.memory/1", minor 4, one provider for each kind of memory: memory/host
/// (kCpu), memory/pinned (kCpuPinned), memory/cuda (kGpu).
///
/// A backend looks its providers up when a model loads, and keeps the Service as long as it has memory of
/// theirs:
///
///     Result<Service<Memory>> pinned = memory_of(host.registry(), MemoryKind::kCpuPinned);
///     if (!pinned.ok()) return std::move(pinned).status();
///     Result<Buffer> buffer = (*pinned)->allocate(size_bytes, 0);
///     ...
///     (*pinned)->free(*buffer);
///
/// Memory for the outputs of a request is not taken here but from Response::allocate(). Code of the CPU that
/// has to reach memory of GPUs follows the provider through DeviceMemory (atoll/gpu/device_memory.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/registry.h"
#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl {

/// Whether the CPU may use the buffer's bytes now, where they are: they are memory of the CPU, and no event
/// is to be waited for.
constexpr bool is_host_ready(const Buffer& buffer) noexcept {
  return buffer.kind != MemoryKind::kGpu && buffer.ready_after == nullptr;
}

/// Blocks until the buffer's bytes may be used. Whoever frees memory that a device may still write to calls
/// this first.
/// Errors: as DeviceEvent::wait().
inline Status wait_until_ready(const Buffer& buffer) noexcept {
  return buffer.ready_after == nullptr ? Status() : buffer.ready_after->wait();
}

/// Memory::copy() between two buffers of the CPU, which may overlap. Needs no provider.
/// Errors: INTERNAL `to` is too small; INVALID_ARGUMENT one of them is in memory of a GPU; those of
/// DeviceEvent::wait().
inline Status copy_on_host(const Buffer& to, const Buffer& from) noexcept {
  if (to.kind == MemoryKind::kGpu || from.kind == MemoryKind::kGpu) {
    return invalid_argument("a buffer is in memory of GPU ",
                            to.kind == MemoryKind::kGpu ? to.device_id : from.device_id,
                            ", expected CPU memory: no plugin reaches memory of GPUs");
  }
  if (from.size_bytes > to.size_bytes) {
    return internal_error("found a buffer of ", to.size_bytes, " bytes, expected ", from.size_bytes);
  }
  ATOLL_RETURN_IF_ERROR(wait_until_ready(from));
  // memmove, because an output may be placed over an input; not given null, even for nothing.
  if (from.size_bytes != 0) std::memmove(to.data, from.data, from.size_bytes);
  return {};
}

/// How full a whole device is, counting everything that is on it, other processes too.
struct DeviceMemoryUsage {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

/// The provider of one kind of memory. Every function may be called from any thread [any]; those that a
/// device takes part in may block. Buffers of the provider's kind that are handed in were given by this
/// provider.
class Memory {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.memory/1";
  /// Minor versions of the interface. A provider of a lower minor lacks the functions that stand below "since
  /// minor" with the same number. memory_of() takes such a number, so that a caller gets no provider which
  /// lacks what it needs.
  static constexpr uint32_t kDevicesMinor = 1;
  static constexpr uint32_t kGrowableMinor = 2;
  static constexpr uint32_t kUsageMinor = 3;
  static constexpr uint32_t kEventsMinor = 4;

  /// The kind of memory that this provider serves. Constant.
  virtual MemoryKind kind() const noexcept = 0;
  /// Gives uninitialised bytes, aligned to 64. Size 0 gives a valid, unique address. The caller owns the
  /// buffer until free().
  /// \param device_id  the CUDA ordinal for kGpu; 0 for the kinds of the CPU
  /// Errors: RESOURCE_EXHAUSTED the limit is reached or the system has none; INVALID_ARGUMENT there is no
  /// such device; UNAVAILABLE it is lost.
  virtual Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept = 0;
  /// Gives back exactly what allocate() gave, when nothing uses it any more.
  virtual void free(const Buffer& buffer) noexcept = 0;
  /// Bytes that are in use, of all devices.
  virtual uint64_t used_bytes() const noexcept = 0;
  /// The most bytes that may be in use; 0: there is no limit.
  virtual uint64_t limit_bytes() const noexcept = 0;

  // --- since minor 1 ---

  /// The devices whose memory can be had, ascending; the host is device 0. The call only looks: a device that
  /// nobody uses stays untouched. A device that is lost or not supported is not among them.
  virtual std::vector<int32_t> devices() const noexcept { return {0}; }

  /// Copies all bytes of `from` to the beginning of `to`. At least one of the buffers is of this provider's
  /// kind; the other is of the same kind, on any of its devices, or memory of the CPU. Blocks until `from` is
  /// ready and the bytes are at `to`. An event in to.ready_after is not waited for, because the bytes there
  /// are replaced. On failure `to` is left as it is, or holds a part.
  /// Errors: INTERNAL `to` is too small, the device failed, or what filled `from` did; INVALID_ARGUMENT
  /// neither buffer is of this kind, or one is not memory that this provider knows; UNAVAILABLE the device is
  /// lost.
  virtual Status copy(const Buffer& to, const Buffer& from) noexcept { return copy_on_host(to, from); }

  /// Opens memory that another process has allocated and shares, for kGpu by a cudaIpcMemHandle_t. The buffer
  /// begins where that allocation does. It is valid until close_handle(), as long as the other process keeps
  /// the allocation. The same handle may be open several times.
  /// \param handle  of any length; comes from outside and is checked
  /// \param size_bytes  that the allocation has to have at least, and that the buffer has
  /// Errors: UNIMPLEMENTED memory of this kind is not shared so; INVALID_ARGUMENT there is no such device, or
  /// the handle is none; OUT_OF_RANGE the allocation is smaller; RESOURCE_EXHAUSTED there is no room to map
  /// it; INTERNAL the device failed.
  virtual Result<Buffer> open_handle(std::span<const std::byte> /*handle*/, int64_t /*device_id*/,
                                     uint64_t /*size_bytes*/) noexcept {
    return make_status(Code::kUnimplemented, "memory of this kind has no handles of other processes");
  }
  /// Gives back exactly what open_handle() gave, when nothing uses it any more.
  virtual void close_handle(const Buffer& /*buffer*/) noexcept {}

  // --- since minor 2 ---

  /// As allocate(), for a buffer that grow() may make larger where it is. Addresses for `most_bytes` are
  /// reserved, which counts nowhere; those of the buffer can be used. The buffer has at least size_bytes: its
  /// size is rounded up to what is given at a time (pages), and that counts as used.
  /// Errors: as allocate(); RESOURCE_EXHAUSTED also: there are no more addresses, or too many such buffers;
  /// INVALID_ARGUMENT also: size_bytes is more than most_bytes; UNIMPLEMENTED memory of this kind does not
  /// grow.
  virtual Result<Buffer> allocate_growable(uint64_t /*size_bytes*/, uint64_t /*most_bytes*/,
                                           int64_t /*device_id*/) noexcept {
    return make_status(Code::kUnimplemented, "memory of this kind does not grow");
  }
  /// Makes the buffer size_bytes large, or somewhat larger. Where it is as large already, nothing is done.
  /// Address and contents stay; what is new is uninitialised. Others may use the buffer meanwhile.
  /// \param buffer  what allocate_growable() gave, as grow() has changed it since; one call at a time for one
  /// buffer
  /// Errors, with which nothing changes: OUT_OF_RANGE that is more than its most_bytes; RESOURCE_EXHAUSTED
  /// the limit is reached or the system has none.
  virtual Status grow(Buffer& /*buffer*/, uint64_t /*size_bytes*/) noexcept {
    return make_status(Code::kUnimplemented, "memory of this kind does not grow");
  }
  /// Gives back what allocate_growable() gave, as grow() left it.
  virtual void free_growable(const Buffer& /*buffer*/) noexcept {}

  // --- since minor 3 ---

  /// How full a device is. May make the device's context, which takes time and memory of the device.
  /// Errors: UNIMPLEMENTED memory of this kind is not counted so; INVALID_ARGUMENT there is no such device;
  /// UNAVAILABLE it is lost.
  virtual Result<DeviceMemoryUsage> device_usage(int64_t /*device_id*/) noexcept {
    return make_status(Code::kUnimplemented, "the use of this kind of memory is not known");
  }

  // --- since minor 4 ---

  /// Makes an event for a buffer that a device will write to. It counts as reached until its native handle is
  /// recorded in a stream of the device. For those who give buffers to others (ResponseSink::allocate()); it
  /// may live as long as the buffer.
  /// Errors: UNIMPLEMENTED memory of this kind needs none; as allocate().
  virtual Result<DeviceEvent*> make_event(int64_t /*device_id*/) noexcept {
    return make_status(Code::kUnimplemented, "memory of this kind has no events");
  }
  /// Gives back what make_event() gave, when it is reached and nobody uses it any more.
  virtual void free_event(DeviceEvent* /*event*/) noexcept {}

 protected:
  ~Memory() = default;
};

/// Finds the provider of one kind of memory among those that implement the minor version: the one of the
/// highest rank, and of equal ones the first by name. Providers are told apart by their kind, not by their
/// names. For the control thread, and for worker threads when a model loads [control], [worker].
/// Errors: NOT_FOUND there is none.
inline Result<Service<Memory>> memory_of(Registry& registry, MemoryKind kind, uint32_t minor = 0) noexcept {
  Service<Memory> best;
  int32_t best_rank = 0;
  for (const ServiceInfo& info : registry.list(Memory::kInterfaceId)) {
    if (info.minor < minor || (best && info.rank <= best_rank)) continue;
    Result<Service<Memory>> found = registry.find<Memory>(info.instance);
    if (!found.ok() || (*found)->kind() != kind) continue;  // another kind, or it has just gone
    best = std::move(found).value();
    best_rank = info.rank;
  }
  if (best) return best;
  constexpr std::string_view kNames[] = {"CPU", "pinned CPU", "GPU"};
  return not_found("no plugin provides ", kNames[static_cast<uint32_t>(kind)], " memory");
}

}  // namespace atl
