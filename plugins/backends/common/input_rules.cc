#include "backends/common/input_rules.h"

#include <algorithm>

#include "atoll/backend/bytes.h"
#include "atoll/backend/values.h"
#include "atoll/memory/memory.h"

namespace atl::backends {
namespace {

bool in_host_memory(const InputTensor& input) {
  return std::ranges::all_of(input.buffers, [](const Buffer& buffer) { return is_host_memory(buffer.kind); });
}

Status check_shape(const InputRule& rule, const InputTensor& input, const Request& request, bool batches) {
  const auto count = element_count(input.shape);
  uint64_t bytes = 0;
  if (!count ||
      __builtin_mul_overflow(static_cast<uint64_t>(*count), data_type_size_bytes(rule.datatype), &bytes)) {
    return invalid_argument("input '", rule.name, "': found shape ", shape_text(input.shape),
                            ", expected dimensions of 0 or more whose product fits into 63 bits");
  }
  if (batches && (input.shape.empty() || input.shape[0] != request.batch_weight())) {
    return invalid_argument("input '", rule.name, "': found shape ", shape_text(input.shape),
                            ", expected the batch size ", request.batch_weight(), " as first dimension");
  }
  if (rule.scalar && *count != 1) {
    return invalid_argument("input '", rule.name, "': found shape ", shape_text(input.shape),
                            ", expected one element");
  }
  return {};
}

Status check_bytes(const InputRule& rule, const InputTensor& input, bool check_elements) {
  const auto count = static_cast<uint64_t>(*element_count(input.shape));
  const uint64_t present = bytes_present(input);
  if (rule.datatype != DataType::kBytes) {
    const uint64_t expected = count * data_type_size_bytes(rule.datatype);
    if (present == expected) return {};
    return invalid_argument("input '", rule.name, "': found ", present, " bytes, expected ", expected,
                            " for shape ", shape_text(input.shape));
  }
  // Before memory for the elements is taken: each needs at least its length.
  if (present / kLengthBytes < count) {
    return invalid_argument("input '", rule.name, "': found ", present, " bytes, expected at least ",
                            kLengthBytes, " for each of ", count, " elements");
  }
  if (!check_elements) return {};
  return read_elements(input, count, [](size_t, uint32_t) -> Result<char*> { return nullptr; });
}

}  // namespace

uint64_t bytes_present(const InputTensor& input) noexcept {
  uint64_t sum = 0;
  for (const Buffer& buffer : input.buffers) sum += buffer.size_bytes;
  return sum;
}

Status check_input(const InputRule& rule, const InputTensor& input, const Request& request, bool batches,
                   bool check_elements, bool anywhere) noexcept {
  if (input.datatype != rule.datatype) {
    return invalid_argument("input '", rule.name, "': found datatype ", data_type_name(input.datatype),
                            ", expected ", data_type_name(rule.datatype));
  }
  ATOLL_RETURN_IF_ERROR(check_shape(rule, input, request, batches));
  const bool is_reachable = (anywhere && rule.datatype != DataType::kBytes) || in_host_memory(input);
  if (!is_reachable)
    return invalid_argument("input '", rule.name, "': found GPU memory, expected CPU memory");
  for (const Buffer& buffer : input.buffers) ATOLL_RETURN_IF_ERROR(wait_until_ready(buffer));
  return check_bytes(rule, input, check_elements);
}

bool can_be_joined(std::string_view name, bool is_ragged, const Request& a, const Request& b) noexcept {
  const InputTensor* in_a = a.find_input(name);
  const InputTensor* in_b = b.find_input(name);
  if (in_a == nullptr || in_b == nullptr) return in_a == in_b;
  if (in_a->shape.size() != in_b->shape.size()) return false;
  return is_ragged || std::ranges::equal(in_a->shape.subspan(1), in_b->shape.subspan(1));
}

}  // namespace atl::backends
