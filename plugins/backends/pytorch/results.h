/// From what forward() gives to parts of responses.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "backends/pytorch/signature.h"

namespace atl::pytorch {

/// The value of an output: forward() gives one tensor, a tuple, a list or a dictionary of tensors, or a list of texts alone
/// or in a tuple. Errors: INVALID_ARGUMENT there is none, or it is something else.
Result<c10::IValue> value_of(const TorchOutputPlan& plan, const c10::IValue& result) noexcept;

/// One value, to be copied out in parts. Use one for many. Not thread safe.
class ResultValue {
 public:
  /// Errors: INVALID_ARGUMENT the value is of another type than the configuration says.
  Status read(const c10::IValue& value, DataType datatype) noexcept;

  /// Of texts: how many there are.
  std::span<const int64_t> shape() const noexcept { return shape_; }
  uint64_t element_count() const noexcept { return count_; }
  /// Bytes of `count` elements from `from` on, as a response carries them.
  uint64_t size_bytes(uint64_t from, uint64_t count) const noexcept;
  /// Writes exactly size_bytes(). Errors: INVALID_ARGUMENT a text of 4 GiB or more.
  Status write(uint64_t from, uint64_t count, std::byte* to) const noexcept;
  /// Lets go of the value.
  void done() noexcept;

 private:
  std::span<const std::string> texts(uint64_t from, uint64_t count) const noexcept {
    return std::span(texts_).subspan(from, count);
  }

  DataType datatype_ = DataType::kInvalid;
  at::Tensor tensor_;
  std::vector<std::string> texts_;
  std::vector<int64_t> shape_;
  uint64_t count_ = 0;
};

}  // namespace atl::pytorch
