/// The beginning and the end of a request's execution by foreign code.
#include <utility>

#include "backend/exchange.h"
#include "request/in_process_request.h"

namespace atl::triton {

OpenRequest open_request(Request& request) noexcept {
  TRITONBACKEND_Request& handle = pools().requests.take();
  std::lock_guard lock(handle.mutex);
  handle.channel = ResponseState::kOpen;
  handle.was_cancelled = handle.is_reported = false;
  handle.answer = Code::kOk;
  handle.responses_sent = 0;
  handle.responses_reported = 0;
  handle.is_given_back = false;
  handle.references = 1;
  handle.origin = &request;
  handle.sink = request.sink;
  handle.sink_calls.may_overlap = static_cast<ResponseSink*>(use_of(request)) == request.sink;
  handle.model = request.model == nullptr ? nullptr : &request.model->info();
  handle.execution = {};
  handle.trace = nullptr;
  handle.show_inputs(request);
  const uint64_t use = handle.use.fetch_add(1, std::memory_order_relaxed) + 1;
  handle.request.store(&request, std::memory_order_release);
  return {&handle, use};
}

void report_execution(TRITONBACKEND_Request& exchange) noexcept {
  const ReportedExecution& execution = exchange.execution;
  if (execution.reporter == nullptr) return;
  if (execution.is_cancelled) {
    execution.reporter->report_failure(*exchange.origin, FailureReason::kCanceled);
  } else {
    execution.reporter->report_request(*exchange.origin, execution.is_success, execution.times);
  }
  exchange.execution.reporter = nullptr;
}

namespace {

/// What the caller may use no more. The lock is held.
void end_hold(TRITONBACKEND_Request& exchange) noexcept {
  exchange.request.store(nullptr, std::memory_order_release);
  exchange.hide_inputs();
  end_states(exchange);
}

/// The lock is held; it is not afterwards.
void release_all(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  Request& request = *exchange.origin;
  end_hold(exchange);
  report_execution(exchange);
  if (exchange.references == 1 && exchange.channel == ResponseState::kOpen) answer_forgotten(exchange, lock);
  if (lock.owns_lock()) lock.unlock();
  (void)request.release(kReleaseAll).ok();
  drop_reference(exchange, lock);
}

/// The caller keeps what is not taken back.
TRITONSERVER_Error* reschedule_now(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  Request& request = *exchange.origin;
  close(exchange, ResponseState::kRescheduled);
  end_hold(exchange);
  lock.unlock();
  // From here on the request may be executed, and answered, by another thread.
  Status status = request.release(kReleaseReschedule);
  lock.lock();
  if (status.ok()) {
    exchange.execution.reporter = nullptr;  // it counts with its last execution
    drop_reference(exchange, lock);
    return nullptr;
  }
  exchange.channel = ResponseState::kOpen;
  exchange.show_inputs(request);
  exchange.request.store(&request, std::memory_order_release);
  return new_error(status);
}

TRITONSERVER_Error* give_back(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  if (exchange.origin->rescheduler == nullptr) {
    return invalid_argument(
        "Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to "
        "handle such a flag.");
  }
  if (TRITONSERVER_Error* error = closed(exchange); error != nullptr) return error;
  if (exchange.responses == nullptr) return reschedule_now(exchange, lock);
  // What was made is sent first: another execution could answer in between, or end the request.
  end_hold(exchange);
  exchange.is_given_back = true;
  return nullptr;
}

}  // namespace

void reschedule(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept {
  Request& request = *exchange.origin;
  exchange.is_given_back = false;
  --exchange.references;
  Status status;
  if (exchange.channel == ResponseState::kOpen) {
    exchange.execution.reporter = nullptr;
    close(exchange, ResponseState::kRescheduled);
    lock.unlock();
    status = request.release(kReleaseReschedule);
    lock.lock();
    if (status.ok()) return;
    exchange.channel = ResponseState::kOpen;
    send_failure(exchange, lock, std::move(status));
  }
  report_execution(exchange);
  lock.unlock();
  (void)request.release(kReleaseAll).ok();
  lock.lock();
}

bool is_held(const OpenRequest& open) noexcept {
  const Locked exchange(open.handle);
  return exchange && exchange->use.load(std::memory_order_relaxed) == open.use;
}

bool end_request(const OpenRequest& open, Status failure, InferenceReporter* reporter) noexcept {
  Locked exchange(open.handle, SinkUse::kNobody);
  if (!exchange || exchange->use.load(std::memory_order_relaxed) != open.use) return false;
  if (!std::exchange(exchange->is_reported, true) && reporter != nullptr) {
    exchange->execution = {reporter, {}, false, failure.code() == Code::kCancelled};
  }
  report_execution(*exchange);
  if (exchange->channel == ResponseState::kOpen) {
    send_failure(*exchange, exchange.lock(), std::move(failure));
  }
  release_all(*exchange, exchange.lock());
  return true;
}

}  // namespace atl::triton

using namespace atl::triton;

TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request, uint32_t release_flags) {
  if (release_flags != TRITONSERVER_REQUEST_RELEASE_ALL &&
      release_flags != TRITONSERVER_REQUEST_RELEASE_RESCHEDULE) {
    return invalid_argument("release flags ", release_flags, " are unknown");
  }
  Locked exchange(request);
  const bool is_rescheduled = release_flags == TRITONSERVER_REQUEST_RELEASE_RESCHEDULE;
  if (is_rescheduled) (void)exchange.wait_for_sink(request, SinkUse::kNobody);
  if (!exchange) return exchange.refusal(__func__, request);
  if (is_rescheduled) return give_back(*exchange, exchange.lock());
  release_all(*exchange, exchange.lock());
  return nullptr;
}
