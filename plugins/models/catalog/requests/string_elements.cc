#include "models/catalog/requests/string_elements.h"

#include <bit>
#include <cstring>

namespace atl::models {
namespace {

static_assert(std::endian::native == std::endian::little, "lengths are read in the host's byte order");

/// A position in a chain of buffers.
class Cursor {
 public:
  explicit Cursor(std::span<const Buffer> buffers) noexcept : buffers_(buffers) {
    for (const Buffer& buffer : buffers_) remaining_ += buffer.size_bytes;
  }
  uint64_t remaining() const noexcept { return remaining_; }

  /// Copies size bytes; they must be there.
  void read(void* to, uint64_t size) noexcept {
    auto* out = static_cast<unsigned char*>(to);
    while (size != 0) {
      uint64_t here = step(size);
      std::memcpy(out, static_cast<const unsigned char*>(buffers_[index_].data) + offset_ - here, here);
      out += here;
      size -= here;
    }
  }
  void skip(uint64_t size) noexcept {
    while (size != 0) size -= step(size);
  }

 private:
  /// Advances inside one buffer by at most size, more than 0. \returns by how much
  uint64_t step(uint64_t size) noexcept {
    while (offset_ == buffers_[index_].size_bytes) {
      ++index_;
      offset_ = 0;
    }
    uint64_t left = buffers_[index_].size_bytes - offset_;
    uint64_t here = size < left ? size : left;
    offset_ += here;
    remaining_ -= here;
    return here;
  }

  std::span<const Buffer> buffers_;
  size_t index_ = 0;
  uint64_t offset_ = 0;
  uint64_t remaining_ = 0;
};

}  // namespace

StringElementsCheck check_string_elements(std::span<const Buffer> buffers, uint64_t elements) noexcept {
  Cursor cursor(buffers);
  uint64_t found = 0;
  while (cursor.remaining() >= sizeof(uint32_t)) {
    if (found == elements) return {StringElementsFault::kTooMany, found + 1, elements};
    uint32_t length = 0;
    cursor.read(&length, sizeof length);
    if (length > cursor.remaining()) {
      return {StringElementsFault::kTruncatedData, cursor.remaining(), length};
    }
    cursor.skip(length);
    ++found;
  }
  if (cursor.remaining() != 0) return {StringElementsFault::kTruncatedLength, cursor.remaining(), 0};
  if (found != elements) return {StringElementsFault::kTooFew, found, elements};
  return {};
}

}  // namespace atl::models
