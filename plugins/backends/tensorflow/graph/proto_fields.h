/// The fields of one message in protobuf's wire format, one after the other, without a class for the message.
#pragma once

#include <cstdint>
#include <string_view>

namespace atl::tensorflow {

/// Never reads outside the bytes, and takes no memory.
///
///     ProtoFields fields(bytes);
///     while (fields.next()) {
///       if (fields.is_bytes(1)) name = fields.bytes();
///     }
///     if (!fields.ok()) ...
class ProtoFields {
 public:
  /// \param message  must outlive this object and what bytes() has returned
  explicit ProtoFields(std::string_view message) noexcept : left_(message) {}

  /// \returns false: there is none left, or the bytes are no message, which ok() tells.
  bool next() noexcept {
    if (left_.empty()) return false;
    uint64_t tag = 0;
    if (!read_varint(tag) || tag >> 3 == 0 || tag >> 3 > kNumberMax) return ok_ = false;
    number_ = static_cast<uint32_t>(tag >> 3);
    type_ = static_cast<uint32_t>(tag & 7);
    value_ = 0;
    bytes_ = {};
    switch (type_) {
      case kVarint:
        return ok_ = read_varint(value_);
      case kFixed64:
        return ok_ = take(8);
      case kBytes:
        return ok_ = read_varint(value_) && take(value_);
      case kFixed32:
        return ok_ = take(4);
      default:
        return ok_ = false;  // a group, which these messages do not have
    }
  }
  bool ok() const noexcept { return ok_; }

  uint32_t number() const noexcept { return number_; }
  bool is_varint(uint32_t number) const noexcept { return number_ == number && type_ == kVarint; }
  bool is_bytes(uint32_t number) const noexcept { return number_ == number && type_ == kBytes; }
  uint64_t value() const noexcept { return value_; }          ///< of a varint
  std::string_view bytes() const noexcept { return bytes_; }  ///< of any other

 private:
  static constexpr uint32_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
  static constexpr uint64_t kNumberMax = (1u << 29) - 1;

  bool read_varint(uint64_t& value) noexcept {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool take(uint64_t size) noexcept {
    if (size > left_.size()) return false;
    bytes_ = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }

  std::string_view left_, bytes_;
  uint64_t value_ = 0;
  uint32_t number_ = 0;
  uint32_t type_ = 0;
  bool ok_ = true;
};

}  // namespace atl::tensorflow
