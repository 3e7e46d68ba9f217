/// Values to tensor bytes and back.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "atoll/request/tensor.h"

namespace atl::test {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
/// Drops a rest that is not a whole value.
template <class T>
std::vector<T> values_of(std::string_view bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Elements of BYTES: each a 32-bit little-endian length and its bytes.
inline std::string encode_bytes_tensor(const std::vector<std::string>& elements) {
  std::string out;
  for (const std::string& element : elements) {
    auto size = static_cast<uint32_t>(element.size());
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(size >> shift));
    out += element;
  }
  return out;
}
/// Stops at a length that does not fit.
inline std::vector<std::string> decode_bytes_tensor(std::string_view bytes) {
  std::vector<std::string> elements;
  while (bytes.size() >= 4) {
    uint32_t size = 0;
    for (size_t i = 4; i-- > 0;) size = size << 8 | static_cast<uint8_t>(bytes[i]);
    bytes.remove_prefix(4);
    if (size > bytes.size()) break;
    elements.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return elements;
}

/// An input's bytes, its buffers joined.
inline std::string input_bytes(const InputTensor& input) {
  std::string bytes;
  for (const Buffer& buffer : input.buffers)
    bytes.append(static_cast<const char*>(buffer.data), buffer.size_bytes);
  return bytes;
}

}  // namespace atl::test
