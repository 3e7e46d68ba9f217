/// Memory that is given back at its end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "atoll/core/followed_service.h"
#include "atoll/gpu/cuda.h"
#include "atoll/memory/memory.h"

namespace atl::cuda_backend {

/// A piece of memory of a provider's, which is not stopped meanwhile. Move-only. Nothing of the device uses it any more
/// when it ends.
class MemoryBlock {
 public:
  MemoryBlock() noexcept = default;
  MemoryBlock(MemoryBlock&& other) noexcept { *this = std::move(other); }
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    if (this != &other) {
      reset();
      provider_ = std::move(other.provider_);
      buffer_ = std::exchange(other.buffer_, {});
      counter_ = std::exchange(other.counter_, nullptr);
    }
    return *this;
  }
  ~MemoryBlock() { reset(); }

  /// \param counter  the block's bytes are added to it as long as it is there; may be null
  /// Errors: those of Memory::allocate(); RESOURCE_EXHAUSTED also: there is no provider.
  static Result<MemoryBlock> allocate(const Followed<Memory>& memory, uint64_t size_bytes, int32_t device,
                                      std::atomic<uint64_t>* counter = nullptr) noexcept {
    MemoryBlock block;
    block.provider_ = memory.hold();
    if (!block.provider_) return make_status(Code::kResourceExhausted, "no plugin provides the memory");
    Result<Buffer> buffer = block.provider_->allocate(size_bytes, device);
    if (!buffer.ok()) {
      block.provider_.reset();
      return std::move(buffer).status();
    }
    block.buffer_ = *buffer;
    block.counter_ = counter;
    if (counter != nullptr) counter->fetch_add(size_bytes, std::memory_order_relaxed);
    return block;
  }

  explicit operator bool() const noexcept { return static_cast<bool>(provider_); }
  const Buffer& buffer() const noexcept { return buffer_; }
  uint64_t size_bytes() const noexcept { return buffer_.size_bytes; }
  CudaAddress address() const noexcept { return to_address(buffer_.data); }
  std::byte* bytes() const noexcept { return static_cast<std::byte*>(buffer_.data); }  ///< of host memory
  /// Memory::copy() to the block. Errors: as there.
  Status fill(const Buffer& from) noexcept { return provider_->copy(buffer_, from); }

  void reset() noexcept {
    if (!provider_) return;
    if (counter_ != nullptr) counter_->fetch_sub(buffer_.size_bytes, std::memory_order_relaxed);
    provider_->free(buffer_);
    provider_.reset();
    buffer_ = {};
  }

 private:
  Followed<Memory>::Hold provider_;
  Buffer buffer_;
  std::atomic<uint64_t>* counter_ = nullptr;
};

}  // namespace atl::cuda_backend
