#include <algorithm>
#include <limits>

#include "objects.h"
#include "request/inference_request.h"

using namespace atl::triton;

namespace {

constexpr uint32_t kKnownFlags =
    TRITONSERVER_REQUEST_FLAG_SEQUENCE_START | TRITONSERVER_REQUEST_FLAG_SEQUENCE_END;
constexpr size_t kMaxCorrelationText = 128;

/// In the place of an earlier one of the same name: nothing removes one, and requests are sent again.
TRITONSERVER_Error* set_parameter(TRITONSERVER_InferenceRequest* request, const char* function,
                                  const char* key, const atl::Parameter& value, const char* text) {
  if (TRITONSERVER_Error* error = check_idle(request, function)) return error;
  if (key == nullptr || (text == nullptr && value.type == atl::ParameterType::kString)) {
    return null_argument(function);
  }
  return guarded([&]() -> TRITONSERVER_Error* {
    const auto found = std::find_if(request->parameters.begin(), request->parameters.end(),
                                    [&](const ParameterDefinition& one) { return one.key.text == key; });
    ParameterDefinition& one = found == request->parameters.end() ? request->parameters.add() : *found;
    one.key.text = key;
    one.value = value;
    one.text.text = text == nullptr ? "" : text;
    return nullptr;
  });
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_InferenceRequestId(TRITONSERVER_InferenceRequest* inference_request,
                                                    const char** id) {
  if (TRITONSERVER_Error* error = check_request(inference_request, __func__)) return error;
  if (id == nullptr) return null_argument(__func__);
  *id = inference_request->id.text.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetId(TRITONSERVER_InferenceRequest* inference_request,
                                                       const char* id) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if (id == nullptr) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    inference_request->id.text = id;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestFlags(TRITONSERVER_InferenceRequest* inference_request,
                                                       uint32_t* flags) {
  if (TRITONSERVER_Error* error = check_request(inference_request, __func__)) return error;
  if (flags == nullptr) return null_argument(__func__);
  *flags = inference_request->flags;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetFlags(TRITONSERVER_InferenceRequest* inference_request,
                                                          uint32_t flags) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if ((flags & ~kKnownFlags) != 0)
    return invalid_argument("request flags ", flags, " have bits that are unknown");
  inference_request->flags = flags;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationId(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t* correlation_id) {
  if (TRITONSERVER_Error* error = check_request(inference_request, __func__)) return error;
  if (correlation_id == nullptr) return null_argument(__func__);
  if (!inference_request->correlation_text.text.empty()) {
    return invalid_argument("the correlation id of the request is a text, not a number");
  }
  *correlation_id = inference_request->correlation_number;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationIdString(
    TRITONSERVER_InferenceRequest* inference_request, const char** correlation_id) {
  if (TRITONSERVER_Error* error = check_request(inference_request, __func__)) return error;
  if (correlation_id == nullptr) return null_argument(__func__);
  if (inference_request->correlation_number != 0) {
    return invalid_argument("the correlation id of the request is a number, not a text");
  }
  *correlation_id = inference_request->correlation_text.text.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationId(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t correlation_id) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  inference_request->correlation_number = correlation_id;
  inference_request->correlation_text.clear();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationIdString(
    TRITONSERVER_InferenceRequest* inference_request, const char* correlation_id) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if (correlation_id == nullptr) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    const std::string_view text = correlation_id;
    if (text.size() > kMaxCorrelationText) {
      return new_error(
          TRITONSERVER_ERROR_UNSUPPORTED,
          atl::cat("a correlation id has ", text.size(), " bytes, expected at most ", kMaxCorrelationText));
    }
    inference_request->correlation_text.text = text;
    inference_request->correlation_number = 0;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestPriority(TRITONSERVER_InferenceRequest* inference_request,
                                                          uint32_t* priority) {
  if (priority == nullptr) return null_argument(__func__);
  uint64_t wide = 0;
  if (TRITONSERVER_Error* error = TRITONSERVER_InferenceRequestPriorityUInt64(inference_request, &wide)) {
    return error;
  }
  if (wide > std::numeric_limits<uint32_t>::max()) {
    return invalid_argument("the priority of the request is ", wide, ", which has more than 32 bits");
  }
  *priority = static_cast<uint32_t>(wide);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestPriorityUInt64(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t* priority) {
  if (TRITONSERVER_Error* error = check_request(inference_request, __func__)) return error;
  if (priority == nullptr) return null_argument(__func__);
  *priority = inference_request->priority;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetPriority(TRITONSERVER_InferenceRequest* inference_request,
                                                             uint32_t priority) {
  return TRITONSERVER_InferenceRequestSetPriorityUInt64(inference_request, priority);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetPriorityUInt64(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t priority) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  inference_request->priority = priority;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestTimeoutMicroseconds(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t* timeout_us) {
  if (TRITONSERVER_Error* error = check_request(inference_request, __func__)) return error;
  if (timeout_us == nullptr) return null_argument(__func__);
  *timeout_us = inference_request->timeout_us;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetTimeoutMicroseconds(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t timeout_us) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  inference_request->timeout_us = timeout_us;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetStringParameter(TRITONSERVER_InferenceRequest* request,
                                                                    const char* key, const char* value) {
  return set_parameter(request, __func__, key, {}, value);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetIntParameter(TRITONSERVER_InferenceRequest* request,
                                                                 const char* key, const int64_t value) {
  atl::Parameter parameter;
  parameter.type = atl::ParameterType::kInt;
  parameter.int_value = value;
  return set_parameter(request, __func__, key, parameter, nullptr);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetBoolParameter(TRITONSERVER_InferenceRequest* request,
                                                                  const char* key, const bool value) {
  atl::Parameter parameter;
  parameter.type = atl::ParameterType::kBool;
  parameter.bool_value = value;
  return set_parameter(request, __func__, key, parameter, nullptr);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetDoubleParameter(TRITONSERVER_InferenceRequest* request,
                                                                    const char* key, const double value) {
  atl::Parameter parameter;
  parameter.type = atl::ParameterType::kDouble;
  parameter.double_value = value;
  return set_parameter(request, __func__, key, parameter, nullptr);
}
