#include "request/inference_request.h"

#include <mutex>
#include <utility>

#include "atoll/triton/server.h"
#include "atoll/triton/status.h"
#include "request/object_pool.h"

using namespace atl::triton;

namespace {

constinit ObjectPool<TRITONSERVER_InferenceRequest> request_pool;

/// The latest use of a request that is not deleted, with a reference; null, and an error, if there is none.
RequestUse* latest_use(TRITONSERVER_InferenceRequest* request, const char* function,
                       TRITONSERVER_Error** error) {
  *error = check_request(request, function);
  if (*error != nullptr) return nullptr;
  RequestUse* use = request->hold_latest_use();
  if (use == nullptr) *error = new_error(TRITONSERVER_ERROR_INTERNAL, "the request was not sent yet");
  return use;
}

/// Null: the flight begins.
TRITONSERVER_Error* claim(TRITONSERVER_InferenceRequest* request, const char* function) noexcept {
  if (TRITONSERVER_Error* error = check_request(request, function)) return error;
  const void* none = nullptr;
  if (!request->flight.compare_exchange_strong(none, request, std::memory_order_acq_rel))
    return in_flight(function);
  if (request->callbacks.release != nullptr && request->callbacks.respond != nullptr) return nullptr;
  request->flight.store(nullptr, std::memory_order_release);
  return invalid_argument(function, ": the request has no release callback, or no response callback");
}

}  // namespace

void TRITONSERVER_InferenceRequest::clear() noexcept {
  model.reset();
  id.clear();
  flags = 0;
  correlation_number = 0;
  correlation_text.clear();
  priority = timeout_us = 0;
  inputs.clear();
  outputs.clear();
  parameters.clear();
  callbacks = {};
  if (RequestUse* use = std::exchange(latest_use, nullptr); use != nullptr) use->drop_reference();
}

void TRITONSERVER_InferenceRequest::drop_holder() noexcept {
  if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) request_pool.give_back(*this);
}

RequestUse* TRITONSERVER_InferenceRequest::hold_latest_use() noexcept {
  std::lock_guard lock(mutex);
  if (latest_use != nullptr) latest_use->add_reference();
  return latest_use;
}

void TRITONSERVER_InferenceRequest::replace_latest_use(RequestUse& use) noexcept {
  RequestUse* before = &use;
  {
    std::lock_guard lock(mutex);
    std::swap(latest_use, before);
  }
  if (before != nullptr) before->drop_reference();
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestNew(TRITONSERVER_InferenceRequest** inference_request,
                                                     TRITONSERVER_Server* server, const char* model_name,
                                                     const int64_t model_version) {
  if (inference_request == nullptr) return null_argument(__func__);
  *inference_request = nullptr;
  if (any_null(server, model_name)) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    auto model = server->acquire(model_name, model_version);
    if (!model.ok()) return to_error(model.status());
    TRITONSERVER_InferenceRequest& made = request_pool.take();
    made.model = std::move(model).value();
    made.holders.store(1, std::memory_order_relaxed);
    made.is_live.store(true, std::memory_order_release);
    *inference_request = &made;
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestDelete(TRITONSERVER_InferenceRequest* inference_request) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if (!inference_request->is_live.exchange(false, std::memory_order_acq_rel)) {
    return check_request(inference_request, __func__);
  }
  inference_request->clear();
  inference_request->drop_holder();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerInferAsync(TRITONSERVER_Server* server,
                                                  TRITONSERVER_InferenceRequest* inference_request,
                                                  TRITONSERVER_InferenceTrace* trace) {
  if (trace != nullptr && !trace->take()) {
    return invalid_argument(__func__, ": the trace is the server's already");
  }
  TRITONSERVER_Error* error =
      server == nullptr ? null_argument(__func__) : claim(inference_request, __func__);
  if (error != nullptr) {
    if (trace != nullptr) trace->drop();
    return error;
  }
  RequestUse& use = RequestUse::make(*inference_request);
  inference_request->replace_latest_use(use);
  if (server->is_for_backends()) use.call_flags |= atl::kIsStep;
  // A refused request gives its reference to the model back in this call. If that is the last reference, the server may end
  // at once: the pass keeps the plugins mapped until the call has returned.
  atl::Gate* calls = server->calls();
  const atl::Pass inside = calls == nullptr ? atl::Pass() : atl::Pass(*calls);
  atl::Status status = use.infer(server->requests_in_flight(), trace);
  // After success the request may be deleted, or sent again, already.
  if (status.ok()) return nullptr;
  return guarded([&] { return to_error(status); });
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCancel(TRITONSERVER_InferenceRequest* inference_request) {
  TRITONSERVER_Error* error = nullptr;
  RequestUse* use = latest_use(inference_request, __func__, &error);
  if (use == nullptr) return error;
  use->cancellation.cancel();
  use->drop_reference();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestIsCancelled(TRITONSERVER_InferenceRequest* inference_request,
                                                             bool* is_cancelled) {
  if (is_cancelled == nullptr) return null_argument(__func__);
  TRITONSERVER_Error* error = nullptr;
  RequestUse* use = latest_use(inference_request, __func__, &error);
  if (use == nullptr) return error;
  *is_cancelled = use->cancelled();
  use->drop_reference();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetReleaseCallback(
    TRITONSERVER_InferenceRequest* inference_request,
    TRITONSERVER_InferenceRequestReleaseFn_t request_release_fn, void* request_release_userp) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if (request_release_fn == nullptr) return null_argument(__func__);
  inference_request->callbacks.release = request_release_fn;
  inference_request->callbacks.release_userp = request_release_userp;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetResponseCallback(
    TRITONSERVER_InferenceRequest* inference_request, TRITONSERVER_ResponseAllocator* response_allocator,
    void* response_allocator_userp, TRITONSERVER_InferenceResponseCompleteFn_t response_fn,
    void* response_userp) {
  if (TRITONSERVER_Error* error = check_idle(inference_request, __func__)) return error;
  if (response_allocator == nullptr || response_fn == nullptr) return null_argument(__func__);
  RequestCallbacks& callbacks = inference_request->callbacks;
  callbacks.allocator = response_allocator;
  callbacks.allocator_userp = response_allocator_userp;
  callbacks.respond = response_fn;
  callbacks.respond_userp = response_userp;
  return nullptr;
}
