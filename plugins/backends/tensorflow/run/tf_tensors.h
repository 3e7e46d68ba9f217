/// Requests' inputs as tensors of TensorFlow, and its results as parts of responses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/request.h"
#include "backends/tensorflow/library/tf_api.h"
#include "backends/tensorflow/run/tf_model.h"

namespace atl::tensorflow {

/// The inputs of all requests one after the other as one tensor, for checked requests that can be joined. The tensor has a copy of
/// the bytes: an operation may keep its argument (AssignVariableOp does), and the bytes of a request end with it.
/// \param weight  the sum of the requests' batch sizes, if the model batches
/// Errors: INVALID_ARGUMENT bytes that are no elements, totals that no tensor holds; RESOURCE_EXHAUSTED.
Result<TfHandle<TF_Tensor>> join_inputs(const TfModelPlan& model, const TfInputPlan& plan,
                                        std::span<Request* const> requests, uint32_t weight) noexcept;

/// What the backend makes of the requests' shapes. Errors: those of backends::batch_input_shape(); RESOURCE_EXHAUSTED.
Result<TfHandle<TF_Tensor>> make_batch_input(const TfModelPlan& model, const TfInputPlan& plan,
                                             std::span<Request* const> requests) noexcept;

/// A tensor that a run has made, to be copied out in parts. Use one for many. Not thread safe.
class TfResult {
 public:
  /// Looks at the tensor, which must live while parts are written. Errors: INTERNAL it is of another type.
  Status read(const TF_Tensor& tensor, DataType datatype) noexcept;

  std::span<const int64_t> shape() const noexcept { return shape_; }
  uint64_t element_count() const noexcept { return count_; }
  /// Bytes of `count` elements from `from` on, as a response carries them.
  uint64_t size_bytes(uint64_t from, uint64_t count) const noexcept;
  /// Writes exactly size_bytes(). Errors: INVALID_ARGUMENT a text of 4 GiB or more.
  Status write(uint64_t from, uint64_t count, std::byte* to) const noexcept;

 private:
  DataType datatype_ = DataType::kInvalid;
  std::vector<int64_t> shape_;
  uint64_t count_ = 0;
  const std::byte* data_ = nullptr;
};

}  // namespace atl::tensorflow
