#include "backend/exchange.h"

using namespace atl::triton;

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryNew(TRITONBACKEND_ResponseFactory** factory,
                                                     TRITONBACKEND_Request* request) {
  if (any_null(factory, request)) return null_argument(__func__);
  *factory = nullptr;
  const Locked exchange(request);
  if (!exchange) return refuse_change(__func__, request);
  if (TRITONSERVER_Error* error = closed(*exchange); error != nullptr) return error;
  TRITONBACKEND_ResponseFactory& made = pools().factories.take();
  ++exchange->references;
  made.exchange.store(request, std::memory_order_release);
  *factory = &made;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryDelete(TRITONBACKEND_ResponseFactory* factory) {
  Locked exchange(factory);
  if (!exchange) return refuse(__func__, "response factory", factory, false);
  factory->exchange.store(nullptr, std::memory_order_release);
  pools().factories.give_back(*factory);
  drop_reference(*exchange, exchange.lock());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseFactorySendFlags(TRITONBACKEND_ResponseFactory* factory,
                                                           const uint32_t send_flags) {
  if ((send_flags & ~uint32_t{TRITONSERVER_RESPONSE_COMPLETE_FINAL}) != 0)
    return invalid_argument("send flags ", send_flags, " are unknown");
  Locked exchange(factory);
  if (!exchange) return refuse(__func__, "response factory", factory, false);
  if (TRITONSERVER_Error* error = closed(*exchange); error != nullptr) return error;
  if (send_flags != 0) send_end(*exchange, exchange.lock());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryIsCancelled(TRITONBACKEND_ResponseFactory* factory,
                                                             bool* is_cancelled) {
  const Locked exchange(factory);
  if (!exchange || any_null(is_cancelled))
    return refuse(__func__, "response factory", factory, any_null(is_cancelled));
  *is_cancelled =
      exchange->channel == ResponseState::kOpen ? exchange->origin->cancelled() : exchange->was_cancelled;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseNewFromFactory(TRITONBACKEND_Response** response,
                                                         TRITONBACKEND_ResponseFactory* factory) {
  set(response, nullptr);
  const Locked exchange(factory, SinkUse::kResponses);
  if (!exchange || any_null(response))
    return exchange.refusal(__func__, "response factory", factory, any_null(response));
  if (TRITONSERVER_Error* error = closed(*exchange); error != nullptr) return error;
  *response = &add_response(*exchange);
  return nullptr;
}
