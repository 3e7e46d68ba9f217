#include "error.h"
#include "objects.h"

using atl::Buffer;
using atl::InputTensor;
using namespace atl::triton;

namespace {

/// Null, and an error, if there is no such buffer.
const Buffer* find_buffer(TRITONBACKEND_Input* input, uint32_t index, TRITONSERVER_Error** error) noexcept {
  const InputTensor& tensor = object(input);
  if (index < tensor.buffers.size()) return &tensor.buffers[index];
  *error = invalid_argument("input '", tensor.name, "' has ", tensor.buffers.size(), " buffers, no buffer ",
                            index);
  return nullptr;
}

template <class To, class From>
void set(To* to, const From& value) noexcept {
  if (to != nullptr) *to = static_cast<To>(value);
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name,
                                                  TRITONSERVER_DataType* datatype, const int64_t** shape,
                                                  uint32_t* dims_count, uint64_t* byte_size,
                                                  uint32_t* buffer_count) {
  if (input == nullptr) return null_argument(__func__);
  const InputTensor& tensor = object(input);
  set(name, c_text(tensor.name));
  set(datatype, tensor.datatype);
  set(shape, tensor.shape.data());
  set(dims_count, tensor.shape.size());
  set(byte_size, tensor.size_bytes);
  set(buffer_count, tensor.buffers.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InputPropertiesForHostPolicy(TRITONBACKEND_Input* input, const char*,
                                                               const char** name,
                                                               TRITONSERVER_DataType* datatype,
                                                               const int64_t** shape, uint32_t* dims_count,
                                                               uint64_t* byte_size, uint32_t* buffer_count) {
  return TRITONBACKEND_InputProperties(input, name, datatype, shape, dims_count, byte_size, buffer_count);
}

TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, const uint32_t index,
                                              const void** buffer, uint64_t* buffer_byte_size,
                                              TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id) {
  set(buffer, nullptr);
  set(buffer_byte_size, 0u);
  if (any_null(input, buffer, buffer_byte_size, memory_type, memory_type_id)) return null_argument(__func__);
  TRITONSERVER_Error* error = nullptr;
  const Buffer* found = find_buffer(input, index, &error);
  if (found == nullptr) return error;
  *buffer = found->data;
  *buffer_byte_size = found->size_bytes;
  *memory_type = static_cast<TRITONSERVER_MemoryType>(found->kind);
  *memory_type_id = found->device_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InputBufferForHostPolicy(TRITONBACKEND_Input* input, const char*,
                                                           const uint32_t index, const void** buffer,
                                                           uint64_t* buffer_byte_size,
                                                           TRITONSERVER_MemoryType* memory_type,
                                                           int64_t* memory_type_id) {
  return TRITONBACKEND_InputBuffer(input, index, buffer, buffer_byte_size, memory_type, memory_type_id);
}

TRITONSERVER_Error* TRITONBACKEND_InputBufferAttributes(TRITONBACKEND_Input* input, const uint32_t index,
                                                        const void** buffer,
                                                        TRITONSERVER_BufferAttributes** buffer_attributes) {
  set(buffer, nullptr);
  set(buffer_attributes, nullptr);
  if (any_null(input, buffer, buffer_attributes)) return null_argument(__func__);
  TRITONSERVER_Error* error = nullptr;
  const Buffer* found = find_buffer(input, index, &error);
  if (found == nullptr) return error;
  *buffer = found->data;
  *buffer_attributes = handle(*found);
  return nullptr;
}
