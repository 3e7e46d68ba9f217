#include "error.h"
#include "objects.h"

using atl::Parameter;
using atl::ParameterType;
using atl::Request;
using namespace atl::triton;

namespace {

// Callers ask for both forms of a correlation id and expect one of them to fail.
TRITONSERVER_Error id_is_text{TRITONSERVER_ERROR_INVALID_ARG,
                              "the correlation id of the request is a text, not a number", true};
TRITONSERVER_Error id_is_number{TRITONSERVER_ERROR_INVALID_ARG,
                                "the correlation id of the request is a number, not a text", true};

TRITONSERVER_Error* out_of_range(const Request& request, const char* what, uint32_t index,
                                 uint32_t count) noexcept {
  return invalid_argument("request '", request.id, "' has ", count, " ", what, "s, no ", what, " ", index);
}

const void* value_of(const Parameter& parameter) noexcept {
  switch (parameter.type) {
    case ParameterType::kInt:
      return &parameter.int_value;
    case ParameterType::kBool:
      return &parameter.bool_value;
    case ParameterType::kDouble:
      return &parameter.double_value;
    case ParameterType::kString:
    case ParameterType::kBytes:
      break;
  }
  return c_text(parameter.text);
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_RequestId(TRITONBACKEND_Request* request, const char** id) {
  if (any_null(request, id)) return null_argument(__func__);
  *id = c_text(object(request).id);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationId(TRITONBACKEND_Request* request, uint64_t* id) {
  if (any_null(request, id)) return null_argument(__func__);
  if (!object(request).sequence.text.empty()) return &id_is_text;
  *id = object(request).sequence.number;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationIdString(TRITONBACKEND_Request* request,
                                                             const char** id) {
  if (any_null(request, id)) return null_argument(__func__);
  if (object(request).sequence.number != 0) return &id_is_number;
  *id = c_text(object(request).sequence.text);
  return nullptr;
}

// The flags of both sides have the same bits.
TRITONSERVER_Error* TRITONBACKEND_RequestFlags(TRITONBACKEND_Request* request, uint32_t* flags) {
  if (any_null(request, flags)) return null_argument(__func__);
  *flags = object(request).sequence_flags;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request, bool* is_cancelled) {
  if (any_null(request, is_cancelled)) return null_argument(__func__);
  *is_cancelled = object(request).cancelled();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InferenceRequestTimeoutMicroseconds(TRITONBACKEND_Request* request,
                                                                      uint64_t* timeout) {
  if (any_null(request, timeout)) return null_argument(__func__);
  *timeout = object(request).timeout_us;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestParameterCount(TRITONBACKEND_Request* request, uint32_t* count) {
  if (any_null(request, count)) return null_argument(__func__);
  *count = object(request).parameters.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestParameter(TRITONBACKEND_Request* request, const uint32_t index,
                                                   const char** key, TRITONSERVER_ParameterType* type,
                                                   const void** vvalue) {
  if (any_null(request, key, type, vvalue)) return null_argument(__func__);
  const auto& parameters = object(request).parameters;
  if (index >= parameters.size()) {
    return out_of_range(object(request), "parameter", index, parameters.size());
  }
  *key = c_text(parameters[index].key);
  *type = static_cast<TRITONSERVER_ParameterType>(parameters[index].type);
  *vvalue = value_of(parameters[index]);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request* request, uint32_t* count) {
  if (any_null(request, count)) return null_argument(__func__);
  *count = object(request).inputs.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputName(TRITONBACKEND_Request* request, const uint32_t index,
                                                   const char** input_name) {
  if (any_null(request, input_name)) return null_argument(__func__);
  *input_name = nullptr;
  const auto& inputs = object(request).inputs;
  if (index >= inputs.size()) return out_of_range(object(request), "input", index, inputs.size());
  *input_name = c_text(inputs[index].name);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request, const char* name,
                                               TRITONBACKEND_Input** input) {
  if (any_null(request, name, input)) return null_argument(__func__);
  *input = nullptr;
  const atl::InputTensor* found = object(request).find_input(name);
  if (found == nullptr) {
    return invalid_argument("request '", object(request).id, "' has no input '", name, "'");
  }
  *input = handle(*found);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request* request, const uint32_t index,
                                                      TRITONBACKEND_Input** input) {
  if (any_null(request, input)) return null_argument(__func__);
  *input = nullptr;
  const auto& inputs = object(request).inputs;
  if (index >= inputs.size()) return out_of_range(object(request), "input", index, inputs.size());
  *input = handle(inputs[index]);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request, uint32_t* count) {
  if (any_null(request, count)) return null_argument(__func__);
  *count = object(request).outputs.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request, const uint32_t index,
                                                    const char** output_name) {
  if (any_null(request, output_name)) return null_argument(__func__);
  *output_name = nullptr;
  const auto& outputs = object(request).outputs;
  if (index >= outputs.size()) return out_of_range(object(request), "output", index, outputs.size());
  *output_name = c_text(outputs[index].name);
  return nullptr;
}
