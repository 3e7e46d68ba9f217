/// Element types of Triton's configurations and those of PyTorch.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>

#include "atoll/request/tensor.h"

namespace atl::pytorch {

/// Nothing: PyTorch has no such tensors (unsigned integers of more than 8 bits), or they are no tensors (BYTES).
constexpr std::optional<c10::ScalarType> to_torch(DataType type) noexcept {
  switch (type) {
    case DataType::kBool:
      return c10::ScalarType::Bool;
    case DataType::kUint8:
      return c10::ScalarType::Byte;
    case DataType::kInt8:
      return c10::ScalarType::Char;
    case DataType::kInt16:
      return c10::ScalarType::Short;
    case DataType::kInt32:
      return c10::ScalarType::Int;
    case DataType::kInt64:
      return c10::ScalarType::Long;
    case DataType::kFp16:
      return c10::ScalarType::Half;
    case DataType::kFp32:
      return c10::ScalarType::Float;
    case DataType::kFp64:
      return c10::ScalarType::Double;
    case DataType::kBf16:
      return c10::ScalarType::BFloat16;
    default:
      return std::nullopt;
  }
}

/// kInvalid: no configuration can say it.
constexpr DataType from_torch(c10::ScalarType type) noexcept {
  for (uint32_t i = 1; i < kDataTypeCount; ++i) {
    if (to_torch(static_cast<DataType>(i)) == type) return static_cast<DataType>(i);
  }
  return DataType::kInvalid;
}

}  // namespace atl::pytorch
