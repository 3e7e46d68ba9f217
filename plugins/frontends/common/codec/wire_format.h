/// Protobuf's wire format, read in place from a sequence of byte slices and written into plain memory.
///
/// Everything read here comes from outside: every length is checked against what is left, nothing recurses,
/// and nothing is allocated. Functions return false for malformed input; the reader is then useless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "atoll/core/utf8.h"
#include "atoll/request/arena.h"
#include "atoll/request/tensor.h"

namespace atl::frontends {

using ByteSpan = std::span<const uint8_t>;

enum class WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5
};

/// A position in a message that lies in slices. Copying it is how a sub-message is read or remembered for
/// later; the slices are borrowed and must outlive every copy.
class WireReader {
 public:
  WireReader() noexcept = default;
  explicit WireReader(std::span<const ByteSpan> slices) noexcept : next_(slices.data()) {
    for (ByteSpan slice : slices) left_ += slice.size();
  }

  uint64_t left() const noexcept { return left_; }
  bool at_end() const noexcept { return left_ == 0; }

  bool read_varint(uint64_t* value) noexcept {
    if (left_ != 0 && at_ != end_ && *at_ < 0x80) {
      *value = *at_++;
      --left_;
      return true;
    }
    return read_long_varint(value);
  }
  /// False also for field number 0 and for tags over 32 bits.
  bool read_tag(uint32_t* field, WireType* type) noexcept {
    uint64_t tag = 0;
    if (!read_varint(&tag) || tag > UINT32_MAX || (tag >> 3) == 0) return false;
    *field = static_cast<uint32_t>(tag >> 3);
    *type = static_cast<WireType>(tag & 7);
    return true;
  }
  bool read_fixed32(uint32_t* value) noexcept { return copy(value, sizeof *value); }
  bool read_fixed64(uint64_t* value) noexcept { return copy(value, sizeof *value); }

  /// Reads the length of a length-delimited field; `inner` then reads its bytes and this reader is behind it.
  bool open(WireReader* inner) noexcept {
    uint64_t length = 0;
    if (!read_varint(&length) || length > left_) return false;
    *inner = *this;
    inner->left_ = length;
    return skip(length);
  }
  bool skip(uint64_t size_bytes) noexcept;
  /// Skips the value of an unknown field. Groups are refused: proto3 has none.
  bool skip_value(WireType type) noexcept;
  bool copy(void* to, uint64_t size_bytes) noexcept;

  /// The unread bytes that lie together at the position: empty only at the end.
  ByteSpan chunk() noexcept {
    if (left_ == 0) return {};
    if (at_ == end_) advance();
    auto size = static_cast<uint64_t>(end_ - at_);
    return {at_, static_cast<size_t>(size < left_ ? size : left_)};
  }
  /// All that is left, NUL-terminated in the arena.
  std::string_view text(Arena& arena) noexcept;
  /// All that is left, as borrowed CPU buffers, one a slice; none if nothing is left.
  std::span<const Buffer> borrow(Arena& arena) noexcept;

 private:
  bool read_long_varint(uint64_t* value) noexcept;
  /// To the next slice that is not empty. Only when bytes are left.
  void advance() noexcept {
    do {
      at_ = next_->data();
      end_ = at_ + next_->size();
      ++next_;
    } while (at_ == end_);
  }

  const ByteSpan* next_ = nullptr;  ///< the slice after the present one
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;  ///< of the present slice
  uint64_t left_ = 0;             ///< bytes of the message not read yet
};

/// Bytes a varint takes.
constexpr size_t varint_size(uint64_t value) noexcept {
  size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}
/// Bytes that a length-delimited field with a one-byte tag takes.
constexpr size_t length_field_size(uint64_t length) noexcept {
  return 1 + varint_size(length) + static_cast<size_t>(length);
}

/// Writes fields with numbers 1..15 into memory that the caller has sized with the functions above.
class WireWriter {
 public:
  explicit WireWriter(uint8_t* to) noexcept : at_(to) {}
  uint8_t* at() const noexcept { return at_; }

  void varint(uint64_t value) noexcept {
    while (value >= 0x80) {
      *at_++ = static_cast<uint8_t>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<uint8_t>(value);
  }
  void tag(uint32_t field, WireType type) noexcept {
    *at_++ = static_cast<uint8_t>((field << 3) | static_cast<uint32_t>(type));
  }
  /// Tag and length; the bytes follow.
  void length(uint32_t field, uint64_t size_bytes) noexcept {
    tag(field, WireType::kLength);
    varint(size_bytes);
  }
  void bytes(const void* data, size_t size_bytes) noexcept {
    if (size_bytes != 0) std::memcpy(at_, data, size_bytes);
    at_ += size_bytes;
  }
  void text(uint32_t field, std::string_view value) noexcept {
    length(field, value.size());
    bytes(value.data(), value.size());
  }

 private:
  uint8_t* at_;
};

}  // namespace atl::frontends
