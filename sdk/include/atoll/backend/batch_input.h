/// Inputs that a backend makes from a whole batch, such as the number of elements of each of its requests:
/// `batch_input` of a model's configuration. Models with ragged batches (`allow_ragged_batch`) need them to
/// find out where one request's elements end.
///
/// A configuration asks for such an input, here named "LENGTHS", as follows:
///
///     batch_input {
///       kind: BATCH_ELEMENT_COUNT
///       target_name: "LENGTHS"     # the model's input that gets the values
///       data_type: TYPE_INT32      # or TYPE_FP32
///       source_input: "X"          # the requests' input whose elements are counted
///     }
///
/// "LENGTHS" is no entry of `input`: clients do not send it. For a batch of three requests whose source input
/// has 2, 5 and 3 elements the kinds have these values:
///
///     kind                                        shape    values
///     BATCH_ELEMENT_COUNT                         [3]      2, 5, 3
///     BATCH_ACCUMULATED_ELEMENT_COUNT             [3]      2, 7, 10
///     BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO   [4]      0, 2, 7, 10
///     BATCH_MAX_ELEMENT_COUNT_AS_SHAPE            [5]      0, 0, 0, 0, 0
///
/// BATCH_ITEM_SHAPE has a row for each item of the batch. For two requests with shapes [2, 4, 6] and [1, 3,
/// 3], so three items, it is [[4, 6], [4, 6], [3, 3]], of shape [3, 2]; BATCH_ITEM_SHAPE_FLATTEN has the same
/// values in the shape [6].
///
/// A backend reads the entries at the load and makes the tensors for each batch:
///
///     inputs_ = backends::batch_inputs_of(source.model);  // in load()
///     ...
///     std::vector<int64_t> shape;
///     for (const backends::BatchInput& input : inputs_) {
///       Result<uint64_t> size_bytes = backends::batch_input_shape(input, batch.requests, shape);
///       if (!size_bytes.ok()) return std::move(size_bytes).status();
///       std::span<std::byte> to = tensor(input.targets, shape, *size_bytes);
///       backends::write_batch_input(input, batch.requests, to);
///     }
///
/// If batch_input_shape() refuses, returning its failure from execute() before anything was answered fails
/// all requests of the batch, which is right where the tensor is of the whole batch. Its text says what was
/// found and what was expected:
///
///     batch input 'LENGTHS' (BATCH_ELEMENT_COUNT of 'X'): found no such input in the request, expected one
///
/// All functions are pure: they depend on the requests' shapes alone, keep nothing, and may be called by any
/// thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"
#include "atoll/request/request.h"

namespace atl::backends {

/// One entry of the configuration, as the functions below need it.
struct BatchInput {
  /// BatchInputSpec says what each kind means.
  using Kind = BatchInputSpec::Kind;

