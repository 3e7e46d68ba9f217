/// A provider of the CPU's memory for tests.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "atoll/memory.h"

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
    if (limit_bytes_ != 0 && used_bytes_ + size_bytes > limit_bytes_) {
      return make_status(Code::kResourceExhausted, "the limit of ", limit_bytes_, " bytes is reached");
    }
    Buffer buffer;
    buffer.data = std::aligned_alloc(64, (size_bytes + 64) / 64 * 64);
    buffer.size_bytes = size_bytes;
    buffer.kind = kind_;
    used_bytes_ += size_bytes;
    ++live_;
    ++allocations_;
    return buffer;
  }
  void free(const Buffer& buffer) noexcept override {
    std::free(buffer.data);
    used_bytes_ -= buffer.size_bytes;
    --live_;
  }
  uint64_t used_bytes() const noexcept override { return used_bytes_; }
  uint64_t limit_bytes() const noexcept override { return limit_bytes_; }

 private:
  const MemoryKind kind_;
  uint64_t limit_bytes_;
  uint64_t used_bytes_ = 0, live_ = 0, allocations_ = 0;
};

}  // namespace atl::schedulers
