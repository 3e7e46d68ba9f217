#include "frontends/grpc_nghttp2/contributed_call.h"

#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/grpc/message_limit.h"
#include "frontends/common/grpc/status_text.h"
#include "frontends/grpc_nghttp2/received_bytes.h"
#include "frontends/grpc_nghttp2/response_encoding.h"

namespace atl::frontends::grpc_nghttp2 {

ContributedCall::Answer::Answer(ContributedCall& call, std::string content, uint64_t counted_bytes,
                                RequestCharge charge)
    : TextMessage(std::move(content), call.encoding_),
      call_(call),
      counted_bytes_(counted_bytes),
      charge_(std::move(charge)) {}

void ContributedCall::Answer::on_sent() noexcept {
  const std::unique_ptr<Answer> self(this);
  call_.on_sent(counted_bytes_);
}

void ContributedCall::begin(CallThread& thread, std::string_view path, CallStream& stream) noexcept {
  auto* call = new ContributedCall(thread, path, stream);
  stream.attach(*call);
  Status found = call->find();
  if (found.ok()) found = call->count_head();
  if (!found.ok()) {
    call->is_asking_ = false;
    return call->refuse(std::move(found));
  }
  if (call->access_.ask(thread, {.path = path, .goes_on = true}, call->guarded().category,
                        call->guarded().name, stream, call->settled_))
    call->on_settled();
}

ContributedCall::ContributedCall(CallThread& thread, std::string_view path, CallStream& stream)
    : ContributedExchange(thread.frontend),
      thread_(thread),
      path_(path),
      head_(stream),
      encoding_(response_encoding(thread.frontend.settings.response_compression, stream)),
      stream_(&stream),
      ticket_(stream.take_ticket()) {
  stream.writer().set_encoding(encoding_);
}

// --- the way to the provider ---

/// The stream's own is counted by the transport and goes with the client; this stays until the provider is done.
Status ContributedCall::count_head() noexcept {
  if (head_.bytes() <= kUncountedAnswerBytes) return {};
  head_charge_.set_source(*frontend_.server.request_memory);
  Status counted = head_charge_.add(head_.bytes());
  if (!counted.ok()) set_retry_after(RequestCharge::kRetryAfterMs);
  return counted;
}

void ContributedCall::on_settled() {
  is_asking_ = false;
  Status refusal = access_.take(&caller_);
  identity_ = access_.take_identity();
  if (stream_ == nullptr) refusal = Status(Code::kCancelled, {});
  if (!refusal.ok()) return refuse(std::move(refusal));
  stream_->read_next();
}

void ContributedCall::on_message(Message message) noexcept {
  is_with_plugin_ = true;
  message_ = std::move(message);
  charge_ = std::move(message_.charge);
  if (!message_.refused.ok()) {
    set_retry_after(RequestCharge::kRetryAfterMs);
    return refuse(std::move(message_.refused));
  }
  const uint64_t bytes = message_.bytes.size();
  ContributedExchange::on_message(bytes > charge_.bytes() ? bytes - charge_.bytes() : 0);
}

Status ContributedCall::open_message(uint64_t max_bytes, bool* is_larger) noexcept {
  return grpc_nghttp2::open_message(&message_, max_bytes, is_larger, &charge_);
}

void ContributedCall::on_gone() noexcept {
  stream_ = nullptr;
  // Who hears it may end the exchange at once.
  ++inside_;
  cancellation_.cancel();
  --inside_;
  // Nobody else ends it while it waits for its message.
  if (!is_with_plugin_ && !is_asking_) return refuse(Status(Code::kCancelled, {}));
  free_if_over();
}

// --- the way back ---

void ContributedCall::keep(std::string message, RequestCharge charge) noexcept {
  const uint64_t bytes = message.size() + kMessageOverheadBytes;
  auto answer = std::make_unique<Answer>(*this, std::move(message), bytes, std::move(charge));
  const Lock lock(mutex_);
  messages_.push_back(std::move(answer));
}

void ContributedCall::cancel_call() noexcept {
  Lock lock(mutex_);
  is_cancelling_ = true;
  settle(std::move(lock));
}

void ContributedCall::settle(Lock lock) noexcept {
  if (thread_.loop.is_current()) return settle_here(std::move(lock));
  if (std::exchange(is_posted_, true)) return;  // it comes
  lock.unlock();
  thread_.loop.post(settle_);
}

void ContributedCall::on_settle_posted() {
  Lock lock(mutex_);
  is_posted_ = false;
  settle_here(std::move(lock));
}

void ContributedCall::settle_here(Lock lock) noexcept {
  std::vector<std::unique_ptr<Answer>> messages = std::exchange(messages_, {});
  const bool ends = is_ended_ && !is_handling_ && !is_over_;
  const bool cancels = std::exchange(is_cancelling_, false);
  lock.unlock();
  ++inside_;
  if (cancels && stream_ != nullptr) stream_->cancel();  // this hears on_gone() meanwhile
  deliver(std::move(messages), ends);
  --inside_;
  if (ends) is_over_ = true;
  free_if_over();
}

void ContributedCall::deliver(std::vector<std::unique_ptr<Answer>> messages, bool ends) noexcept {
  for (std::unique_ptr<Answer>& message : messages) {
    if (stream_ == nullptr) {
      wait_no_more(message->counted_bytes());
      continue;
    }
    ++sending_;
    stream_->send(*message.release());
  }
  if (!ends || stream_ == nullptr) return;
  if (retry_after_ms_ != 0) {
    for (const auto& [name, value] : retry_metadata(retry_after_ms_))
      stream_->writer().add_trailer(name, value);
  }
  access_.set_status(grpc_code(status_.code()));
  std::exchange(stream_, nullptr)->finish(grpc_code(status_.code()), shortened(client_text(status_)));
}

void ContributedCall::on_sent(uint64_t counted_bytes) noexcept {
  wait_no_more(counted_bytes);
  --sending_;
  free_if_over();
}

void ContributedCall::free_if_over() noexcept {
  if (!is_over_ || sending_ != 0 || inside_ != 0) return;
  {
    const Lock lock(mutex_);
    if (is_posted_) return;
  }
  // The pass goes last: with it the instance may be stopped, and this thread with it.
  const Pass pass = std::move(pass_);
  identity_.reset();
  if (message_.buffer.capacity() != 0) thread_.buffers.give(std::move(message_.buffer));
  delete this;
}

}  // namespace atl::frontends::grpc_nghttp2
