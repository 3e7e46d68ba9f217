/// Values of parameters, as the C API points to them.
#pragma once

#include "atoll/request/tensor.h"
#include "objects.h"

namespace atl::triton {

/// Text ending in NUL, int64_t, bool, double or bytes, by type.
inline const void* value_of(const Parameter& parameter) noexcept {
  switch (parameter.type) {
    case ParameterType::kInt:
      return &parameter.int_value;
    case ParameterType::kBool:
      return &parameter.bool_value;
    case ParameterType::kDouble:
      return &parameter.double_value;
    case ParameterType::kString:
    case ParameterType::kBytes:
      break;
  }
  return c_text(parameter.text);
}

}  // namespace atl::triton
