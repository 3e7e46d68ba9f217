#include "atoll/memory/memory.h"
#include "atoll/triton/buffer_attributes.h"
#include "backend/cell_pool.h"
#include "objects.h"

using atl::Buffer;
using atl::InputTensor;
using atl::Status;
using namespace atl::triton;

namespace atl::triton {

/// Attributes of one of an input's buffers.
struct LentAttributes {
  TRITONSERVER_BufferAttributes attributes;
  uint32_t index = 0;
  LentAttributes* next = nullptr;  ///< of the input

  LentAttributes* next_free = nullptr;
  uint32_t shard = 0;
};

namespace {

constinit CellPool<LentAttributes> attributes_pool;

LentAttributes& lend_attributes(TRITONBACKEND_Input& input, uint32_t index, const Buffer& of) noexcept {
  LentAttributes* first = input.attributes.load(std::memory_order_acquire);
  for (LentAttributes* lent = first; lent != nullptr; lent = lent->next) {
    if (lent->index == index) return *lent;
  }
  LentAttributes& lent = attributes_pool.take();
  lent.attributes = attributes_of(of);
  lent.index = index;
  do {
    lent.next = first;
  } while (!input.attributes.compare_exchange_weak(first, &lent, std::memory_order_acq_rel));
  return lent;
}

}  // namespace

void free_attributes(LentAttributes* attributes) noexcept {
  while (attributes != nullptr) {
    LentAttributes* next = attributes->next;
    attributes_pool.give_back(*attributes);
    attributes = next;
  }
}

}  // namespace atl::triton

namespace {

/// Null, and an error, if there is no such buffer, or it never gets its bytes. Foreign code knows nothing of bytes
/// that are still being written, so they are waited for.
const Buffer* find_buffer(const InputTensor& tensor, uint32_t index, TRITONSERVER_Error** error) noexcept {
  if (index >= tensor.buffers.size()) {
    *error = invalid_argument("input '", tensor.name, "' has ", tensor.buffers.size(), " buffers, no buffer ",
                              index);
    return nullptr;
  }
  const Buffer& found = tensor.buffers[index];
  if (Status status = wait_until_ready(found); !status.ok()) {
    *error = new_error(status);
    return nullptr;
  }
  return &found;
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name,
                                                  TRITONSERVER_DataType* datatype, const int64_t** shape,
                                                  uint32_t* dims_count, uint64_t* byte_size,
                                                  uint32_t* buffer_count) {
  const InputTensor* tensor = object(input);
  if (tensor == nullptr) return refuse(__func__, "input", input, false);
  set(name, c_text(tensor->name));
  set(datatype, tensor->datatype);
  set(shape, tensor->shape.data());
  set(dims_count, tensor->shape.size());
  set(byte_size, tensor->size_bytes);
  set(buffer_count, tensor->buffers.size());
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
  const InputTensor* tensor = object(input);
  const bool has_null = any_null(buffer, buffer_byte_size, memory_type, memory_type_id);
  if (tensor == nullptr || has_null) return refuse(__func__, "input", input, has_null);
  TRITONSERVER_Error* error = nullptr;
  const Buffer* found = find_buffer(*tensor, index, &error);
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
  const InputTensor* tensor = object(input);
  const bool has_null = any_null(buffer, buffer_attributes);
  if (tensor == nullptr || has_null) return refuse(__func__, "input", input, has_null);
  TRITONSERVER_Error* error = nullptr;
  const Buffer* found = find_buffer(*tensor, index, &error);
  if (found == nullptr) return error;
  *buffer = found->data;
  *buffer_attributes = &lend_attributes(*input, index, *found).attributes;
  return nullptr;
}
