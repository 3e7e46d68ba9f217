#include "backends/repeat/repeat_call.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "atoll/backend/values.h"

namespace atl::repeat {
namespace {

/// How late a cancellation may be noticed.
constexpr int64_t kCancelPollNs = 10 * kNsPerMs;
/// Responses without a delay that are sent in a row before others get their turn.
constexpr uint32_t kBurstMax = 64;

template <class T>
Status read_elements(const Request& request, std::string_view name, std::vector<T>* elements) {
  const InputTensor* input = request.find_input(name);
  if (input == nullptr) return invalid_argument("input '", name, "' is missing");
  uint64_t size_bytes = 0;
  for (const Buffer& buffer : input->buffers) size_bytes += buffer.size_bytes;
  if (size_bytes % sizeof(T) != 0) {
    return invalid_argument("input '", name, "' has ", size_bytes, " bytes, expected a multiple of ",
                            sizeof(T));
  }
  elements->resize(size_bytes / sizeof(T));
  Buffer to;
  to.data = elements->data();
  to.size_bytes = size_bytes;
  Result<uint64_t> copied = backends::gather(input->buffers, to, cat("input '", name, "'"));
  return copied.ok() ? Status() : std::move(copied).status();
}

}  // namespace

RepeatCall::RepeatCall(const Context& context, Request& request) noexcept
    : context_(context),
      request_(&request),
      sink_(request.sink),
      start_ns_(context.clock.now_ns()),
      release_ns_(start_ns_),
      next_ns_(start_ns_) {}

Result<std::unique_ptr<RepeatCall>> RepeatCall::create(const Context& context, Request& request) {
  std::unique_ptr<RepeatCall> call(new RepeatCall(context, request));
  ATOLL_RETURN_IF_ERROR(call->read_inputs());
  for (const RequestedOutput& output : request.outputs) {
    if (output.name == kOut) call->outputs_.push_back(kOut);
    if (output.name == kIdx) call->outputs_.push_back(kIdx);
  }
  return call;
}

Status RepeatCall::read_inputs() {
  std::vector<uint32_t> wait_ms;
  ATOLL_RETURN_IF_ERROR(read_elements(*request_, kIn, &values_));
  ATOLL_RETURN_IF_ERROR(read_elements(*request_, kDelay, &delays_ms_));
  ATOLL_RETURN_IF_ERROR(read_elements(*request_, kWait, &wait_ms));
  if (values_.size() != delays_ms_.size()) {
    return invalid_argument("expected IN and DELAY shape to match, got [", values_.size(), "] and [",
                            delays_ms_.size(), "]");
  }
  if (wait_ms.size() != 1) {
    return invalid_argument("unexpected size for WAIT input: ", wait_ms.size(), " elements, expected 1");
  }
  release_ns_ = start_ns_ + wait_ms[0] * kNsPerMs;
  if (!delays_ms_.empty()) next_ns_ = start_ns_ + delays_ms_[0] * kNsPerMs;
  return {};
}

void RepeatCall::start(std::unique_ptr<RepeatCall> call) noexcept {
  SerialExecutor& executor = call->context_.executor;
  executor.post({&wake, call.release(), &abandon});
}

void RepeatCall::wake_at(int64_t time_ns) noexcept {
  context_.executor.post_at(time_ns, {&wake, this, &abandon});
}

void RepeatCall::wake(void* raw) noexcept {
  std::unique_ptr<RepeatCall> call(static_cast<RepeatCall*>(raw));
  if (call->step()) call.release();
}

void RepeatCall::abandon(void* raw) noexcept {
  std::unique_ptr<RepeatCall> call(static_cast<RepeatCall*>(raw));
  FailureReason reason = FailureReason::kOther;
  if (!call->released_) call->release(&reason);
  if (!call->ended_) {
    call->end_with(unavailable("the instance of model '", call->context_.config.model,
                               "' ended before its last response"));
  }
}

bool RepeatCall::step() noexcept {
  int64_t now_ns = context_.clock.now_ns();
  if (request_->cancelled()) {
    FailureReason reason = FailureReason::kCanceled;
    if (!released_) release(ended_ ? nullptr : &reason);
    if (!ended_) end_with(Status(Code::kCancelled, {}));
    return false;
  }
  // The release comes first, and with it the statistics: who has an answer finds it counted if WAIT allows.
  if (!released_ && now_ns >= release_ns_) release(nullptr);
  if (!ended_) send_due(now_ns);
  if (ended_ && released_) return false;
  int64_t due_ns = ended_ ? release_ns_ : next_ns_;
  if (!released_) due_ns = std::min(due_ns, release_ns_);
  wake_at(std::min(due_ns, now_ns + kCancelPollNs));
  return true;
}

void RepeatCall::send_due(int64_t now_ns) noexcept {
  if (values_.empty()) {
    ended_ = true;
    sink_->send(nullptr, kFinal);
    return;
  }
  for (uint32_t sent = 0; sent < kBurstMax && !ended_ && now_ns >= next_ns_; ++sent) {
    send_next();
    if (!ended_) next_ns_ += delays_ms_[position_] * kNsPerMs;
  }
}

void RepeatCall::send_next() noexcept {
  uint32_t index = position_++;
  bool last = position_ == values_.size();
  uint32_t flags = 0;
  if (last && context_.config.final_with_last) flags = kFinal;
  Response* response = sink_->new_response();
  if (index == context_.config.fail_at) {
    response->error = internal_error("model '", context_.config.model, "': response ", index,
                                     " fails, as parameter 'fail_at' of its configuration asks");
  } else {
    for (std::string_view name : outputs_) {
      Status added = add_output(*response, name, index);
      if (added.ok()) continue;
      sink_->discard(response);
      return end_with(std::move(added));
    }
  }
  ended_ = last;
  response->send(flags);
  if (last && flags == 0) sink_->send(nullptr, kFinal);
}

Status RepeatCall::add_output(Response& response, std::string_view name, uint32_t index) noexcept {
  constexpr int64_t kShape[] = {1};
  const bool is_index = name == kIdx;
  OutputTensor& tensor = response.add_output(name, is_index ? DataType::kUint32 : DataType::kInt32, kShape);
  ATOLL_RETURN_IF_ERROR(response.allocate(tensor, sizeof(int32_t)));
  if (!backends::is_host_memory(tensor.buffer.kind)) {
    return internal_error("failed to create ", name, " output buffer in CPU memory");
  }
  const void* from = is_index ? static_cast<const void*>(&index) : &values_[index];
  std::memcpy(tensor.buffer.data, from, sizeof(int32_t));
  return {};
}

void RepeatCall::end_with(Status failure) noexcept {
  ended_ = true;
  sink_->new_response()->send_error(std::move(failure), kFinal);
}

void RepeatCall::release(FailureReason* failure) noexcept {
  released_ = true;
  if (InferenceReporter* reporter = context_.reporter; reporter != nullptr) {
    if (failure == nullptr) {
      ExecutionTimes times{start_ns_, start_ns_, context_.clock.now_ns(), 0};
      times.execute_end_ns = times.compute_end_ns;
      reporter->report_request(*request_, true, times);
      reporter->report_batch(request_->batch_weight(), times);
    } else {
      reporter->report_failure(*request_, *failure);
    }
  }
  (void)request_->release().ok();
}

}  // namespace atl::repeat
