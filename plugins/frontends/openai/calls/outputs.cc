#include "frontends/openai/calls/outputs.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "atoll/memory/memory.h"

namespace atl::frontends::openai {
namespace {

Status check_memory(const OutputTensor& output) {
  if (output.buffer.kind == MemoryKind::kGpu)
    return internal_error("the output '", output.name, "' is in memory of a GPU");
  return wait_until_ready(output.buffer);
}

/// Calls `take` with each element. Errors: INTERNAL the bytes are not the elements.
template <class Take>
Status read_texts(const OutputTensor& output, Take&& take) {
  ATOLL_RETURN_IF_ERROR(check_memory(output));
  std::string_view rest(static_cast<const char*>(output.buffer.data), output.buffer.size_bytes);
  while (!rest.empty()) {
    uint32_t size = 0;
    if (rest.size() < sizeof size) return internal_error("the output '", output.name, "' is cut");
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
    if (rest.size() < size) return internal_error("the output '", output.name, "' is cut");
    take(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return {};
}

template <class Number, class As>
std::vector<As> numbers_in(const Buffer& buffer) {
  std::vector<Number> values(buffer.size_bytes / sizeof(Number));
  if (!values.empty()) std::memcpy(values.data(), buffer.data, values.size() * sizeof(Number));
  return std::vector<As>(values.begin(), values.end());
}

}  // namespace

Result<std::string> joined_texts(const OutputTensor& output) {
  std::string text;
  ATOLL_RETURN_IF_ERROR(read_texts(output, [&](std::string_view one) { text += one; }));
  return text;
}

Result<std::vector<std::string>> texts_in(const OutputTensor& output) {
  std::vector<std::string> texts;
  ATOLL_RETURN_IF_ERROR(read_texts(output, [&](std::string_view one) { texts.emplace_back(one); }));
  return texts;
}

Result<std::vector<float>> floats_in(const OutputTensor& output) {
  ATOLL_RETURN_IF_ERROR(check_memory(output));
  std::vector<float> values = output.datatype == DataType::kFp64 ? numbers_in<double, float>(output.buffer)
                                                                 : numbers_in<float, float>(output.buffer);
  for (float value : values) {
    // JSON has no word for these.
    if (!std::isfinite(value))
      return internal_error("the output '", output.name, "' has a value that is no finite number");
  }
  return values;
}

Result<std::vector<int64_t>> integers_in(const OutputTensor& output) {
  ATOLL_RETURN_IF_ERROR(check_memory(output));
  if (data_type_size_bytes(output.datatype) == 8) return numbers_in<int64_t, int64_t>(output.buffer);
  return numbers_in<int32_t, int64_t>(output.buffer);
}

uint64_t first_number(const OutputTensor& output) noexcept {
  const uint32_t size = data_type_size_bytes(output.datatype);
  if (output.buffer.kind == MemoryKind::kGpu || (size != 4 && size != 8) || output.buffer.size_bytes < size)
    return 0;
  uint64_t number = 0;  // little-endian, as all tensors are
  std::memcpy(&number, output.buffer.data, size);
  return number;
}

}  // namespace atl::frontends::openai
