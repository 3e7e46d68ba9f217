/// BYTES tensors, as models use them for texts, images and other things without a fixed size. Each element is
/// a length (a little-endian uint32) and that many bytes. Elements are not terminated, need not be UTF-8,
/// have no alignment, and may begin in one buffer of an input and end in the next. KServe V2 calls the type
/// BYTES, a ModelConfig TYPE_STRING.
///
/// The text "cat" and an empty one as a tensor of shape [2], 11 bytes:
///
///     03 00 00 00  63 61 74   00 00 00 00
///
/// Reading an input and answering with texts, in an execute() that works with a BatchResponder
/// (atoll/backend/responder.h):
///
///     Result<std::vector<std::string>> names = backends::input_texts(request, "NAME");
///     if (!names.ok()) return std::move(names).status();
///     for (std::string& name : *names) name = "hello " + name;
///     responder.add_texts(i, wanted, shape, *names);
///
/// Writing texts to memory of the caller, such as the input of a runtime that has BYTES itself:
///
///     std::vector<std::byte> tensor(backends::encoded_size_bytes(words));
///     Status status = backends::encode_texts(words, {.data = tensor.data(), .size_bytes = tensor.size()});
///
/// input_texts() copies each element into a std::string. A backend that wants the bytes elsewhere (in its
/// runtime's own strings, or not at all) walks through them by read_elements() instead.
///
/// Functions here keep nothing; any thread may call them. They work on memory of the CPU.
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

/// Bytes of the length in front of each element.
inline constexpr uint64_t kLengthBytes = 4;

/// Walks through the elements of an input, and copies each to where `place` says. Nothing is allocated for an
/// element before its length was compared with the bytes that there are.
///
///     Status status = backends::read_elements(*input, count, [&](size_t index, uint32_t size) {
///       rows[index].resize(size);
///       return Result<char*>(rows[index].data());
///     });
///
/// To learn the sizes alone, let `place` note them and return null.
/// \param input  in memory of the CPU, and ready (is_host_ready())
/// \param count  of elements, as the input's shape says
/// \param place  Result<char*>(size_t index, uint32_t size): gives memory of `size` bytes for the element;
/// null: the element is skipped; a failure ends the walk
/// Errors: INVALID_ARGUMENT the input has fewer or more bytes than its elements say, with the element in the
/// text: "input 'NAME': element 1 of 2: found 3 bytes, expected 7 as its length says"; those that `place`
/// returns. Elements that were copied before stay where they are.
template <class Place>
Status read_elements(const InputTensor& input, size_t count, Place&& place) noexcept;

/// The elements of the request's input of this name, in order, copied; as many as its shape says. Waits until
/// the bytes are ready.
/// Errors: INVALID_ARGUMENT there is no such input; it is of another type; its bytes are not its elements; it
/// is in memory of a GPU. INTERNAL, UNAVAILABLE a device has lost the bytes.
inline Result<std::vector<std::string>> input_texts(const Request& request, std::string_view name);

/// The bytes that the texts take as a tensor: 4 for the length of each, and its own. The sum is not checked
/// for overflow; texts in memory cannot reach it.
/// \param texts  a range of anything that converts to std::string_view
template <class Texts>
uint64_t encoded_size_bytes(const Texts& texts) noexcept;

/// Writes the texts as a tensor to the beginning of `to`. The rest of `to` stays as it is. The kind of memory
/// is not looked at: it must be memory of the CPU (is_host_memory()).
///
///     Status status = response->allocate(output, backends::encoded_size_bytes(words));
///     if (status.ok() && !backends::is_host_memory(output.buffer.kind)) status = wrong_memory(output);
///     if (status.ok()) status = backends::encode_texts(words, output.buffer);
///
/// Errors: INTERNAL `to` is smaller than encoded_size_bytes(); INVALID_ARGUMENT a text has 4 GiB or more.
/// Some elements may be written then.
template <class Texts>
Status encode_texts(const Texts& texts, const Buffer& to) noexcept;

/// Writes an element's length, for those who write elements themselves. \returns the place behind it
inline std::byte* put_length(uint32_t size, std::byte* to) noexcept {
  for (int shift = 0; shift < 32; shift += 8) *to++ = static_cast<std::byte>(size >> shift);
  return to;
}

// --- implementation ---

