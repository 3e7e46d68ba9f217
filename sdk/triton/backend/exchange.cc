#include "backend/exchange.h"

#include <utility>

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

/// Ends the handle, which is no more one of the unsent responses.
TRITONBACKEND_Response& take(TRITONBACKEND_Request& exchange, TRITONBACKEND_Response& response) noexcept {
  (response.previous == nullptr ? exchange.responses : response.previous->next) = response.next;
  if (response.next != nullptr) response.next->previous = response.previous;
  end_outputs(response);
  response.exchange.store(nullptr, std::memory_order_release);
  return response;
}

void append(TRITONBACKEND_Request& exchange, TRITONBACKEND_Response& response) noexcept {
  SinkCalls& calls = exchange.sink_calls;
  response.next = nullptr;
  (calls.first == nullptr ? calls.first : calls.last->next) = &response;
  calls.last = &response;
}

TRITONBACKEND_Response& enqueue(TRITONBACKEND_Request& exchange, TRITONBACKEND_Response& response) noexcept {
  append(exchange, take(exchange, response));
  return response;
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

bool was_given_back(TRITONBACKEND_Request& request) noexcept {
  if (request.read_only) return false;
  const std::lock_guard lock(request.mutex);
  const bool is_gone = request.request.load(std::memory_order_acquire) == nullptr;
  return is_gone && (request.is_given_back || request.channel == ResponseState::kRescheduled) &&
         !std::exchange(request.is_reported, true);
}

TRITONSERVER_Error* closed(const TRITONBACKEND_Request& exchange) noexcept {
  switch (exchange.channel) {
    case ResponseState::kOpen:
      return nullptr;
    case ResponseState::kRescheduled:
      return invalid_argument(
          "the request was given back to its scheduler, nothing can be sent for it any more");
    case ResponseState::kEnded:
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

void end_states(TRITONBACKEND_Request& exchange) noexcept {
  for (TRITONBACKEND_State* state = exchange.states; state != nullptr;) {
    TRITONBACKEND_State* next = state->next;
    state->exchange.store(nullptr, std::memory_order_release);
    pools().states.give_back(*state);
    state = next;
  }
  exchange.states = nullptr;
}

void close(TRITONBACKEND_Request& exchange, ResponseState as) noexcept {
  while (exchange.responses != nullptr) {
    enqueue(exchange, *exchange.responses).is_dropped = true;
    --exchange.references;
  }
  exchange.channel = as;
  exchange.was_cancelled = exchange.origin->cancelled();
}

void call_sink(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  SinkCalls& calls = exchange.sink_calls;
  if (calls.is_calling || (calls.first == nullptr && !calls.ends)) return;
  calls.is_calling = true;
  calls.caller = std::this_thread::get_id();
  ++exchange.references;
  ResponseSink& sink = *exchange.sink;
  while (TRITONBACKEND_Response* next = calls.first) {
    calls.first = next->next;
    lock.unlock();
    if (next->is_dropped) {
      sink.discard(next->response);
    } else {
      sink.send(next->response, next->flags);
    }
    pools().responses.give_back(*next);
    lock.lock();
  }
  if (std::exchange(calls.ends, false)) {
    lock.unlock();
    sink.send(nullptr, kFinal);
    lock.lock();
  }
  calls.is_calling = false;
  calls.are_done.notify_all();
  drop_reference(exchange, lock);
}

void send(TRITONBACKEND_Request& exchange, ExchangeLock& lock, TRITONBACKEND_Response& response,
          uint32_t flags) noexcept {
  ++exchange.responses_sent;
  exchange.answer = response.response->error.code();
  const bool is_final = (flags & kFinal) != 0;
  TRITONBACKEND_Response& sent = is_final ? take(exchange, response) : enqueue(exchange, response);
  sent.is_dropped = false;
  sent.flags = flags;
  if (is_final) {
    close(exchange, ResponseState::kEnded);
    append(exchange, sent);
  }
  call_sink(exchange, lock);
}

void discard(TRITONBACKEND_Request& exchange, ExchangeLock& lock, TRITONBACKEND_Response& response) noexcept {
  enqueue(exchange, response).is_dropped = true;
  call_sink(exchange, lock);
}

void send_end(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  close(exchange, ResponseState::kEnded);
  exchange.sink_calls.ends = true;
  call_sink(exchange, lock);
}

void send_failure(TRITONBACKEND_Request& exchange, ExchangeLock& lock, Status failure) noexcept {
  TRITONBACKEND_Response& response = add_response(exchange);
  response.response->error = std::move(failure);
  --exchange.references;
  send(exchange, lock, response, kFinal);
}

void answer_forgotten(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  send_failure(
      exchange, lock,
      internal_error("the backend released request '", exchange.origin->id, "' without a final response"));
}

void drop_reference(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  if (!lock.owns_lock()) lock.lock();
  const SinkCalls& calls = exchange.sink_calls;
  const bool is_all_sent = exchange.responses == nullptr && !calls.is_calling && calls.first == nullptr;
  if (exchange.is_given_back && is_all_sent) reschedule(exchange, lock);
  if (exchange.references == 1 && exchange.channel == ResponseState::kOpen) answer_forgotten(exchange, lock);
  if (--exchange.references != 0) return;
  lock.unlock();
  pools().requests.give_back(exchange);
}

}  // namespace atl::triton
