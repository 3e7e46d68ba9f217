/// The tensors of a model, and how large each is in a batch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"
#include "atoll/request/tensor.h"

namespace atl::cuda_backend {

/// One tensor as the kernels see it: that of the whole batch.
struct BatchTensor {
  std::string name;
  DataType datatype = DataType::kInvalid;
  bool is_output = false;
  bool optional = false;      ///< inputs only: a batch may be without it
  std::vector<int64_t> dims;  ///< the batch dimension, -1, first where the model batches; -1: variable
  bool flat = false;  ///< there is no batch dimension: the elements of all requests one after the other
};

/// All tensors of a model. A tensor's place in it is its slot, by which everything else names it.
struct TensorTable {
  bool batches = false;
  std::vector<BatchTensor> tensors;  ///< inputs, then outputs, both as in the configuration

  /// \param output  which of the two is looked for; a model may have an input and an output of one name
  std::optional<uint32_t> find(std::string_view name, bool output) const noexcept;
};

/// Errors: INVALID_ARGUMENT a tensor of BYTES, or one that has no known datatype.
Result<TensorTable> make_tensor_table(const ModelDescription& model);

/// The shapes of one batch. Made once for an instance and filled again for each batch, without allocating. One
/// thread at a time.
class BatchExtents {
 public:
  explicit BatchExtents(const TensorTable& table);

  /// \param size  the batch's, 1 where the model does not batch; rounded up, if the batch is padded
  void set_batch(int64_t size) noexcept { batch_ = size; }
  /// \param shape  of the whole batch's tensor, the batch dimension first if the model batches
  /// Errors: INVALID_ARGUMENT another rank or fixed dimension than the configuration's, a negative dimension, or more bytes
  /// than an int64_t counts.
  Status set(uint32_t slot, std::span<const int64_t> shape) noexcept;
  /// An optional input that the batch is without: all dimensions, count and bytes are 0.
  void set_absent(uint32_t slot) noexcept;

  int64_t batch() const noexcept { return batch_; }
  size_t tensor_count() const noexcept { return tensors_.size(); }
  std::span<const int64_t> shape(uint32_t slot) const noexcept { return tensors_[slot].shape; }
  int64_t count(uint32_t slot) const noexcept { return tensors_[slot].count; }  ///< elements
  int64_t bytes(uint32_t slot) const noexcept { return tensors_[slot].bytes; }

 private:
  struct Extent {
    std::vector<int64_t> shape;
    int64_t count = 0;
    int64_t bytes = 0;
  };
  const TensorTable* table_;  // outlives this
  int64_t batch_ = 1;
  std::vector<Extent> tensors_;
};

}  // namespace atl::cuda_backend
