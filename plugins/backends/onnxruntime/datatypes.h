/// Element types: Atoll's and ONNX's.
#pragma once

#include "atoll/request/tensor.h"
#include "onnxruntime_c_api.h"

namespace atl::ort {

/// kInvalid for types that the protocol has no name for (complex, 8-bit floats, 4-bit integers).
constexpr DataType from_onnx(ONNXTensorElementDataType type) noexcept {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      return DataType::kBool;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return DataType::kUint8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return DataType::kUint16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return DataType::kUint32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return DataType::kUint64;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return DataType::kInt8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return DataType::kInt16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return DataType::kInt32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return DataType::kInt64;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return DataType::kFp16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return DataType::kFp32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return DataType::kFp64;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING:
      return DataType::kBytes;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return DataType::kBf16;
    default:
      return DataType::kInvalid;
  }
}

constexpr ONNXTensorElementDataType to_onnx(DataType type) noexcept {
  constexpr ONNXTensorElementDataType kTypes[] = {
      ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,     ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,     ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,   ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,    ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16};
  auto index = static_cast<uint32_t>(type);
  return kTypes[index < kDataTypeCount ? index : 0];
}

}  // namespace atl::ort