  /// What the values are, see the table above.
  Kind kind = Kind::kElementCount;
  /// kInt32 or kFp32: the configuration allows no other. A value takes 4 bytes with either.
  DataType datatype = DataType::kInt32;
  /// The input of the requests whose shapes say the values.
  std::string source;
  /// The model's inputs that get the tensor. Each of them gets the same values.
  std::vector<std::string> targets;
  /// The model batches, so the first dimension of the requests' shapes is their batch size.
  bool batching = false;
};

/// The name that a configuration has for the kind: "BATCH_ELEMENT_COUNT".
constexpr std::string_view batch_input_kind_name(BatchInput::Kind kind) noexcept {
  constexpr std::string_view kNames[] = {"BATCH_ELEMENT_COUNT",
                                         "BATCH_ACCUMULATED_ELEMENT_COUNT",
                                         "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO",
                                         "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE",
                                         "BATCH_ITEM_SHAPE",
                                         "BATCH_ITEM_SHAPE_FLATTEN"};
  auto index = static_cast<uint32_t>(kind);
  return index < 6 ? kNames[index] : "<invalid>";
}

/// Every entry of `batch_input`, in the configuration's order.
/// \param model  of a configuration that was validated: every entry has one source
inline std::vector<BatchInput> batch_inputs_of(const ModelDescription& model);

/// Says which shape the tensor has for these requests, and checks that its values can be said in the tensor's
/// type.
/// \param requests  one batch, in its order
/// \param shape  its contents are replaced by the shape of the tensor
/// \returns the size of the tensor, in bytes.
/// Errors: INVALID_ARGUMENT a request has no such source input, or another number of dimensions in it than
/// the first request; a value does not fit into INT32, or FP32 does not hold it exactly; the elements of the
/// batch are more than 2^63 - 1.
inline Result<uint64_t> batch_input_shape(const BatchInput& input, std::span<Request* const> requests,
                                          std::vector<int64_t>& shape) noexcept;

/// Writes the values for requests that batch_input_shape() has accepted.
/// \param to  memory of the CPU, at any address; nothing is written behind its end. It may be larger than the
/// tensor, for a model that takes padded batches: the rest repeats the last sum if the kind accumulates, else
/// it is 0. The whole tensor of BATCH_MAX_ELEMENT_COUNT_AS_SHAPE is 0, so that no model gets to see what the
/// memory held before.
inline void write_batch_input(const BatchInput& input, std::span<Request* const> requests,
                              std::span<std::byte> to) noexcept;

// --- implementation ---

/// Nothing in here is for callers; it may change with any version.
namespace detail {

/// Bytes of one value, INT32 or FP32.
inline constexpr uint64_t kValueBytes = 4;
/// Whole numbers of up to so many significant bits are exact in FP32.
inline constexpr int kFp32ExactBits = std::numeric_limits<float>::digits;

/// What shapes are made of, summed up over the requests.
struct Totals {
  /// Elements of all requests.
  int64_t elements = 0;
  /// Elements of the request that has the most.
  int64_t largest = 0;
  /// The sum of the requests' batch sizes; if the model does not batch, the number of requests.
  int64_t items = 0;
  /// The number of dimensions of the source, without the batch dimension.
  int64_t rank = 0;
};

/// A refusal that names the tensor, its kind and its source in front of what is wrong.
template <class... Parts>
Status refused(const BatchInput& input, const Parts&... parts) {
  return invalid_argument("batch input '", input.targets.empty() ? std::string() : input.targets[0], "' (",
                          batch_input_kind_name(input.kind), " of '", input.source, "'): ", parts...);
}

/// Whether a value is the sum of a request's elements and of those before it.
inline bool accumulates(BatchInput::Kind kind) {
  return kind == BatchInput::Kind::kAccumulatedElementCount ||
         kind == BatchInput::Kind::kAccumulatedElementCountWithZero;
}

/// Whether the values are dimensions and not counts.
inline bool tells_shapes(BatchInput::Kind kind) {
  return kind == BatchInput::Kind::kItemShape || kind == BatchInput::Kind::kItemShapeFlatten;
}

/// The dimensions of one item of the request.
inline std::span<const int64_t> item_dims(const BatchInput& input, const InputTensor& source) {
  return source.shape.subspan(input.batching ? 1 : 0);
}

/// How many items the request has.
inline int64_t items_of(const BatchInput& input, const InputTensor& source) {
  return input.batching ? source.shape[0] : 1;
}

/// Whether the tensor's type holds the value exactly. A whole number is exact in FP32 if it has at most 24
/// bits between its first and its last 1.
inline Status check_value(const BatchInput& input, int64_t value) {
  if (input.datatype == DataType::kInt32) {
    if (value <= std::numeric_limits<int32_t>::max()) return {};
    return refused(input, "found ", value, ", expected at most ", std::numeric_limits<int32_t>::max(),
                   ", the largest INT32");
  }
  // Leading and trailing zeros cost no precision: the exponent holds them.
  auto bits = static_cast<uint64_t>(value);
  if (value == 0 || bits >> std::countr_zero(bits) >> kFp32ExactBits == 0) return {};
  return refused(input, "found ", value, ", expected a number that FP32 holds exactly");
}

/// Adds one request, whose source input is `source`, and checks the values that are written for it.
/// Errors: INVALID_ARGUMENT see batch_input_shape().
inline Status add(const BatchInput& input, const InputTensor& source, Totals& totals) {
  auto elements = element_count(source.shape);
  // Validation has looked at each shape by itself. Only the sums over a batch may still be too large.
  if (!elements || __builtin_add_overflow(totals.elements, *elements, &totals.elements) ||
      __builtin_add_overflow(totals.items, items_of(input, source), &totals.items)) {
    return refused(input, "found shape ", shape_text(source.shape),
                   ", expected dimensions of 0 or more and a total of the batch below 2^63");
  }
  totals.largest = std::max(totals.largest, *elements);
  // The value of this request is the sum up to and including it.
  if (accumulates(input.kind)) return check_value(input, totals.elements);
  if (input.kind == BatchInput::Kind::kElementCount) return check_value(input, *elements);
  // BATCH_MAX_ELEMENT_COUNT_AS_SHAPE writes no counts.
  if (!tells_shapes(input.kind)) return {};
  for (int64_t dim : item_dims(input, source)) ATOLL_RETURN_IF_ERROR(check_value(input, dim));
  return {};
}

/// Adds all requests of the batch.
inline Status add_up(const BatchInput& input, std::span<Request* const> requests, Totals& totals) {
  // With the batch dimension, if there is one.
  size_t rank = 0;
  for (const Request* request : requests) {
    const InputTensor* source = request->find_input(input.source);
    if (source == nullptr) return refused(input, "found no such input in the request, expected one");
    // The first request decides how many dimensions there are: rows of one tensor have one length.
    if (request == requests.front()) rank = source->shape.size();
    // A batching model's source has the batch dimension at least.
    if (source->shape.size() != rank || (input.batching && rank == 0)) {
      return refused(input, "found ", source->shape.size(), " dimensions, expected ", rank == 0 ? 1 : rank,
                     " as in the batch's first request");
    }
    // Stops at the first request whose value cannot be said: the tensor would be wrong for all of them.
    ATOLL_RETURN_IF_ERROR(add(input, *source, totals));
  }
  totals.rank = static_cast<int64_t>(rank) - (input.batching ? 1 : 0);
  return {};
}

/// Writes values one after the other, as far as there is room. The address need not be aligned, so each is
/// copied.
class Values {
 public:
  Values(const BatchInput& input, std::span<std::byte> to) noexcept
      : fp32_(input.datatype == DataType::kFp32), to_(to) {}

