#include <string_view>

#include "atoll/triton/status.h"
#include "backend/exchange.h"
#include "backend/output.h"

using atl::Parameter;
using atl::ParameterType;
using atl::Response;
using namespace atl::triton;

namespace {

/// A parameter whose value is to be set; null, and an error, if the response is not there.
template <class Set>
TRITONSERVER_Error* add_parameter(const char* function, TRITONBACKEND_Response* response, const char* name,
                                  bool has_null, Set&& set_value) noexcept {
  const Locked exchange(response);
  if (!exchange || has_null) return refuse(function, "response", response, has_null);
  Response& answer = *response->response;
  Parameter& added = answer.parameters.add(answer.arena());
  added.key = answer.arena().copy_text(name);
  set_value(added, answer.arena());
  return nullptr;
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                              TRITONBACKEND_Request* request) {
  if (any_null(response, request)) return null_argument(__func__);
  *response = nullptr;
  const Locked exchange(request, SinkUse::kResponses);
  if (!exchange) return exchange.refusal(__func__, request);
  if (TRITONSERVER_Error* error = closed(*exchange); error != nullptr) return error;
  *response = &add_response(*exchange);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response* response) {
  Locked exchange(response);
  if (!exchange) return refuse(__func__, "response", response, false);
  discard(*exchange, exchange.lock(), *response);
  drop_reference(*exchange, exchange.lock());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSetStringParameter(TRITONBACKEND_Response* response,
                                                             const char* name, const char* value) {
  return add_parameter(__func__, response, name, any_null(name, value),
                       [&](Parameter& added, atl::Arena& arena) {
                         added.type = ParameterType::kString;
                         added.text = arena.copy_text(value);
                       });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSetIntParameter(TRITONBACKEND_Response* response, const char* name,
                                                          const int64_t value) {
  return add_parameter(__func__, response, name, any_null(name), [&](Parameter& added, atl::Arena&) {
    added.type = ParameterType::kInt;
    added.int_value = value;
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSetBoolParameter(TRITONBACKEND_Response* response, const char* name,
                                                           const bool value) {
  return add_parameter(__func__, response, name, any_null(name), [&](Parameter& added, atl::Arena&) {
    added.type = ParameterType::kBool;
    added.bool_value = value;
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSetDoubleParameter(TRITONBACKEND_Response* response,
                                                             const char* name, const double value) {
  return add_parameter(__func__, response, name, any_null(name), [&](Parameter& added, atl::Arena&) {
    added.type = ParameterType::kDouble;
    added.double_value = value;
  });
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response, const uint32_t send_flags,
                                               TRITONSERVER_Error* error) {
  Locked exchange(response);
  if (exchange && has_open_outputs(*response)) exchange.wait_for_sink(response, SinkUse::kResponses);
  if (!exchange) return exchange.refusal(__func__, "response", response, false);
  const bool known = (send_flags & ~uint32_t{TRITONSERVER_RESPONSE_COMPLETE_FINAL}) == 0;
  atl::Status failure;
  if (error != nullptr) {
    failure = atl::Status(code_of(TRITONSERVER_ErrorCode(error)), TRITONSERVER_ErrorMessage(error));
  } else if (known) {
    failure = complete_outputs(*response);
  }
  response->response->error = std::move(failure);
  if (known) {
    send(*exchange, exchange.lock(), *response, send_flags);
  } else {
    discard(*exchange, exchange.lock(), *response);
  }
  drop_reference(*exchange, exchange.lock());
  return known ? nullptr
               : invalid_argument("send flags ", send_flags, " are unknown; the response was dropped");
}
