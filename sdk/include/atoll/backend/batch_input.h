/// Inputs that a backend makes from a whole batch, such as the number of elements of each of its requests:
/// `batch_input` of a model's configuration. Pure functions of the requests' shapes.
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

/// One entry of the configuration.
struct BatchInput {
  using Kind = BatchInputSpec::Kind;

  Kind kind = Kind::kElementCount;
  DataType datatype = DataType::kInt32;  ///< or kFp32; either takes 4 bytes
  std::string source;                    ///< the input whose shapes say it
  std::vector<std::string> targets;      ///< the model's inputs; each gets the same value
  bool batching = false;                 ///< the first dimension of the requests' shapes is their batch
};

/// The name that a configuration has for it: "BATCH_ELEMENT_COUNT".
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

/// Every entry, in order. \param model  of a configuration that was validated
inline std::vector<BatchInput> batch_inputs_of(const ModelDescription& model);

/// The shape of the tensor for these requests, one batch in its order, and whether its values can be said.
/// \param shape  its contents are replaced
/// \returns the tensor's bytes.
/// Errors: INVALID_ARGUMENT a request without the source input or with another number of dimensions in it
/// than the first; a value that does not fit into INT32 or that FP32 does not hold exactly; a total beyond
/// 2^63 - 1.
inline Result<uint64_t> batch_input_shape(const BatchInput& input, std::span<Request* const> requests,
                                          std::vector<int64_t>& shape) noexcept;

/// Writes the values for requests that batch_input_shape() accepted. `to` may be larger than the tensor, for
/// a model that takes padded batches: the rest repeats the last sum if the kind accumulates, else it is 0.
/// BATCH_MAX_ELEMENT_COUNT_AS_SHAPE is all 0, so that no model gets to see what the memory held before.
inline void write_batch_input(const BatchInput& input, std::span<Request* const> requests,
                              std::span<std::byte> to) noexcept;

// --- implementation ---

namespace detail {

inline constexpr uint64_t kValueBytes = 4;
inline constexpr int kFp32ExactBits = std::numeric_limits<float>::digits;

/// What the kinds are made of, summed up over the requests.
struct Totals {
  int64_t elements = 0;
  int64_t largest = 0;  ///< elements of one request
  int64_t items = 0;    ///< batch sizes
  int64_t rank = 0;     ///< without the batch dimension
};

template <class... Parts>
Status refused(const BatchInput& input, const Parts&... parts) {
  return invalid_argument("batch input '", input.targets.empty() ? std::string() : input.targets[0], "' (",
                          batch_input_kind_name(input.kind), " of '", input.source, "'): ", parts...);
}

inline bool accumulates(BatchInput::Kind kind) {
  return kind == BatchInput::Kind::kAccumulatedElementCount ||
         kind == BatchInput::Kind::kAccumulatedElementCountWithZero;
}

inline bool tells_shapes(BatchInput::Kind kind) {
  return kind == BatchInput::Kind::kItemShape || kind == BatchInput::Kind::kItemShapeFlatten;
}

inline std::span<const int64_t> item_dims(const BatchInput& input, const InputTensor& source) {
  return source.shape.subspan(input.batching ? 1 : 0);
}

inline int64_t items_of(const BatchInput& input, const InputTensor& source) {
  return input.batching ? source.shape[0] : 1;
}

inline Status check_value(const BatchInput& input, int64_t value) {
  if (input.datatype == DataType::kInt32) {
    if (value <= std::numeric_limits<int32_t>::max()) return {};
    return refused(input, "found ", value, ", expected at most ", std::numeric_limits<int32_t>::max(),
                   ", the largest INT32");
  }
  auto bits = static_cast<uint64_t>(value);
  if (value == 0 || bits >> std::countr_zero(bits) >> kFp32ExactBits == 0) return {};
  return refused(input, "found ", value, ", expected a number that FP32 holds exactly");
}

/// Adds one request, whose source input is `source`.
inline Status add(const BatchInput& input, const InputTensor& source, Totals& totals) {
  auto elements = element_count(source.shape);
  if (!elements || __builtin_add_overflow(totals.elements, *elements, &totals.elements) ||
      __builtin_add_overflow(totals.items, items_of(input, source), &totals.items)) {
    return refused(input, "found shape ", shape_text(source.shape),
                   ", expected dimensions of 0 or more and a total of the batch below 2^63");
  }
  totals.largest = std::max(totals.largest, *elements);
  if (accumulates(input.kind)) return check_value(input, totals.elements);
  if (input.kind == BatchInput::Kind::kElementCount) return check_value(input, *elements);
  if (!tells_shapes(input.kind)) return {};
  for (int64_t dim : item_dims(input, source)) ATOLL_RETURN_IF_ERROR(check_value(input, dim));
  return {};
}

inline Status add_up(const BatchInput& input, std::span<Request* const> requests, Totals& totals) {
  size_t rank = 0;
  for (const Request* request : requests) {
    const InputTensor* source = request->find_input(input.source);
    if (source == nullptr) return refused(input, "found no such input in the request, expected one");
    if (request == requests.front()) rank = source->shape.size();
    if (source->shape.size() != rank || (input.batching && rank == 0)) {
      return refused(input, "found ", source->shape.size(), " dimensions, expected ", rank == 0 ? 1 : rank,
                     " as in the batch's first request");
    }
    ATOLL_RETURN_IF_ERROR(add(input, *source, totals));
  }
  totals.rank = static_cast<int64_t>(rank) - (input.batching ? 1 : 0);
  return {};
}

/// Writes values one after the other, as far as there is room.
class Values {
 public:
  Values(const BatchInput& input, std::span<std::byte> to) noexcept
      : fp32_(input.datatype == DataType::kFp32), to_(to) {}

