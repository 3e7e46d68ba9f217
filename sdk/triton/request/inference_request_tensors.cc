#include <algorithm>
#include <limits>

#include "atoll/triton/buffer_attributes.h"
#include "backend/memory_type.h"
#include "request/inference_request.h"

using namespace atl::triton;

namespace {

InputDefinition* find_input(TRITONSERVER_InferenceRequest& request, std::string_view name) noexcept {
  const auto found = std::find_if(request.inputs.begin(), request.inputs.end(),
                                  [&](const InputDefinition& one) { return one.name.text == name; });
  return found == request.inputs.end() ? nullptr : found;
}

/// The input of a call that changes it; null, and an error, if there is none.
InputDefinition* input_of(TRITONSERVER_InferenceRequest* request, const char* function, const char* name,
                          TRITONSERVER_Error** error) noexcept {
  *error = check_idle(request, function);
  if (*error == nullptr && name == nullptr) *error = null_argument(function);
  if (*error != nullptr) return nullptr;
  InputDefinition* found = find_input(*request, name);
  if (found == nullptr) *error = invalid_argument("the request has no input '", name, "'");
  return found;
}

TRITONSERVER_Error* append(InputDefinition& input, const void* base, const atl::Buffer& buffer) {
  if (buffer.size_bytes == 0) return nullptr;
  return guarded([&]() -> TRITONSERVER_Error* {
    input.buffers.push_back(buffer);
    input.buffers.back().data = const_cast<void*>(base);  // inputs are only read
    return nullptr;
  });
}

TRITONSERVER_Error* to_buffer(size_t byte_size, TRITONSERVER_MemoryType type, int64_t device_id,
                              atl::Buffer* buffer) noexcept {
  if (!is_memory_type(type)) return unknown_memory_type(type);
  if (type != TRITONSERVER_MEMORY_GPU) device_id = 0;
  if (device_id < 0 || device_id > std::numeric_limits<int32_t>::max()) {
    return invalid_argument("memory of device ", device_id, " cannot be there");
  }
  *buffer = {nullptr, byte_size, static_cast<atl::MemoryKind>(type), static_cast<int32_t>(device_id),
             nullptr};
  return nullptr;
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddInput(TRITONSERVER_InferenceRequest* inference_request,
                                                          const char* name,
                                                          const TRITONSERVER_DataType datatype,
                                                          const int64_t* shape, uint64_t dim_count) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if (name == nullptr || (shape == nullptr && dim_count != 0)) return null_argument(__func__);
  // A type that is none is refused with the request, by the model, which says what it expects.
  if (datatype < TRITONSERVER_TYPE_INVALID || datatype > TRITONSERVER_TYPE_BF16) {
    return invalid_argument("input '", name, "' has the unknown data type ", static_cast<int>(datatype));
  }
  if (dim_count > atl::kMaxRank) {
    return invalid_argument("input '", name, "' has ", dim_count, " dimensions, expected at most ",
                            atl::kMaxRank);
  }
  return guarded([&]() -> TRITONSERVER_Error* {
    for (const InputDefinition& other : inference_request->inputs) {
      if (other.is_raw) return invalid_argument("input '", name, "' cannot be there besides a raw input");
      if (other.name.text == name) {
        const std::string& id = inference_request->id.text;
        return invalid_argument("[request id: ", id.empty() ? std::string_view("<id_unknown>") : id,
                                "] input '", name, "' already exists in request");
      }
    }
    InputDefinition& added = inference_request->inputs.add();
    added.name.text = name;
    added.datatype = static_cast<atl::DataType>(datatype);
    added.shape.assign(shape, shape + dim_count);
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddRawInput(TRITONSERVER_InferenceRequest* inference_request,
                                                             const char* name) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if (name == nullptr) return null_argument(__func__);
  if (!inference_request->inputs.empty()) {
    return invalid_argument("raw input '", name, "' has to be the only input of its request");
  }
  return guarded([&]() -> TRITONSERVER_Error* {
    InputDefinition& added = inference_request->inputs.add();
    added.name.text = name;
    added.is_raw = true;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveInput(TRITONSERVER_InferenceRequest* inference_request,
                                                             const char* name) {
  TRITONSERVER_Error* error = nullptr;
  InputDefinition* input = input_of(inference_request, __func__, name, &error);
  if (input != nullptr) inference_request->inputs.remove(*input);
  return error;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputs(
    TRITONSERVER_InferenceRequest* inference_request) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  inference_request->inputs.clear();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputData(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base, size_t byte_size,
    TRITONSERVER_MemoryType memory_type, int64_t memory_type_id) {
  TRITONSERVER_Error* error = nullptr;
  InputDefinition* input = input_of(inference_request, __func__, name, &error);
  if (input == nullptr) return error;
  if (base == nullptr && byte_size != 0) return null_argument(__func__);
  atl::Buffer buffer;
  error = to_buffer(byte_size, memory_type, memory_type_id, &buffer);
  return error != nullptr ? error : append(*input, base, buffer);
}

// No instance has a host policy that differs in what it is given, so the common variant serves all of them.
TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base, size_t byte_size,
    TRITONSERVER_MemoryType memory_type, int64_t memory_type_id, const char* host_policy_name) {
  TRITONSERVER_Error* error = nullptr;
  if (input_of(inference_request, __func__, name, &error) == nullptr) return error;
  if (host_policy_name == nullptr || (base == nullptr && byte_size != 0)) return null_argument(__func__);
  atl::Buffer buffer;
  return to_buffer(byte_size, memory_type, memory_type_id, &buffer);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base,
    TRITONSERVER_BufferAttributes* buffer_attributes) {
  if (buffer_attributes == nullptr) return null_argument(__func__);
  return TRITONSERVER_InferenceRequestAppendInputData(
      inference_request, name, base, buffer_attributes->size_bytes,
      static_cast<TRITONSERVER_MemoryType>(buffer_attributes->kind), buffer_attributes->device_id);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputData(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) {
  TRITONSERVER_Error* error = nullptr;
  InputDefinition* input = input_of(inference_request, __func__, name, &error);
  if (input != nullptr) input->buffers.clear();
  return error;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddRequestedOutput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if (name == nullptr) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    for (const ReusedText& other : inference_request->outputs) {
      if (other.text == name) return nullptr;
    }
    inference_request->outputs.add().text = name;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveRequestedOutput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if (name == nullptr) return null_argument(__func__);
  for (ReusedText& one : inference_request->outputs) {
    if (one.text != name) continue;
    inference_request->outputs.remove(one);
    break;
  }
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(
    TRITONSERVER_InferenceRequest* inference_request) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  inference_request->outputs.clear();
  return nullptr;
}
