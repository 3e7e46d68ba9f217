/// What is known of a model's implicit state (`state` of `sequence_batching`) before there is a sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl::schedulers {

/// One tensor that goes from each request of a sequence to the next. Output and input belong together because
/// they are in one entry, whatever their names are.
struct StateTensor {
  std::string input_name;   ///< as which a request gets it
  std::string output_name;  ///< as which the backend gives its next value
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> dims;          ///< without the batch dimension; -1: any size
  std::vector<int64_t> initial_dims;  ///< of the first value; as `dims`, and without -1
  /// The elements of the first value. Empty: zeros, which are empty texts if they are BYTES.
  std::vector<std::byte> initial_data;
  bool same_buffer = false;  ///< the backend writes the next value over the present one
  bool growable = false;     ///< with same_buffer: of a size that grows in place
};

/// Bytes that the zeros of so many elements take; nothing if 63 bits do not hold it.
std::optional<uint64_t> zeros_size_bytes(DataType datatype, std::span<const int64_t> shape) noexcept;

/// All states of one model, constant. Shapes are those that a backend sees: if the model batches they begin with
/// a batch dimension, which is 1, because a request of a sequence is one row of a batch.
class StateLayout {
 public:
  /// No state.
  StateLayout() = default;
  /// Errors: INVALID_ARGUMENT a type, dimensions or initial data that contradict each other, or a name that is
  /// there twice.
  static Result<StateLayout> make(std::string model_name, std::vector<StateTensor> tensors,
                                  bool has_batch_dimension);

  struct Entry {
    StateTensor tensor;
    std::vector<int64_t> initial_shape;
    uint64_t initial_size_bytes = 0;
    /// Why a value cannot be this state's; OK: it can. Errors: INVALID_ARGUMENT.
    Status check(DataType datatype, std::span<const int64_t> shape, uint64_t size_bytes) const noexcept;
  };

  bool empty() const noexcept { return entries_.empty(); }
  std::span<const Entry> entries() const noexcept { return entries_; }
  const std::string& model_name() const noexcept { return model_name_; }
  /// By the name of the output. Errors: INVALID_ARGUMENT there is none, in Triton's words.
  Result<size_t> find(std::string_view output_name) const noexcept;

 private:
  std::string model_name_;
  std::vector<Entry> entries_;
};

/// What a backend is told that gives a state to a model without any. INVALID_ARGUMENT, in Triton's words.
Status state_configuration_is_missing(std::string_view state, std::string_view model_name) noexcept;

/// What a backend is told that commits a state without output() before it. INVALID_ARGUMENT.
Status state_has_no_output(std::string_view state) noexcept;

}  // namespace atl::schedulers
