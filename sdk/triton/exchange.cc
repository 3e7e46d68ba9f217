#include "exchange.h"

namespace atl::triton {
namespace {

void end_outputs(TRITONBACKEND_Response& response) noexcept {
  for (TRITONBACKEND_Output* output = response.first_output; output != nullptr;) {
    TRITONBACKEND_Output* next = output->next;
    output->response.store(nullptr, std::memory_order_release);
    pools().outputs.give_back(*output);
    output = next;
  }
}

}  // namespace

HandlePools& pools() noexcept {
  static constinit HandlePools all;
  return all;
}

TRITONSERVER_Error* refuse_change(const char* function, const TRITONBACKEND_Request* request) noexcept {
  if (request == nullptr || !request->read_only) return refuse(function, "request", request, false);
  return invalid_argument(function, ": the request is only to be read");
}

TRITONSERVER_Error* closed(const TRITONBACKEND_Request& exchange) noexcept {
  switch (exchange.channel) {
    case Channel::kOpen:
      return nullptr;
    case Channel::kRescheduled:
      return invalid_argument(
          "the request was given back to its scheduler, nothing can be sent for it any more");
    case Channel::kEnded:
      break;
  }
  return invalid_argument("the final response of the request was sent, nothing can be sent for it any more");
}

TRITONBACKEND_Response& add_response(TRITONBACKEND_Request& exchange) noexcept {
  TRITONBACKEND_Response& response = pools().responses.take();
  response.response = exchange.sink->new_response();
  response.first_output = response.last_output = nullptr;
  response.output_count = 0;
  response.previous = nullptr;
  response.next = exchange.responses;
  if (response.next != nullptr) response.next->previous = &response;
  exchange.responses = &response;
  ++exchange.references;
  response.exchange.store(&exchange, std::memory_order_release);
  return response;
}

Response& take_response(TRITONBACKEND_Request& exchange, TRITONBACKEND_Response& response) noexcept {
  (response.previous == nullptr ? exchange.responses : response.previous->next) = response.next;
  if (response.next != nullptr) response.next->previous = response.previous;
  end_outputs(response);
  Response& taken = *response.response;
  response.exchange.store(nullptr, std::memory_order_release);
  pools().responses.give_back(response);
  return taken;
}

void discard_responses(TRITONBACKEND_Request& exchange) noexcept {
  while (exchange.responses != nullptr) {
    exchange.sink->discard(&take_response(exchange, *exchange.responses));
    --exchange.references;
  }
}

void end_states(TRITONBACKEND_Request& exchange) noexcept {
  for (TRITONBACKEND_State* state = exchange.states; state != nullptr;) {
    TRITONBACKEND_State* next = state->next;
    state->exchange.store(nullptr, std::memory_order_release);
    pools().states.give_back(*state);
    state = next;
  }
  exchange.states = nullptr;
}

void close(TRITONBACKEND_Request& exchange, Channel as) noexcept {
  discard_responses(exchange);
  exchange.channel = as;
  exchange.was_cancelled = exchange.origin->cancelled();
}

void send(TRITONBACKEND_Request& exchange, ExchangeLock& lock, Response* response, uint32_t flags) noexcept {
  if (response != nullptr) {
    ++exchange.responses_sent;
    exchange.answer = response->error.code();
  }
  ResponseSink& sink = *exchange.sink;
  if ((flags & kFinal) == 0) {
    sink.send(response, flags);
    return;
  }
  close(exchange, Channel::kEnded);
  lock.unlock();
  sink.send(response, flags);
}

void answer_forgotten(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  Response* response = exchange.sink->new_response();
  response->error =
      internal_error("the backend released request '", exchange.origin->id, "' without a final response");
  send(exchange, lock, response, kFinal);
}

void drop_reference(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  if (!lock.owns_lock()) lock.lock();
  if (exchange.references == 1 && exchange.channel == Channel::kOpen) {
    answer_forgotten(exchange, lock);
    lock.lock();
  }
  if (--exchange.references != 0) return;
  lock.unlock();
  pools().requests.give_back(exchange);
}

}  // namespace atl::triton
