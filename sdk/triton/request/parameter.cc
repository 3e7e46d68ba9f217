#include "request/parameter.h"

#include <memory>

namespace {

/// Null: there is no value of such a type.
TRITONSERVER_Parameter* copy(const char* name, TRITONSERVER_ParameterType type, const void* value) {
  auto made = std::make_unique<TRITONSERVER_Parameter>();
  made->name = name;
  made->type = type;
  switch (type) {
    case TRITONSERVER_PARAMETER_STRING:
      made->text = static_cast<const char*>(value);
      return made.release();
    case TRITONSERVER_PARAMETER_INT:
      made->int_value = *static_cast<const int64_t*>(value);
      return made.release();
    case TRITONSERVER_PARAMETER_BOOL:
      made->bool_value = *static_cast<const bool*>(value);
      return made.release();
    case TRITONSERVER_PARAMETER_DOUBLE:
      made->double_value = *static_cast<const double*>(value);
      return made.release();
    case TRITONSERVER_PARAMETER_BYTES:  // their number is not known
      break;
  }
  return nullptr;
}

}  // namespace

TRITONSERVER_Parameter* TRITONSERVER_ParameterNew(const char* name, const TRITONSERVER_ParameterType type,
                                                  const void* value) {
  if (name == nullptr || value == nullptr) return nullptr;
  try {
    return copy(name, type, value);
  } catch (const std::exception&) {
    return nullptr;
  }
}

TRITONSERVER_Parameter* TRITONSERVER_ParameterBytesNew(const char* name, const void* byte_ptr,
                                                       const uint64_t size) {
  if (name == nullptr || (byte_ptr == nullptr && size != 0)) return nullptr;
  try {
    auto made = std::make_unique<TRITONSERVER_Parameter>();
    made->name = name;
    made->type = TRITONSERVER_PARAMETER_BYTES;
    made->bytes = {static_cast<const char*>(byte_ptr), size};
    return made.release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter* parameter) { delete parameter; }