  /// Writes one value, or nothing if fewer than 4 bytes are left.
  void put(int64_t value) noexcept {
    if (to_.size() < kValueBytes) return;
    // check_value() has seen to it that neither conversion changes the value.
    auto whole = static_cast<int32_t>(value);
    auto real = static_cast<float>(value);
    std::memcpy(to_.data(), fp32_ ? static_cast<const void*>(&real) : &whole, kValueBytes);
    // What is left of the memory, for the next value.
    to_ = to_.subspan(kValueBytes);
  }
  /// Writes the value as often as there is room for it.
  void fill(int64_t value) noexcept {
    while (to_.size() >= kValueBytes) put(value);
  }

 private:
  /// The tensor is of FP32; otherwise of INT32.
  bool fp32_;
  /// The memory behind the last value.
  std::span<std::byte> to_;
};

/// Writes a row for each item of the request.
inline void put_item_shape(const BatchInput& input, const InputTensor& source, Values& values) noexcept {
  // All items of a request have one shape, so its row comes as often as it has items.
  std::span<const int64_t> dims = item_dims(input, source);
  for (int64_t item = 0; item < items_of(input, source); ++item) {
    for (int64_t dim : dims) values.put(dim);
  }
}

}  // namespace detail

inline std::vector<BatchInput> batch_inputs_of(const ModelDescription& model) {
  std::vector<BatchInput> inputs;
  for (const BatchInputSpec& spec : model.batch_inputs) {
    // Validation has seen to it that an entry has a source; without one every batch is refused with a text
    // that says so.
    inputs.push_back({spec.kind, spec.datatype, spec.sources.empty() ? std::string() : spec.sources[0],
                      spec.targets, model.max_batch_size > 0});
  }
  return inputs;
}

inline Result<uint64_t> batch_input_shape(const BatchInput& input, std::span<Request* const> requests,
                                          std::vector<int64_t>& shape) noexcept {
  detail::Totals totals;
  ATOLL_RETURN_IF_ERROR(detail::add_up(input, requests, totals));
  // The kinds that count elements have one value for each request.
  auto count = static_cast<int64_t>(requests.size());
  // add_up() has checked the values; what is left is how many of them there are.
  switch (input.kind) {
    case BatchInput::Kind::kAccumulatedElementCountWithZero:
      // The 0 in front of the sums is a value of its own.
      shape = {count + 1};
      break;
    case BatchInput::Kind::kMaxElementCountAsShape:
      // The shape itself is what the model wants to know.
      shape = {totals.largest};
      break;
    case BatchInput::Kind::kItemShape:
      // A row for each item, with one value for each dimension.
      shape = {totals.items, totals.rank};
      break;
    case BatchInput::Kind::kItemShapeFlatten:
      // The same rows one behind the other. If there are too many of them, the check below refuses.
      if (__builtin_mul_overflow(totals.items, totals.rank, &count))
        count = std::numeric_limits<int64_t>::max();
      shape = {count};
      break;
    default:
      shape = {count};
  }
  // Each number in the shape fits; their product, or its bytes, may not.
  auto values = element_count(shape);
  // 4 bytes for each value of either type.
  uint64_t size_bytes = 0;
  if (!values || __builtin_mul_overflow(static_cast<uint64_t>(*values), detail::kValueBytes, &size_bytes)) {
    return detail::refused(input, "found shape ", shape_text(shape), ", expected less than 2^63 bytes");
  }
  return size_bytes;
}

inline void write_batch_input(const BatchInput& input, std::span<Request* const> requests,
                              std::span<std::byte> to) noexcept {
  detail::Values values(input, to);
  // The first request's elements begin at 0.
  if (input.kind == BatchInput::Kind::kAccumulatedElementCountWithZero) values.put(0);
  // Of all requests up to and including the one at hand.
  int64_t sum = 0;
  for (const Request* request : requests) {
    // batch_input_shape() has found the source in every request.
    const InputTensor& source = *request->find_input(input.source);
    // There always is a count: batch_input_shape() refuses other shapes.
    int64_t elements = element_count(source.shape).value_or(0);
    // Without overflow: batch_input_shape() has added the same numbers.
    sum += elements;
    if (detail::accumulates(input.kind)) values.put(sum);
    if (input.kind == BatchInput::Kind::kElementCount) values.put(elements);
    if (detail::tells_shapes(input.kind)) detail::put_item_shape(input, source, values);
  }
  // The rest of a padded tensor. Sums stay where they are, so padding looks like requests without elements.
  values.fill(detail::accumulates(input.kind) ? sum : 0);
}

}  // namespace atl::backends
