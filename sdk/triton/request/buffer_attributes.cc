#include "atoll/triton/buffer_attributes.h"

#include <cstring>

#include "backend/memory_type.h"

using namespace atl::triton;

TRITONSERVER_Error* TRITONSERVER_BufferAttributesNew(TRITONSERVER_BufferAttributes** buffer_attributes) {
  if (buffer_attributes == nullptr) return null_argument(__func__);
  *buffer_attributes = nullptr;
  return guarded([&]() -> TRITONSERVER_Error* {
    *buffer_attributes = new TRITONSERVER_BufferAttributes;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesDelete(TRITONSERVER_BufferAttributes* buffer_attributes) {
  if (buffer_attributes == nullptr) return null_argument(__func__);
  delete buffer_attributes;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetMemoryTypeId(
    TRITONSERVER_BufferAttributes* buffer_attributes, int64_t memory_type_id) {
  if (buffer_attributes == nullptr) return null_argument(__func__);
  buffer_attributes->device_id = memory_type_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetMemoryType(
    TRITONSERVER_BufferAttributes* buffer_attributes, TRITONSERVER_MemoryType memory_type) {
  if (buffer_attributes == nullptr) return null_argument(__func__);
  if (!is_memory_type(memory_type)) return unknown_memory_type(memory_type);
  buffer_attributes->kind = static_cast<atl::MemoryKind>(memory_type);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetCudaIpcHandle(
    TRITONSERVER_BufferAttributes* buffer_attributes, void* cuda_ipc_handle) {
  if (any_null(buffer_attributes, cuda_ipc_handle)) return null_argument(__func__);
  std::memcpy(buffer_attributes->ipc_handle, cuda_ipc_handle, sizeof buffer_attributes->ipc_handle);
  buffer_attributes->has_ipc_handle = true;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetByteSize(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                             size_t byte_size) {
  if (buffer_attributes == nullptr) return null_argument(__func__);
  buffer_attributes->size_bytes = byte_size;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesMemoryTypeId(
    TRITONSERVER_BufferAttributes* buffer_attributes, int64_t* memory_type_id) {
  if (any_null(buffer_attributes, memory_type_id)) return null_argument(__func__);
  *memory_type_id = buffer_attributes->device_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesMemoryType(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                            TRITONSERVER_MemoryType* memory_type) {
  if (any_null(buffer_attributes, memory_type)) return null_argument(__func__);
  *memory_type = static_cast<TRITONSERVER_MemoryType>(buffer_attributes->kind);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesCudaIpcHandle(
    TRITONSERVER_BufferAttributes* buffer_attributes, void** cuda_ipc_handle) {
  if (any_null(buffer_attributes, cuda_ipc_handle)) return null_argument(__func__);
  *cuda_ipc_handle = buffer_attributes->has_ipc_handle ? buffer_attributes->ipc_handle : nullptr;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesByteSize(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                          size_t* byte_size) {
  if (any_null(buffer_attributes, byte_size)) return null_argument(__func__);
  *byte_size = buffer_attributes->size_bytes;
  return nullptr;
}
