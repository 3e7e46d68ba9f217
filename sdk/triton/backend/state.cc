#include <algorithm>

#include "backend/exchange.h"
#include "backend/memory_type.h"
#include "request/tensor_arguments.h"

using namespace atl::triton;

TRITONSERVER_Error* TRITONBACKEND_StateNew(TRITONBACKEND_State** state, TRITONBACKEND_Request* request,
                                           const char* name, const TRITONSERVER_DataType datatype,
                                           const int64_t* shape, const uint32_t dims_count) {
  set(state, nullptr);
  if (any_null(state, request, name) || (shape == nullptr && dims_count != 0)) return null_argument(__func__);
  const Locked exchange(request);
  if (!exchange) return refuse_change(__func__, request);
  const std::span<const int64_t> dims(shape, dims_count);
  if (TRITONSERVER_Error* error = check_tensor("state", name, datatype, dims); error != nullptr) return error;
  if (exchange->origin->state == nullptr) {
    return invalid_argument("state '", name, "' is not known: request '", exchange->origin->id,
                            "' has no implicit state, which models with sequence batching and states have");
  }
  const atl::Status known = exchange->origin->state->check_name(name);
  if (!known.ok()) return new_error(known);
  return guarded([&]() -> TRITONSERVER_Error* {
    TRITONBACKEND_State& made = pools().states.take();
    made.name = name;
    std::ranges::copy(dims, made.shape);
    made.rank = dims_count;
    made.datatype = static_cast<atl::DataType>(datatype);
    made.has_buffer = made.is_committed = false;
    made.next = exchange->states;
    exchange->states = &made;
    made.exchange.store(request, std::memory_order_release);
    *state = &made;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONBACKEND_StateBuffer(TRITONBACKEND_State* state, void** buffer,
                                              const uint64_t buffer_byte_size,
                                              TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id) {
  set(buffer, nullptr);
  const bool has_null = any_null(buffer, memory_type, memory_type_id);
  const Locked exchange(state);
  if (!exchange || has_null) return refuse(__func__, "state", state, has_null);
  if (!is_memory_type(*memory_type)) return unknown_memory_type(*memory_type);
  if (state->is_committed) return invalid_argument("state '", state->name, "' was updated already");
  const bool is_same = state->buffer.size_bytes == buffer_byte_size && state->wanted_type == *memory_type &&
                       state->wanted_id == *memory_type_id;
  if (!state->has_buffer || !is_same) {
    state->has_buffer = false;
    state->wanted_type = *memory_type;
    state->wanted_id = *memory_type_id;
    const atl::Status status = exchange->origin->state->output(
        state->name, state->datatype, {state->shape, state->rank}, buffer_byte_size,
        static_cast<atl::MemoryKind>(*memory_type), *memory_type_id, &state->buffer);
    if (!status.ok()) return new_error(status);
    state->buffer.size_bytes = buffer_byte_size;
    state->attributes = attributes_of(state->buffer);
    state->has_buffer = true;
  }
  *buffer = state->buffer.data;
  *memory_type = static_cast<TRITONSERVER_MemoryType>(state->buffer.kind);
  *memory_type_id = state->buffer.device_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_StateBufferAttributes(TRITONBACKEND_State* state,
                                                        TRITONSERVER_BufferAttributes** buffer_attributes) {
  set(buffer_attributes, nullptr);
  const Locked exchange(state);
  if (!exchange || any_null(buffer_attributes))
    return refuse(__func__, "state", state, any_null(buffer_attributes));
  if (!state->has_buffer) return invalid_argument("state '", state->name, "' has no memory yet");
  *buffer_attributes = &state->attributes;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_StateUpdate(TRITONBACKEND_State* state) {
  const Locked exchange(state);
  if (!exchange) return refuse(__func__, "state", state, false);
  if (!state->has_buffer) return invalid_argument("state '", state->name, "' has no memory yet");
  if (state->is_committed) return invalid_argument("state '", state->name, "' was updated already");
  const atl::Status status = exchange->origin->state->commit(state->name);
  if (!status.ok()) return new_error(status);
  state->is_committed = true;
  return nullptr;
}
