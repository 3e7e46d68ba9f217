#include "common/wire_format.h"

namespace atl::frontends {
namespace {

constexpr int kMaxVarintBytes = 10;

/// Bytes of the well-formed UTF-8 character at `at`; 0 if there is none.
size_t utf8_character(const uint8_t* at, size_t left) noexcept {
  uint8_t lead = at[0];
  size_t size = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (left < size || at[1] < low || at[1] > high) return 0;
  for (size_t i = 2; i < size; ++i) {
    if ((at[i] & 0xC0) != 0x80) return 0;
  }
  return size;
}

}  // namespace

bool WireReader::read_long_varint(uint64_t* value) noexcept {
  uint64_t result = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    if (left_ == 0) return false;
    if (at_ == end_) advance();
    uint8_t byte = *at_++;
    --left_;
    result |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return false;
}

bool WireReader::skip(uint64_t size_bytes) noexcept {
  if (size_bytes > left_) return false;
  left_ -= size_bytes;
  while (size_bytes > static_cast<uint64_t>(end_ - at_)) {
    size_bytes -= static_cast<uint64_t>(end_ - at_);
    advance();
  }
  at_ += size_bytes;
  return true;
}

bool WireReader::skip_value(WireType type) noexcept {
  uint64_t value = 0;
  switch (type) {
    case WireType::kVarint:
      return read_varint(&value);
    case WireType::kFixed64:
      return skip(8);
    case WireType::kLength:
      return read_varint(&value) && skip(value);
    case WireType::kFixed32:
      return skip(4);
    default:
      return false;
  }
}

bool WireReader::copy(void* to, uint64_t size_bytes) noexcept {
  if (size_bytes > left_) return false;
  auto* out = static_cast<uint8_t*>(to);
  while (size_bytes != 0) {
    ByteSpan bytes = chunk();
    size_t part = bytes.size() < size_bytes ? bytes.size() : static_cast<size_t>(size_bytes);
    std::memcpy(out, bytes.data(), part);
    out += part;
    at_ += part;
    left_ -= part;
    size_bytes -= part;
  }
  return true;
}

std::string_view WireReader::text(Arena& arena) noexcept {
  auto size = static_cast<size_t>(left_);
  auto* to = static_cast<char*>(arena.allocate(size + 1, 1));
  copy(to, size);
  to[size] = '\0';
  return {to, size};
}

std::span<const Buffer> WireReader::borrow(Arena& arena) noexcept {
  size_t count = 0;
  for (WireReader counter = *this; !counter.at_end(); ++count) counter.skip(counter.chunk().size());
  auto* buffers = arena.make_array<Buffer>(count);
  for (size_t i = 0; i < count; ++i) {
    ByteSpan bytes = chunk();
    // Inputs are read-only by contract; Buffer serves outputs as well and so has no const form.
    buffers[i].data = const_cast<uint8_t*>(bytes.data());
    buffers[i].size_bytes = bytes.size();
    skip(bytes.size());
  }
  return {buffers, count};
}

bool is_utf8(std::string_view text) noexcept {
  const auto* at = reinterpret_cast<const uint8_t*>(text.data());
  size_t left = text.size();
  while (left != 0) {
    uint64_t eight = 0;
    if (left >= sizeof eight) {
      std::memcpy(&eight, at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        left -= sizeof eight;
        continue;
      }
    }
    size_t size = utf8_character(at, left);
    if (size == 0) return false;
    at += size;
    left -= size;
  }
  return true;
}

}  // namespace atl::frontends