  void put(int64_t value) noexcept {
    if (to_.size() < kValueBytes) return;
    auto whole = static_cast<int32_t>(value);
    auto real = static_cast<float>(value);
    std::memcpy(to_.data(), fp32_ ? static_cast<const void*>(&real) : &whole, kValueBytes);
    to_ = to_.subspan(kValueBytes);
  }
  void fill(int64_t value) noexcept {
    while (to_.size() >= kValueBytes) put(value);
  }

 private:
  bool fp32_;
  std::span<std::byte> to_;
};

inline void put_item_shape(const BatchInput& input, const InputTensor& source, Values& values) noexcept {
  std::span<const int64_t> dims = item_dims(input, source);
  for (int64_t item = 0; item < items_of(input, source); ++item) {
    for (int64_t dim : dims) values.put(dim);
  }
}

}  // namespace detail

inline std::vector<BatchInput> batch_inputs_of(const ModelDescription& model) {
  std::vector<BatchInput> inputs;
  for (const BatchInputSpec& spec : model.batch_inputs) {
    inputs.push_back({spec.kind, spec.datatype, spec.sources.empty() ? std::string() : spec.sources[0],
                      spec.targets, model.max_batch_size > 0});
  }
  return inputs;
}

inline Result<uint64_t> batch_input_shape(const BatchInput& input, std::span<Request* const> requests,
                                          std::vector<int64_t>& shape) noexcept {
  detail::Totals totals;
  ATOLL_RETURN_IF_ERROR(detail::add_up(input, requests, totals));
  auto count = static_cast<int64_t>(requests.size());
  switch (input.kind) {
    case BatchInput::Kind::kAccumulatedElementCountWithZero:
      shape = {count + 1};
      break;
    case BatchInput::Kind::kMaxElementCountAsShape:
      shape = {totals.largest};
      break;
    case BatchInput::Kind::kItemShape:
      shape = {totals.items, totals.rank};
      break;
    case BatchInput::Kind::kItemShapeFlatten:
      if (__builtin_mul_overflow(totals.items, totals.rank, &count))
        count = std::numeric_limits<int64_t>::max();
      shape = {count};
      break;
    default:
      shape = {count};
  }
  auto values = element_count(shape);
  uint64_t size_bytes = 0;
  if (!values || __builtin_mul_overflow(static_cast<uint64_t>(*values), detail::kValueBytes, &size_bytes)) {
    return detail::refused(input, "found shape ", shape_text(shape), ", expected less than 2^63 bytes");
  }
  return size_bytes;
}

inline void write_batch_input(const BatchInput& input, std::span<Request* const> requests,
                              std::span<std::byte> to) noexcept {
  detail::Values values(input, to);
  if (input.kind == BatchInput::Kind::kAccumulatedElementCountWithZero) values.put(0);
  int64_t sum = 0;
  for (const Request* request : requests) {
    const InputTensor& source = *request->find_input(input.source);
    int64_t elements = element_count(source.shape).value_or(0);
    sum += elements;
    if (detail::accumulates(input.kind)) values.put(sum);
    if (input.kind == BatchInput::Kind::kElementCount) values.put(elements);
    if (detail::tells_shapes(input.kind)) detail::put_item_shape(input, source, values);
  }
  values.fill(detail::accumulates(input.kind) ? sum : 0);
}

}  // namespace atl::backends
