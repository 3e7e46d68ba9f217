#include "frontends/grpc_nghttp2/reflection_call.h"

#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/message_limit.h"
#include "frontends/common/grpc/status_text.h"
#include "frontends/grpc_nghttp2/received_bytes.h"

namespace atl::frontends::grpc_nghttp2 {

void ReflectionCall::begin(std::string_view path, CallThread& thread, CallStream& stream) noexcept {
  auto* call = new ReflectionCall(thread, stream);
  stream.attach(*call);
  if (call->access_.ask(thread, {{}, path}, ApiCategory::kMetadata, stream, call->settled_))
    call->on_settled();
}

void ReflectionCall::on_settled() {
  is_asking_ = false;
  std::string_view caller;
  const Status refusal = access_.take(&caller);
  (void)access_.take_identity();
  if (stream_ == nullptr) return free_if_over();
  if (!refusal.ok()) return finish(refusal);
  stream_->read_next();
}

void ReflectionCall::on_message(Message message) noexcept {
  RequestCharge charge;
  Result<std::string> answered = answer(std::move(message), &charge);
  if (!answered.ok()) return finish(answered.status());
  is_sending_ = true;
  stream_->send(*new Answer(*this, std::move(answered).value(), std::move(charge)));
}

Result<std::string> ReflectionCall::answer(Message message, RequestCharge* charge) noexcept {
  ATOLL_RETURN_IF_ERROR(std::move(message.refused));
  // It holds no pass: an idle stream is to hold up no drain.
  if (thread_.frontend.calls.closed()) return unavailable(messages::kGrpcShuttingDown);
  ATOLL_RETURN_IF_ERROR(open_message(&message, kMostReflectionBytes, nullptr, nullptr));
  Result<std::string> answered = reflection_.answer(message.bytes);
  if (!answered.ok() || answered->size() <= kUncountedAnswerBytes) return answered;
  charge->set_source(*thread_.frontend.server.request_memory);
  ATOLL_RETURN_IF_ERROR(charge->add(answered->size()));
  return answered;
}

void ReflectionCall::Answer::on_sent() noexcept {
  const std::unique_ptr<Answer> self(this);
  call_.on_sent();
}

void ReflectionCall::on_sent() noexcept {
  is_sending_ = false;
  if (stream_ == nullptr) return free_if_over();
  stream_->read_next();
}

void ReflectionCall::on_gone() noexcept {
  stream_ = nullptr;
  free_if_over();
}

void ReflectionCall::finish(const Status& status) noexcept {
  access_.set_status(grpc_code(status.code()));
  std::exchange(stream_, nullptr)->finish(grpc_code(status.code()), shortened(client_text(status)));
  free_if_over();
}

void ReflectionCall::free_if_over() noexcept {
  if (stream_ == nullptr && !is_asking_ && !is_sending_) delete this;
}

}  // namespace atl::frontends::grpc_nghttp2
