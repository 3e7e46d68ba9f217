#include "atoll/request/tensor.h"
#include "triton/core/tritonserver.h"

using atl::DataType;

// The names are literals, so they end in NUL.
const char* TRITONSERVER_DataTypeString(TRITONSERVER_DataType datatype) {
  return atl::data_type_name(static_cast<DataType>(datatype)).data();
}

TRITONSERVER_DataType TRITONSERVER_StringToDataType(const char* dtype) {
  if (dtype == nullptr) return TRITONSERVER_TYPE_INVALID;
  return static_cast<TRITONSERVER_DataType>(atl::data_type_from_name(dtype));
}

uint32_t TRITONSERVER_DataTypeByteSize(TRITONSERVER_DataType datatype) {
  return atl::data_type_size_bytes(static_cast<DataType>(datatype));
}
