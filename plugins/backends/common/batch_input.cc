#include "common/batch_input.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "common/config_view.h"

namespace atl::backends {
namespace {

constexpr uint64_t kValueBytes = 4;
constexpr int kFp32ExactBits = std::numeric_limits<float>::digits;

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
                          inference::BatchInput::Kind_Name(input.kind), " of '", input.source,
                          "'): ", parts...);
}

bool accumulates(BatchInput::Kind kind) {
  return kind == inference::BatchInput::BATCH_ACCUMULATED_ELEMENT_COUNT ||
         kind == inference::BatchInput::BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO;
}

bool tells_shapes(BatchInput::Kind kind) {
  return kind == inference::BatchInput::BATCH_ITEM_SHAPE ||
         kind == inference::BatchInput::BATCH_ITEM_SHAPE_FLATTEN;
}

std::span<const int64_t> item_dims(const BatchInput& input, const InputTensor& source) {
  return source.shape.subspan(input.batching ? 1 : 0);
}

int64_t items_of(const BatchInput& input, const InputTensor& source) {
  return input.batching ? source.shape[0] : 1;
}

Status check_value(const BatchInput& input, int64_t value) {
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
Status add(const BatchInput& input, const InputTensor& source, Totals& totals) {
  auto elements = element_count(source.shape);
  if (!elements || __builtin_add_overflow(totals.elements, *elements, &totals.elements) ||
      __builtin_add_overflow(totals.items, items_of(input, source), &totals.items)) {
    return refused(input, "found shape ", shape_text(source.shape),
                   ", expected dimensions of 0 or more and a total of the batch below 2^63");
  }
  totals.largest = std::max(totals.largest, *elements);
  if (accumulates(input.kind)) return check_value(input, totals.elements);
  if (input.kind == inference::BatchInput::BATCH_ELEMENT_COUNT) return check_value(input, *elements);
  if (!tells_shapes(input.kind)) return {};
  for (int64_t dim : item_dims(input, source)) ATOLL_RETURN_IF_ERROR(check_value(input, dim));
  return {};
}

Status add_up(const BatchInput& input, std::span<Request* const> requests, Totals& totals) {
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

void put_item_shape(const BatchInput& input, const InputTensor& source, Values& values) noexcept {
  std::span<const int64_t> dims = item_dims(input, source);
  for (int64_t item = 0; item < items_of(input, source); ++item) {
    for (int64_t dim : dims) values.put(dim);
  }
}

}  // namespace

std::vector<BatchInput> batch_inputs_of(const inference::ModelConfig& config) {
  std::vector<BatchInput> inputs;
  for (const auto& entry : config.batch_input()) {
    BatchInput& input = inputs.emplace_back();
    input.kind = entry.kind();
    input.datatype = data_type_of(entry.data_type());
    if (entry.source_input_size() != 0) input.source = entry.source_input(0);
    input.targets.assign(entry.target_name().begin(), entry.target_name().end());
    input.batching = config.max_batch_size() > 0;
  }
  return inputs;
}

Result<uint64_t> batch_input_shape(const BatchInput& input, std::span<Request* const> requests,
                                   std::vector<int64_t>& shape) noexcept {
  Totals totals;
  ATOLL_RETURN_IF_ERROR(add_up(input, requests, totals));
  auto count = static_cast<int64_t>(requests.size());
  switch (input.kind) {
    case inference::BatchInput::BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO:
      shape = {count + 1};
      break;
    case inference::BatchInput::BATCH_MAX_ELEMENT_COUNT_AS_SHAPE:
      shape = {totals.largest};
      break;
    case inference::BatchInput::BATCH_ITEM_SHAPE:
      shape = {totals.items, totals.rank};
      break;
    case inference::BatchInput::BATCH_ITEM_SHAPE_FLATTEN:
      if (__builtin_mul_overflow(totals.items, totals.rank, &count))
        count = std::numeric_limits<int64_t>::max();
      shape = {count};
      break;
    default:
      shape = {count};
  }
  auto values = element_count(shape);
  uint64_t size_bytes = 0;
  if (!values || __builtin_mul_overflow(static_cast<uint64_t>(*values), kValueBytes, &size_bytes)) {
    return refused(input, "found shape ", shape_text(shape), ", expected less than 2^63 bytes");
  }
  return size_bytes;
}

void write_batch_input(const BatchInput& input, std::span<Request* const> requests,
                       std::span<std::byte> to) noexcept {
  Values values(input, to);
  if (input.kind == inference::BatchInput::BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO) values.put(0);
  int64_t sum = 0;
  for (const Request* request : requests) {
    const InputTensor& source = *request->find_input(input.source);
    int64_t elements = element_count(source.shape).value_or(0);
    sum += elements;
    if (accumulates(input.kind)) values.put(sum);
    if (input.kind == inference::BatchInput::BATCH_ELEMENT_COUNT) values.put(elements);
    if (tells_shapes(input.kind)) put_item_shape(input, source, values);
  }
  values.fill(accumulates(input.kind) ? sum : 0);
}

}  // namespace atl::backends
