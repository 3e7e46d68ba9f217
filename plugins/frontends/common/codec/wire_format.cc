#include "frontends/common/codec/wire_format.h"

namespace atl::frontends {
namespace {

constexpr int kMaxVarintBytes = 10;

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

}  // namespace atl::frontends
