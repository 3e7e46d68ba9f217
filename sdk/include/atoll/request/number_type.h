/// From a tensor's datatype, known at run time, to the C++ type of its elements.
#pragma once

#include <cstdint>
#include <type_traits>

#include "atoll/request/tensor.h"

namespace atl {

/// Calls `with` with std::type_identity<T> of the elements' type T, or `otherwise` with nothing for datatypes
/// that C++ has no numbers for: FP16, BF16, BYTES and kInvalid. \returns what that returns; both return the same type
///
///     visit_number_type(type, []<class T>(std::type_identity<T>) { return sizeof(T); }, [] { return size_t{0}; });
template <class With, class Otherwise>
auto visit_number_type(DataType type, With&& with, Otherwise&& otherwise) {
  switch (type) {
    case DataType::kBool:
      return with(std::type_identity<bool>());
    case DataType::kUint8:
      return with(std::type_identity<uint8_t>());
    case DataType::kUint16:
      return with(std::type_identity<uint16_t>());
    case DataType::kUint32:
      return with(std::type_identity<uint32_t>());
    case DataType::kUint64:
      return with(std::type_identity<uint64_t>());
    case DataType::kInt8:
      return with(std::type_identity<int8_t>());
    case DataType::kInt16:
      return with(std::type_identity<int16_t>());
    case DataType::kInt32:
      return with(std::type_identity<int32_t>());
    case DataType::kInt64:
      return with(std::type_identity<int64_t>());
    case DataType::kFp32:
      return with(std::type_identity<float>());
    case DataType::kFp64:
      return with(std::type_identity<double>());
    default:
      return otherwise();
  }
}

}  // namespace atl
