/// Memory of one request's body.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace atl::frontends {

/// Contiguous bytes, aligned for vector instructions, with room behind them that parsers may read. Large ones
/// only take address space until they are filled, and grow without being copied. Not thread safe.
class BodyBuffer {
 public:
  static constexpr size_t kAlignment = 64;
  /// Bytes behind the end that may be read.
  static constexpr size_t kPadding = 64;

  BodyBuffer() noexcept = default;
  BodyBuffer(BodyBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}
  BodyBuffer& operator=(BodyBuffer&& other) noexcept {
    if (this != &other) {
      free_memory();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, 0);
      mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
    }
    return *this;
  }
  ~BodyBuffer() { free_memory(); }

  uint8_t* data() noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  size_t capacity() const noexcept { return capacity_; }
  std::span<const uint8_t> bytes() const noexcept { return {data_, size_}; }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }

  /// Room for so many bytes in all; keeps what is there. False: there is no memory for it.
  bool reserve(size_t bytes) noexcept {
    if (bytes <= capacity_ && data_ != nullptr) return true;
    size_t rounded = (bytes + kPadding + kAlignment - 1) / kAlignment * kAlignment;
    if (rounded < bytes) return false;
    if (size_ != 0 && rounded >= kMappedBytes) return remap(rounded);
    auto* grown = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded));
    if (grown == nullptr) return false;
    if (size_ != 0) std::memcpy(grown, data_, size_);
    // Readers may look at the padding; what it holds does not matter, but it is to be defined.
    std::memset(grown + rounded - kPadding, 0, kPadding);
    free_memory();
    data_ = grown;
    capacity_ = rounded - kPadding;
    return true;
  }
  /// Where the next bytes go; advance() then takes them.
  uint8_t* space() noexcept { return data_ + size_; }
  size_t space_bytes() const noexcept { return capacity_ - size_; }
  void advance(size_t bytes) noexcept { size_ += bytes; }
  /// False: there is no memory for it.
  bool append(const void* bytes, size_t count) noexcept {
    if (size_ + count > capacity_ || data_ == nullptr) {
      const size_t doubled = capacity_ * 2;
      if (!reserve(size_ + count > doubled ? size_ + count : doubled)) return false;
    }
    if (count != 0) std::memcpy(space(), bytes, count);
    size_ += count;
    return true;
  }
  void clear() noexcept { size_ = 0; }

 private:
  /// Buffers that have something in them and become larger than this are pages, which the system moves.
  static constexpr size_t kMappedBytes = size_t{1} << 20;

  bool remap(size_t bytes) noexcept {
    void* grown = mapped_bytes_ != 0
                      ? ::mremap(data_, mapped_bytes_, bytes, MREMAP_MAYMOVE)
                      : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED) return false;
    if (mapped_bytes_ == 0) {
      std::memcpy(grown, data_, size_);
      std::free(data_);
    }
    data_ = static_cast<uint8_t*>(grown);
    mapped_bytes_ = bytes;
    capacity_ = bytes - kPadding;
    return true;
  }
  void free_memory() noexcept {
    if (mapped_bytes_ != 0) {
      ::munmap(data_, mapped_bytes_);
    } else {
      std::free(data_);
    }
    mapped_bytes_ = 0;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t mapped_bytes_ = 0;  ///< 0: of the C library
};

}  // namespace atl::frontends
