#include "error.h"
#include "objects.h"

using namespace atl::triton;

TRITONSERVER_Error* TRITONSERVER_BufferAttributesMemoryType(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                            TRITONSERVER_MemoryType* memory_type) {
  if (any_null(buffer_attributes, memory_type)) return null_argument(__func__);
  *memory_type = static_cast<TRITONSERVER_MemoryType>(object(buffer_attributes).kind);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesMemoryTypeId(
    TRITONSERVER_BufferAttributes* buffer_attributes, int64_t* memory_type_id) {
  if (any_null(buffer_attributes, memory_type_id)) return null_argument(__func__);
  *memory_type_id = object(buffer_attributes).device_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesByteSize(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                          size_t* byte_size) {
  if (any_null(buffer_attributes, byte_size)) return null_argument(__func__);
  *byte_size = object(buffer_attributes).size_bytes;
  return nullptr;
}

// An atl::Buffer carries no handle.
TRITONSERVER_Error* TRITONSERVER_BufferAttributesCudaIpcHandle(
    TRITONSERVER_BufferAttributes* buffer_attributes, void** cuda_ipc_handle) {
  if (any_null(buffer_attributes, cuda_ipc_handle)) return null_argument(__func__);
  *cuda_ipc_handle = nullptr;
  return nullptr;
}
