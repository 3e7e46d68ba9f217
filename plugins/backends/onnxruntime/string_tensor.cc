#include "string_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace atl::ort {
namespace {

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
      uint64_t part = std::min(size, buffer.size_bytes - offset_);
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
    unsigned char bytes[4] = {};
    read(reinterpret_cast<char*>(bytes), sizeof bytes);
    return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
  }

 private:
  std::span<const Buffer> buffers_;
  uint64_t left_ = 0;
  uint64_t offset_ = 0;
};

/// \param place  Result<char*>(size_t index, uint32_t size): where the bytes go; null: nowhere.
template <class Place>
Status walk(size_t count, const InputTensor& input, Place&& place) noexcept {
  Cursor cursor(input);
  for (size_t i = 0; i < count; ++i) {
    if (cursor.left() < 4) {
      return invalid_argument("input '", input.name, "': element ", i, " of ", count, ": found ",
                              cursor.left(), " bytes, expected the 4 bytes of its length");
    }
    uint32_t size = cursor.read_length();
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

}  // namespace

Status fill_strings(OrtValue& value, size_t first, size_t count, const InputTensor& input) noexcept {
  return walk(count, input, [&](size_t index, uint32_t size) -> Result<char*> {
    char* to = nullptr;
    ATOLL_RETURN_IF_ERROR(check(api().GetResizedStringTensorElementBuffer(&value, first + index, size, &to)));
    return to;
  });
}

Status check_strings(size_t count, const InputTensor& input) noexcept {
  return walk(count, input, [](size_t, uint32_t) -> Result<char*> { return nullptr; });
}

Status StringElements::read(const OrtValue& value, size_t count) noexcept {
  size_t size = 0;
  ATOLL_RETURN_IF_ERROR(check(api().GetStringTensorDataLength(&value, &size)));
  data_.resize(size);
  offsets_.resize(count);
  if (count == 0) return {};
  return check(api().GetStringTensorContent(&value, data_.data(), size, offsets_.data(), count));
}

Status StringElements::encode(size_t first, size_t count, std::byte* to) const noexcept {
  for (size_t i = first; i < first + count; ++i) {
    size_t size = offset(i + 1) - offset(i);
    if (size > std::numeric_limits<uint32_t>::max()) {
      return invalid_argument("element ", i, ": found ", size, " bytes, expected less than 4 GiB");
    }
    for (int shift = 0; shift < 32; shift += 8) *to++ = static_cast<std::byte>(size >> shift);
    if (size != 0) std::memcpy(to, data_.data() + offset(i), size);
    to += size;
  }
  return {};
}

}  // namespace atl::ort
