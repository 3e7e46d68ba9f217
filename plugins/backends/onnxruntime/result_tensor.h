/// A tensor that a run has made, to be copied out in parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"
#include "backends/onnxruntime/ort_api.h"
#include "backends/onnxruntime/string_tensor.h"

namespace atl::ort {

/// Use one for many tensors. Not thread safe.
class ResultTensor {
 public:
  /// Looks at the value, which must live while parts are written. `datatype` is the value's.
  Status read(OrtValue& value, DataType datatype) noexcept;

  std::span<const int64_t> shape() const noexcept { return shape_; }
  uint64_t element_count() const noexcept { return count_; }

  /// Bytes of `count` elements from `from` on, as a response carries them.
  uint64_t size_bytes(uint64_t from, uint64_t count) const noexcept;
  /// Where they are, of another type than BYTES: which need not be memory of the CPU.
  void* elements(uint64_t from) const noexcept {
    return const_cast<std::byte*>(data_) + from * data_type_size_bytes(datatype_);
  }
  /// Writes exactly size_bytes(). Errors: INVALID_ARGUMENT an element of BYTES that is too long.
  Status write(uint64_t from, uint64_t count, std::byte* to) const noexcept;
  /// Of BOOL: none of the `count` elements from `from` on is false.
  bool all_true(uint64_t from, uint64_t count) const noexcept;
  /// Gives back the copy of BYTES, which may be large.
  void done() noexcept { strings_ = StringElements(); }

 private:
  DataType datatype_ = DataType::kInvalid;
  std::vector<int64_t> shape_;
  uint64_t count_ = 0;
  const std::byte* data_ = nullptr;
  StringElements strings_;  ///< for BYTES
};

}  // namespace atl::ort
