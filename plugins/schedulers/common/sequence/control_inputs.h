/// The tensors by which a scheduler of sequences tells a model what its requests are (`control_input` of
/// `sequence_batching`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "atoll/request/request.h"
#include "atoll/request/tensor.h"

namespace atl::schedulers {

enum class ControlKind : uint32_t { kStart, kReady, kEnd, kCorrelationId };

struct ControlInput {
  std::string name;
  ControlKind kind = ControlKind::kStart;
  /// Of a correlation id UINT64, INT64, UINT32, INT32 or BYTES; of the others BOOL, INT32 or FP32.
  DataType datatype = DataType::kInvalid;
  std::array<std::byte, 4> false_value{};  ///< an element of the type; not of a correlation id
  std::array<std::byte, 4> true_value{};
};

/// What the model is told of one request.
struct ControlValues {
  uint32_t sequence_flags = 0;  ///< SequenceFlags
  bool ready = true;            ///< false: the request stands for a row of the batch that has none
  SequenceId sequence;          ///< empty: 0, or an empty text
};

/// Each is a tensor of one element, with shape [1], or [1, 1] if the model batches. Constant after it is made.
class ControlInputs {
 public:
  ControlInputs() = default;
  ControlInputs(std::vector<ControlInput> inputs, bool has_batch_dimension)
      : inputs_(std::move(inputs)), rank_(has_batch_dimension ? 2 : 1) {}

  bool empty() const noexcept { return inputs_.empty(); }
  /// Adds the tensors to a request. One that comes back, with the same sequence, gets new values and takes no
  /// more memory of its arena: it may come back any number of times. The values are in the arena or in this
  /// object, which outlives the request. [request]
  void set(Request& request, const ControlValues& values) const noexcept;

 private:
  void write_value(Request& request, const ControlInput& control, const ControlValues& values,
                   Buffer* buffer) const noexcept;

  std::vector<ControlInput> inputs_;
  size_t rank_ = 1;
};

}  // namespace atl::schedulers
