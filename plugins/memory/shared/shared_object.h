/// POSIX shared memory objects of other processes, and mapped parts of them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "memory/shared/bus_error_guard.h"

namespace atl::memory {

/// A mapped part of an object, guarded against the object's shrinking. Move-only; unmapped when destroyed.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    swap(other);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  /// The first byte of the part.
  std::byte* data() const noexcept { return data_; }
  /// Whether pages had gone when they were touched. It stays so: they are no longer those of the object.
  bool broken() const noexcept { return BusErrorGuard::broken(watch_); }

  /// Bytes of address space, whole pages, that a part takes. The sum of the two may not overflow.
  static uint64_t mapped_bytes(uint64_t offset, uint64_t byte_size) noexcept;

 private:
  friend class PosixObject;
  void swap(Mapping& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(data_, other.data_);
    std::swap(watch_, other.watch_);
  }

  void* base_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  BusErrorGuard::Watch* watch_ = nullptr;
};

/// An open object. Move-only.
class PosixObject {
 public:
  /// Checks the key and makes it the name that opens the object. Slashes at the front do not count.
  /// \param region  for messages. Errors: INVALID_ARGUMENT a key that names no object, or one of the
  /// server's; INTERNAL the key is empty.
  static Status check_key(std::string_view region, std::string_view key, std::string* name) noexcept;
  /// \param name  from check_key(). \param key  for messages.
  /// Errors: INTERNAL there is no such object, it may not be read and written, or it is something else.
  static Result<PosixObject> open(const std::string& name, std::string_view key) noexcept;

  uint64_t size_bytes() const noexcept { return size_bytes_; }
  uid_t owner() const noexcept { return owner_; }
  /// Maps a part that lies within the object, for reading and writing; any offset will do.
  /// \param region  for messages. Errors: INVALID_ARGUMENT the system refuses; RESOURCE_EXHAUSTED too many
  /// mappings.
  Result<Mapping> map(std::string_view region, uint64_t offset, uint64_t byte_size) const noexcept;

 private:
  explicit PosixObject(int fd) noexcept : fd_(fd) {}

  FileDescriptor fd_;
  uint64_t size_bytes_ = 0;
  uid_t owner_ = 0;
};

/// A name from outside as messages show it: not longer than a name may be.
std::string shown(std::string_view name);

/// Longest name of a region, and of an object without its slash, bytes.
inline constexpr size_t kMaxNameBytes = 255;

}  // namespace atl::memory
