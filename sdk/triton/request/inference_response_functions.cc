#include "atoll/triton/status.h"
#include "error.h"
#include "objects.h"
#include "request/inference_response.h"
#include "request/parameter_value.h"

using atl::OutputTensor;
using namespace atl::triton;

namespace {

/// Null: the program has the response.
TRITONSERVER_Error* check_response(const TRITONSERVER_InferenceResponse* response,
                                   const char* function) noexcept {
  if (response == nullptr) return null_argument(function);
  if (response->is_sent.load(std::memory_order_acquire)) return nullptr;
  return invalid_argument(function, ": the response was deleted");
}

TRITONSERVER_Error* out_of_range(const char* what, uint32_t index, uint32_t count) noexcept {
  return invalid_argument("the response has ", count, " ", what, "s, no ", what, " ", index);
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_InferenceResponseDelete(TRITONSERVER_InferenceResponse* inference_response) {
  if (inference_response == nullptr) return null_argument(__func__);
  if (!inference_response->is_sent.exchange(false, std::memory_order_acq_rel)) {
    return invalid_argument(__func__, ": the response was deleted");
  }
  inference_response->end();
  return nullptr;
}

// A new one each time: callers delete it.
TRITONSERVER_Error* TRITONSERVER_InferenceResponseError(TRITONSERVER_InferenceResponse* inference_response) {
  if (TRITONSERVER_Error* error = check_response(inference_response, __func__)) return error;
  return guarded([&] { return to_error(inference_response->error); });
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseModel(TRITONSERVER_InferenceResponse* inference_response,
                                                        const char** model_name, int64_t* model_version) {
  if (TRITONSERVER_Error* error = check_response(inference_response, __func__)) return error;
  if (any_null(model_name, model_version)) return null_argument(__func__);
  *model_name = inference_response->model->info().name.c_str();
  *model_version = inference_response->model->info().version;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseId(TRITONSERVER_InferenceResponse* inference_response,
                                                     const char** request_id) {
  if (TRITONSERVER_Error* error = check_response(inference_response, __func__)) return error;
  if (request_id == nullptr) return null_argument(__func__);
  *request_id = c_text(inference_response->request_id);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseParameterCount(
    TRITONSERVER_InferenceResponse* inference_response, uint32_t* count) {
  if (TRITONSERVER_Error* error = check_response(inference_response, __func__)) return error;
  if (count == nullptr) return null_argument(__func__);
  *count = inference_response->parameters.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseParameter(
    TRITONSERVER_InferenceResponse* inference_response, const uint32_t index, const char** name,
    TRITONSERVER_ParameterType* type, const void** vvalue) {
  if (TRITONSERVER_Error* error = check_response(inference_response, __func__)) return error;
  if (any_null(name, type, vvalue)) return null_argument(__func__);
  const auto& parameters = inference_response->parameters;
  if (index >= parameters.size()) return out_of_range("parameter", index, parameters.size());
  *name = c_text(parameters[index].key);
  *type = static_cast<TRITONSERVER_ParameterType>(parameters[index].type);
  *vvalue = value_of(parameters[index]);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutputCount(
    TRITONSERVER_InferenceResponse* inference_response, uint32_t* count) {
  if (TRITONSERVER_Error* error = check_response(inference_response, __func__)) return error;
  if (count == nullptr) return null_argument(__func__);
  *count = inference_response->outputs.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutput(
    TRITONSERVER_InferenceResponse* inference_response, const uint32_t index, const char** name,
    TRITONSERVER_DataType* datatype, const int64_t** shape, uint64_t* dim_count, const void** base,
    size_t* byte_size, TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id, void** userp) {
  if (TRITONSERVER_Error* error = check_response(inference_response, __func__)) return error;
  const auto& outputs = inference_response->outputs;
  if (index >= outputs.size()) return out_of_range("output", index, outputs.size());
  const OutputTensor& output = outputs[index];
  const auto* memory = reinterpret_cast<const OutputMemory*>(output.sink_data);
  set(name, c_text(output.name));
  set(datatype, output.datatype);
  set(shape, output.shape.data());
  set(dim_count, output.shape.size());
  set(base, output.buffer.data);
  set(byte_size, output.buffer.size_bytes);
  set(memory_type, output.buffer.kind);
  set(memory_type_id, output.buffer.device_id);
  set(userp, memory == nullptr ? nullptr : memory->userp);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutputClassificationLabel(
    TRITONSERVER_InferenceResponse* inference_response, const uint32_t index, const size_t class_index,
    const char** label) {
  if (TRITONSERVER_Error* error = check_response(inference_response, __func__)) return error;
  if (label == nullptr) return null_argument(__func__);
  *label = nullptr;
  const auto& outputs = inference_response->outputs;
  if (index >= outputs.size()) return out_of_range("output", index, outputs.size());
  for (const atl::TensorSpec& spec : inference_response->model->info().outputs) {
    if (spec.name != outputs[index].name) continue;
    if (class_index < spec.labels.size() && !spec.labels[class_index].empty())
      *label = spec.labels[class_index].c_str();
    break;
  }
  return nullptr;
}
