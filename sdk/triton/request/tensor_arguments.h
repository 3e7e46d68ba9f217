/// Types and shapes that foreign code gives.
#pragma once

#include <cstdint>
#include <span>

#include "atoll/request/tensor.h"
#include "error.h"

namespace atl::triton {

/// Why a tensor cannot be so; null: it can. \param what  "output"
inline TRITONSERVER_Error* check_tensor(const char* what, const char* name, TRITONSERVER_DataType datatype,
                                        std::span<const int64_t> shape) noexcept {
  if (*name == '\0') return invalid_argument("an ", what, " has no name");
  if (datatype <= TRITONSERVER_TYPE_INVALID || datatype > TRITONSERVER_TYPE_BF16) {
    return invalid_argument(what, " '", name, "' has the unknown data type ", static_cast<int>(datatype));
  }
  if (shape.size() > kMaxRank) {
    return invalid_argument(what, " '", name, "' has ", shape.size(), " dimensions, expected at most ",
                            kMaxRank);
  }
  if (element_count(shape)) return nullptr;
  return guarded([&] { return invalid_argument(what, " '", name, "' has the shape ", shape_text(shape)); });
}

}  // namespace atl::triton
