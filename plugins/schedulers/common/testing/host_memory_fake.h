/// A provider of the CPU's memory for tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>

#include "atoll/memory/memory.h"

namespace atl::schedulers {

/// Counts what it gave. Not thread safe.
class HostMemoryFake final : public Memory {
 public:
  /// \param limit_bytes  0: none
  explicit HostMemoryFake(MemoryKind kind, uint64_t limit_bytes = 0)
      : kind_(kind), limit_bytes_(limit_bytes) {}
  HostMemoryFake(const HostMemoryFake&) = delete;
  HostMemoryFake& operator=(const HostMemoryFake&) = delete;
  virtual ~HostMemoryFake() = default;

  uint64_t live() const noexcept { return live_; }                ///< blocks that are not given back
  uint64_t allocations() const noexcept { return allocations_; }  ///< ever
  void set_limit(uint64_t limit_bytes) noexcept { limit_bytes_ = limit_bytes; }

  MemoryKind kind() const noexcept override { return kind_; }
  Result<Buffer> allocate(uint64_t size_bytes, int64_t) noexcept override {
    return give(size_bytes, size_bytes);
  }
  void free(const Buffer& buffer) noexcept override {
    std::free(buffer.data);
    used_bytes_ -= buffer.size_bytes;
    --live_;
  }
  Result<Buffer> allocate_growable(uint64_t size_bytes, uint64_t most_bytes, int64_t) noexcept override {
    Result<Buffer> buffer = give(size_bytes, most_bytes);
    if (buffer.ok()) most_bytes_[buffer->data] = most_bytes;
    return buffer;
  }
  Status grow(Buffer& buffer, uint64_t size_bytes) noexcept override {
    if (size_bytes <= buffer.size_bytes) return {};
    if (size_bytes > most_bytes_.at(buffer.data)) return make_status(Code::kOutOfRange, "no room");
    ATOLL_RETURN_IF_ERROR(count(size_bytes - buffer.size_bytes));
    buffer.size_bytes = size_bytes;
    return {};
  }
  void free_growable(const Buffer& buffer) noexcept override {
    if (most_bytes_.erase(buffer.data) != 1) std::abort();
    free(buffer);
  }
  uint64_t used_bytes() const noexcept override { return used_bytes_; }
  uint64_t limit_bytes() const noexcept override { return limit_bytes_; }

 private:
  Status count(uint64_t size_bytes) noexcept {
    if (limit_bytes_ != 0 && used_bytes_ + size_bytes > limit_bytes_) {
      return make_status(Code::kResourceExhausted, "the limit of ", limit_bytes_, " bytes is reached");
    }
    used_bytes_ += size_bytes;
    return {};
  }
  Result<Buffer> give(uint64_t size_bytes, uint64_t most_bytes) noexcept {
    ATOLL_RETURN_IF_ERROR(count(size_bytes));
    Buffer buffer;
    buffer.data = std::aligned_alloc(64, (most_bytes + 64) / 64 * 64);
    buffer.size_bytes = size_bytes;
    buffer.kind = kind_;
    ++live_;
    ++allocations_;
    return buffer;
  }

  const MemoryKind kind_;
  uint64_t limit_bytes_;
  uint64_t used_bytes_ = 0, live_ = 0, allocations_ = 0;
  std::map<const void*, uint64_t> most_bytes_;  // of those that grow
};

}  // namespace atl::schedulers
