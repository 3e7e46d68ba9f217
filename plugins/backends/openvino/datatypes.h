/// Element types: Atoll's and OpenVINO's.
#pragma once

#include "atoll/request/tensor.h"
#include "backends/openvino/library/ov_api.h"

namespace atl::openvino {

/// OpenVINO's numbers, in the order of Atoll's types; 0 stands for none.
inline constexpr OvElementType kOvTypes[] = {0, 1, 16, 17, 18, 19, 7, 8, 9, 10, 3, 4, 5, 23, 2};

/// kInvalid for types that the protocol has no name for (4-bit integers, 8-bit floats), and for one that is not known yet.
constexpr DataType from_openvino(OvElementType type) noexcept {
  for (uint32_t i = 1; i < kDataTypeCount; ++i) {
    if (kOvTypes[i] == type) return static_cast<DataType>(i);
  }
  return DataType::kInvalid;
}

constexpr OvElementType to_openvino(DataType type) noexcept {
  const auto index = static_cast<uint32_t>(type);
  return kOvTypes[index < kDataTypeCount ? index : 0];
}

/// Whether the CPU device computes in fewer bits than the type has: integers of 64 bits in 32, FP64 in FP32.
constexpr bool loses_bits(DataType type) noexcept {
  return type == DataType::kInt64 || type == DataType::kUint64 || type == DataType::kFp64;
}

}  // namespace atl::openvino
