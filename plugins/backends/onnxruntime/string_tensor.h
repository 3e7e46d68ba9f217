/// BYTES tensors (a little-endian 32-bit length before each element) to and from ONNX string tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/request/tensor.h"
#include "backends/onnxruntime/ort_api.h"

namespace atl::ort {

/// Sets `count` elements of a string tensor, from `first` on, from the input's bytes, whose elements may
/// cross buffers. Errors: INVALID_ARGUMENT fewer or more bytes than the elements say.
Status fill_strings(OrtValue& value, size_t first, size_t count, const InputTensor& input) noexcept;

/// The elements of a string tensor, ready to be written out in parts.
class StringElements {
 public:
  Status read(const OrtValue& value, size_t count) noexcept;
  /// Bytes of `count` elements from `first` on, with their lengths.
  uint64_t encoded_size_bytes(size_t first, size_t count) const noexcept {
    return 4 * count + offset(first + count) - offset(first);
  }
  /// Writes exactly encoded_size_bytes(). Errors: INVALID_ARGUMENT an element of 4 GiB or more.
  Status encode(size_t first, size_t count, std::byte* to) const noexcept;

 private:
  size_t offset(size_t index) const noexcept {
    return index < offsets_.size() ? offsets_[index] : data_.size();
  }

  std::string data_;
  std::vector<size_t> offsets_;
};

}  // namespace atl::ort
