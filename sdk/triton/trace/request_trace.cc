#include "backend/exchange.h"
#include "trace/inference_trace.h"

using namespace atl::triton;

TRITONSERVER_Error* TRITONBACKEND_RequestTrace(TRITONBACKEND_Request* request,
                                               TRITONSERVER_InferenceTrace** trace) {
  set(trace, nullptr);
  const atl::Request* held = object(request);
  if (held == nullptr || any_null(trace)) return refuse(__func__, "request", request, any_null(trace));
  // It is shown in the request's memory, which who only reads does not use.
  if (held->trace == nullptr || request->read_only) return nullptr;
  const Locked exchange(request);
  if (!exchange) return refuse_change(__func__, request);
  if (exchange->trace == nullptr) exchange->trace = show_trace(*exchange->origin);
  *trace = exchange->trace;
  return nullptr;
}
