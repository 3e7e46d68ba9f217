#include "configs/pbtxt/shapes.h"

#include <limits>

#include "atoll/request/tensor.h"

namespace atl::pbtxt {

std::optional<int64_t> known_elements(const Dims& dims) {
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (dim >= 0 && __builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return product;
}

int64_t count_elements(const Dims& dims) {
  if (dims.empty()) return 0;
  for (int64_t dim : dims) {
    if (dim < 0) return -1;
  }
  return known_elements(dims).value_or(-1);
}

int64_t element_bytes(inference::DataType type) {
  constexpr int64_t kLengthBytes = 4;
  if (type == inference::TYPE_STRING) return kLengthBytes;
  return data_type_size_bytes(static_cast<DataType>(type));
}

bool check_shape(const Dims& dims, inference::DataType type, const std::string& tensor,
                 const std::string& field, Findings& findings) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  auto elements = known_elements(dims);
  if (!elements) {
    findings.invalid(field, "element count for tensor '", tensor, "' exceeds maximum size of ", kMax);
    return false;
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*elements, element_bytes(type), &bytes)) {
    findings.invalid(field, "byte size for tensor '", tensor, "' exceeds maximum size of ", kMax);
    return false;
  }
  return true;
}

bool check_rank(int rank, const std::string& what, const std::string& model, const std::string& field,
                Findings& findings) {
  if (rank <= static_cast<int>(kMaxRank)) return true;
  findings.invalid(field, what, " has ", rank, " dimensions with the batch dimension, expected at most ",
                   kMaxRank, " for ", model);
  return false;
}

}  // namespace atl::pbtxt
