/// Element types: the server's and TensorFlow's numbers.
#pragma once

#include "atoll/request/tensor.h"
#include "backends/tensorflow/library/tf_api.h"

namespace atl::tensorflow {

inline constexpr TfType kTfString = 7;

/// 0: there is none.
constexpr TfType to_tensorflow(DataType type) noexcept {
  constexpr TfType kTypes[] = {0, 10, 4, 17, 22, 23, 6, 5, 3, 9, 19, 1, 2, kTfString, 14};
  static_assert(std::size(kTypes) == kDataTypeCount);
  const auto index = static_cast<uint32_t>(type);
  return kTypes[index < kDataTypeCount ? index : 0];
}

/// kInvalid: the protocol has no name for it (complex and quantised numbers, resources, variants).
constexpr DataType from_tensorflow(TfType type) noexcept {
  for (uint32_t i = 1; i < kDataTypeCount; ++i) {
    if (to_tensorflow(static_cast<DataType>(i)) == type) return static_cast<DataType>(i);
  }
  return DataType::kInvalid;
}

}  // namespace atl::tensorflow