/// Nothing in here is for callers; it may change with any version.
namespace detail {

/// Reads an input's bytes in order, across its buffers.
class Cursor {
 public:
  /// \param input  its buffers outlive this object
  explicit Cursor(const InputTensor& input) noexcept : buffers_(input.buffers) {
    for (const Buffer& buffer : buffers_) left_ += buffer.size_bytes;
  }
  /// Bytes that were not read yet.
  uint64_t left() const noexcept { return left_; }
  /// Reads `size` bytes, which must not be more than left().
  /// \param to  null: the bytes are skipped
  void read(char* to, uint64_t size) noexcept {
    left_ -= size;
    while (size != 0) {
      const Buffer& buffer = buffers_.front();
      // An element, and also its length, may lie across any number of buffers.
      const uint64_t part = std::min(size, buffer.size_bytes - offset_);
      // memcpy must not be given null, even for nothing: an empty buffer may have it.
      if (to != nullptr && part != 0) {
        std::memcpy(to, static_cast<const char*>(buffer.data) + offset_, part);
        to += part;
      }
      offset_ += part;
      size -= part;
      // Also skips buffers of size 0.
      if (offset_ == buffer.size_bytes) {
        buffers_ = buffers_.subspan(1);
        offset_ = 0;
      }
    }
  }
  /// Reads the length of the next element. left() must be at least 4.
  uint32_t read_length() noexcept {
    // Read byte by byte: the length has no alignment, and is little-endian on every machine.
    unsigned char bytes[kLengthBytes] = {};
    read(reinterpret_cast<char*>(bytes), sizeof bytes);
    return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
  }

 private:
  /// Those that were not read to their end.
  std::span<const Buffer> buffers_;
  /// Bytes of all buffers that were not read yet.
  uint64_t left_ = 0;
  /// Bytes of the first of buffers_ that were read.
  uint64_t offset_ = 0;
};

}  // namespace detail

template <class Place>
Status read_elements(const InputTensor& input, size_t count, Place&& place) noexcept {
  detail::Cursor cursor(input);
  for (size_t i = 0; i < count; ++i) {
    // The lengths come from the client. Each is compared with what is left before it is believed.
    if (cursor.left() < kLengthBytes) {
      return invalid_argument("input '", input.name, "': element ", i, " of ", count, ": found ",
                              cursor.left(), " bytes, expected the 4 bytes of its length");
    }
    const uint32_t size = cursor.read_length();
    if (size > cursor.left()) {
      return invalid_argument("input '", input.name, "': element ", i, " of ", count, ": found ",
                              cursor.left(), " bytes, expected ", size, " as its length says");
    }
    // So `place` is never asked for more bytes than the input has.
    Result<char*> to = place(i, size);
    if (!to.ok()) return std::move(to).status();
    cursor.read(*to, size);
  }
  // Bytes that belong to no element are an error: the client has meant something else than the shape says.
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
  // Nothing if the shape has a negative dimension, or more elements than a number can say.
  const std::optional<int64_t> count = element_count(input->shape);
  if (!count) return invalid_argument("input '", name, "' has the shape ", shape_text(input->shape));
  // read_elements() looks at the bytes with the CPU, and does not wait for a device.
  for (const Buffer& buffer : input->buffers) {
    ATOLL_RETURN_IF_ERROR(detail::check_host_memory(buffer, cat("input '", name, "'")));
  }
  // Grows with the bytes that are there, not with what the shape says: a client may claim any number of
  // elements.
  std::vector<std::string> texts;
  Status status = read_elements(*input, static_cast<size_t>(*count), [&](size_t, uint32_t size) {
    return Result<char*>(texts.emplace_back(size, '\0').data());
  });
  if (!status.ok()) return status;
  // All of them, in the order of the tensor.
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
  // Before anything is written, so a buffer that is too small stays as it is.
  const uint64_t needed = encoded_size_bytes(texts);
  if (needed > to.size_bytes) {
    return internal_error("found a buffer of ", to.size_bytes, " bytes, expected ", needed);
  }
  auto* at = static_cast<std::byte*>(to.data);
  // Each element: first its length, then its bytes.
  for (const auto& each : texts) {
    // Converted once, whatever type the caller's texts have.
    const std::string_view text(each);
    if (text.size() > std::numeric_limits<uint32_t>::max()) {
      return invalid_argument("found a text of ", text.size(), " bytes, expected less than 4 GiB");
    }
    at = put_length(static_cast<uint32_t>(text.size()), at);
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    // The next element begins directly behind, without padding.
    at += text.size();
  }
  return {};
}

}  // namespace atl::backends
