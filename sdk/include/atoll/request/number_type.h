/// From a tensor's datatype, known at run time, to the C++ type of its elements.
///
/// Code that works on numbers of any type is written once, as a template, and called through
/// visit_number_type(). The sum of a tensor's elements, for example:
///
///     double sum = visit_number_type(
///         tensor.datatype,
///         [&]<class T>(std::type_identity<T>) {
///           double total = 0;
///           for (T value : std::span(static_cast<const T*>(data), count)) total += static_cast<double>(value);
///           return total;
///         },
///         [] { return 0.0; });
///
/// The other direction, from a C++ type to the datatype, is data_type_of() in atoll/backend/values.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "atoll/request/tensor.h"

namespace atl {

/// Calls `with` with std::type_identity<T>, where T is the C++ type of the elements: bool for BOOL, int8_t to
/// int64_t, uint8_t to uint64_t, float for FP32, double for FP64. Calls `otherwise` without arguments for the
/// datatypes that C++ has no numbers for: FP16, BF16, BYTES and kInvalid, and for numbers that are no
/// DataType.
///
/// Nothing is checked or copied: T says only how the elements are laid out. Elements of a tensor may lie at
/// any address (a client chooses where they begin), so copy them with memcpy, or ask
/// atl::backends::input_values() for aligned ones, before reading them as T. BOOL is one byte an element; a
/// byte other than 0 and 1 that a client sent must not be read as bool.
/// \param with  callable for each of the eleven types above
/// \returns what the called function returns; both have to return the same type
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
