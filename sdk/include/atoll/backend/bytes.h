/// BYTES tensors: each element is a little-endian 32-bit length and that many bytes, wherever the tensor's
/// memory is cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/backend/values.h"
#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl::backends {

/// Bytes before each element.
inline constexpr uint64_t kLengthBytes = 4;

/// Walks through the elements of an input in CPU memory and copies each to where `place` says.
/// \param count  of elements, as the input's shape says
/// \param place  Result<char*>(size_t index, uint32_t size): memory for the element, null to skip it
/// Errors: INVALID_ARGUMENT fewer or more bytes than the elements say; what `place` returns.
template <class Place>
Status read_elements(const InputTensor& input, size_t count, Place&& place) noexcept;

/// The elements of the request's input of this name, as many as its shape says.
/// Errors: INVALID_ARGUMENT there is no such input, it is of another type, its bytes are not its elements;
/// GPU memory.
inline Result<std::vector<std::string>> input_texts(const Request& request, std::string_view name);

/// What the texts take as a tensor. \param texts  a range of what converts to std::string_view
template <class Texts>
uint64_t encoded_size_bytes(const Texts& texts) noexcept;

/// Writes the texts as a tensor.
/// Errors: INTERNAL `to` is smaller than encoded_size_bytes(); INVALID_ARGUMENT a text of 4 GiB or more.
template <class Texts>
Status encode_texts(const Texts& texts, const Buffer& to) noexcept;

/// Writes an element's length. \returns the place behind it
inline std::byte* put_length(uint32_t size, std::byte* to) noexcept {
  for (int shift = 0; shift < 32; shift += 8) *to++ = static_cast<std::byte>(size >> shift);
  return to;
}

// --- implementation ---

namespace detail {

/// Reads on through the buffers of an input.
class Cursor {
 public:
  explicit Cursor(const InputTensor& input) noexcept : buffers_(input.buffers) {
    for (const Buffer& buffer : buffers_) left_ += buffer.size_bytes;
  }
  uint64_t left() const noexcept { return left_; }
  /// \param to  null: skip. Only up to left().
  void read(char* to, uint64_t size) noexcept {
    left_ -= size;
    while (size != 0) {
      const Buffer& buffer = buffers_.front();
      const uint64_t part = std::min(size, buffer.size_bytes - offset_);
      if (to != nullptr && part != 0) {
        std::memcpy(to, static_cast<const char*>(buffer.data) + offset_, part);
        to += part;
      }
      offset_ += part;
      size -= part;
      if (offset_ == buffer.size_bytes) {
        buffers_ = buffers_.subspan(1);
        offset_ = 0;
      }
    }
  }
  uint32_t read_length() noexcept {
    unsigned char bytes[kLengthBytes] = {};
    read(reinterpret_cast<char*>(bytes), sizeof bytes);
    return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
  }

 private:
  std::span<const Buffer> buffers_;
  uint64_t left_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace detail

template <class Place>
Status read_elements(const InputTensor& input, size_t count, Place&& place) noexcept {
  detail::Cursor cursor(input);
  for (size_t i = 0; i < count; ++i) {
    if (cursor.left() < kLengthBytes) {
      return invalid_argument("input '", input.name, "': element ", i, " of ", count, ": found ",
                              cursor.left(), " bytes, expected the 4 bytes of its length");
    }
    const uint32_t size = cursor.read_length();
    if (size > cursor.left()) {
      return invalid_argument("input '", input.name, "': element ", i, " of ", count, ": found ",
                              cursor.left(), " bytes, expected ", size, " as its length says");
    }
    Result<char*> to = place(i, size);
    if (!to.ok()) return std::move(to).status();
    cursor.read(*to, size);
  }
  if (cursor.left() != 0) {
    return invalid_argument("input '", input.name, "': found ", cursor.left(),
                            " bytes after the last of its ", count, " elements, expected none");
  }
  return {};
}

inline Result<std::vector<std::string>> input_texts(const Request& request, std::string_view name) {
  const InputTensor* input = request.find_input(name);
  if (input == nullptr) return invalid_argument("input '", name, "' is missing");
  if (input->datatype != DataType::kBytes) {
    return invalid_argument("input '", name, "' has type ", data_type_name(input->datatype),
                            ", expected BYTES");
  }
  const std::optional<int64_t> count = element_count(input->shape);
  if (!count) return invalid_argument("input '", name, "' has the shape ", shape_text(input->shape));
  for (const Buffer& buffer : input->buffers) {
    ATOLL_RETURN_IF_ERROR(detail::check_host_memory(buffer, cat("input '", name, "'")));
  }
  std::vector<std::string> texts;  // grows with what is there, not with what the shape says
  Status status = read_elements(*input, static_cast<size_t>(*count), [&](size_t, uint32_t size) {
    return Result<char*>(texts.emplace_back(size, '\0').data());
  });
  if (!status.ok()) return status;
  return texts;
}

template <class Texts>
uint64_t encoded_size_bytes(const Texts& texts) noexcept {
  uint64_t size_bytes = 0;
  for (const auto& text : texts) size_bytes += kLengthBytes + std::string_view(text).size();
  return size_bytes;
}

template <class Texts>
Status encode_texts(const Texts& texts, const Buffer& to) noexcept {
  const uint64_t needed = encoded_size_bytes(texts);
  if (needed > to.size_bytes) {
    return internal_error("found a buffer of ", to.size_bytes, " bytes, expected ", needed);
  }
  auto* at = static_cast<std::byte*>(to.data);
  for (const auto& each : texts) {
    const std::string_view text(each);
    if (text.size() > std::numeric_limits<uint32_t>::max()) {
      return invalid_argument("found a text of ", text.size(), " bytes, expected less than 4 GiB");
    }
    at = put_length(static_cast<uint32_t>(text.size()), at);
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    at += text.size();
  }
  return {};
}

}  // namespace atl::backends
