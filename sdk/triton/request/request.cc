#include "error.h"
#include "objects.h"
#include "request/in_process_request.h"
#include "request/parameter_value.h"

using atl::Request;
using namespace atl::triton;

namespace {

// Callers ask for both forms of a correlation id and expect one of them to fail.
TRITONSERVER_Error id_is_text{TRITONSERVER_ERROR_INVALID_ARG,
                              "the correlation id of the request is a text, not a number", true};
TRITONSERVER_Error id_is_number{TRITONSERVER_ERROR_INVALID_ARG,
                                "the correlation id of the request is a number, not a text", true};
// Backends ask for every output.
TRITONSERVER_Error no_place{TRITONSERVER_ERROR_UNAVAILABLE,
                            "nothing is known of where the output's memory will be", true};

TRITONSERVER_Error* out_of_range(const Request& request, const char* what, uint32_t index,
                                 uint32_t count) noexcept {
  return invalid_argument("request '", request.id, "' has ", count, " ", what, "s, no ", what, " ", index);
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_RequestId(TRITONBACKEND_Request* request, const char** id) {
  const Request* held = object(request);
  if (held == nullptr || any_null(id)) return refuse(__func__, "request", request, any_null(id));
  *id = c_text(held->id);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationId(TRITONBACKEND_Request* request, uint64_t* id) {
  const Request* held = object(request);
  if (held == nullptr || any_null(id)) return refuse(__func__, "request", request, any_null(id));
  if (!held->sequence.text.empty()) return &id_is_text;
  *id = held->sequence.number;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationIdString(TRITONBACKEND_Request* request,
                                                             const char** id) {
  const Request* held = object(request);
  if (held == nullptr || any_null(id)) return refuse(__func__, "request", request, any_null(id));
  if (held->sequence.number != 0) return &id_is_number;
  *id = c_text(held->sequence.text);
  return nullptr;
}

// The flags of both sides have the same bits.
TRITONSERVER_Error* TRITONBACKEND_RequestFlags(TRITONBACKEND_Request* request, uint32_t* flags) {
  const Request* held = object(request);
  if (held == nullptr || any_null(flags)) return refuse(__func__, "request", request, any_null(flags));
  *flags = held->sequence_flags;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request, bool* is_cancelled) {
  const Request* held = object(request);
  if (held == nullptr || any_null(is_cancelled))
    return refuse(__func__, "request", request, any_null(is_cancelled));
  *is_cancelled = held->cancelled();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InferenceRequestTimeoutMicroseconds(TRITONBACKEND_Request* request,
                                                                      uint64_t* timeout) {
  const Request* held = object(request);
  if (held == nullptr || any_null(timeout)) return refuse(__func__, "request", request, any_null(timeout));
  *timeout = held->timeout_us;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestParameterCount(TRITONBACKEND_Request* request, uint32_t* count) {
  const Request* held = object(request);
  if (held == nullptr || any_null(count)) return refuse(__func__, "request", request, any_null(count));
  *count = held->parameters.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestParameter(TRITONBACKEND_Request* request, const uint32_t index,
                                                   const char** key, TRITONSERVER_ParameterType* type,
                                                   const void** vvalue) {
  const Request* held = object(request);
  if (held == nullptr || any_null(key, type, vvalue))
    return refuse(__func__, "request", request, any_null(key, type, vvalue));
  const auto& parameters = held->parameters;
  if (index >= parameters.size()) {
    return out_of_range(*held, "parameter", index, parameters.size());
  }
  *key = c_text(parameters[index].key);
  *type = static_cast<TRITONSERVER_ParameterType>(parameters[index].type);
  *vvalue = value_of(parameters[index]);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request* request, uint32_t* count) {
  const Request* held = object(request);
  if (held == nullptr || any_null(count)) return refuse(__func__, "request", request, any_null(count));
  *count = held->inputs.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputName(TRITONBACKEND_Request* request, const uint32_t index,
                                                   const char** input_name) {
  const Request* held = object(request);
  if (held == nullptr || any_null(input_name))
    return refuse(__func__, "request", request, any_null(input_name));
  *input_name = nullptr;
  const auto& inputs = held->inputs;
  if (index >= inputs.size()) return out_of_range(*held, "input", index, inputs.size());
  *input_name = c_text(inputs[index].name);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request, const char* name,
                                               TRITONBACKEND_Input** input) {
  const Request* held = object(request);
  if (held == nullptr || any_null(name, input))
    return refuse(__func__, "request", request, any_null(name, input));
  *input = nullptr;
  const atl::InputTensor* found = held->find_input(name);
  if (found == nullptr) {
    return invalid_argument("request '", held->id, "' has no input '", name, "'");
  }
  *input = &request->input(static_cast<uint32_t>(found - held->inputs.begin()));
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request* request, const uint32_t index,
                                                      TRITONBACKEND_Input** input) {
  const Request* held = object(request);
  if (held == nullptr || any_null(input)) return refuse(__func__, "request", request, any_null(input));
  *input = nullptr;
  const auto& inputs = held->inputs;
  if (index >= inputs.size()) return out_of_range(*held, "input", index, inputs.size());
  *input = &request->input(index);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request, uint32_t* count) {
  const Request* held = object(request);
  if (held == nullptr || any_null(count)) return refuse(__func__, "request", request, any_null(count));
  *count = held->outputs.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request, const uint32_t index,
                                                    const char** output_name) {
  const Request* held = object(request);
  if (held == nullptr || any_null(output_name))
    return refuse(__func__, "request", request, any_null(output_name));
  *output_name = nullptr;
  const auto& outputs = held->outputs;
  if (index >= outputs.size()) return out_of_range(*held, "output", index, outputs.size());
  *output_name = c_text(outputs[index].name);
  return nullptr;
}

// A place is known where the client has given one, or the program that made the request can say.
TRITONSERVER_Error* TRITONBACKEND_RequestOutputBufferProperties(TRITONBACKEND_Request* request,
                                                                const char* name, size_t* byte_size,
                                                                TRITONSERVER_MemoryType* memory_type,
                                                                int64_t* memory_type_id) {
  Request* held = object(request);
  const bool has_null = any_null(memory_type, memory_type_id);
  if (held == nullptr || has_null) return refuse(__func__, "request", request, has_null);
  TRITONSERVER_Error* error = nullptr;
  if (query_output(*held, name, byte_size, memory_type, memory_type_id, &error)) return error;
  const atl::RequestedOutput* wanted = nullptr;
  if (name != nullptr) {
    wanted = held->find_output(name);
  } else if (!held->outputs.empty()) {
    wanted = &held->outputs[0];
  }
  if (wanted == nullptr || wanted->placement.data == nullptr) return &no_place;
  *memory_type = static_cast<TRITONSERVER_MemoryType>(wanted->placement.kind);
  *memory_type_id = wanted->placement.device_id;
  return nullptr;
}
