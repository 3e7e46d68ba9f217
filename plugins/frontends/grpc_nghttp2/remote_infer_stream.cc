#include "frontends/grpc_nghttp2/remote_infer_stream.h"

#include <utility>

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Messages that wait for the other server before the client has to: it takes them as fast as it answers.
constexpr uint32_t kBacklog = 4;

}  // namespace

RemoteInferStream::RemoteInferStream(CallThread& thread, Owner& owner, const HostPort& server,
                                     const ClientRequest& request, Cancellation& cancellation,
                                     MessageEncoding encoding)
    : thread_(thread), owner_(owner), cancellation_(cancellation), encoding_(encoding) {
  backlog_->stream = this;
  auto begun = thread.clients.begin(server, request, *this);
  if (!begun.ok()) {
    end_later(std::move(begun).status());
    return;
  }
  call_ = std::move(begun).value();
  call_->read_next();
  if (!cancellation.listen(this, nullptr)) on_cancel(nullptr);
}

RemoteInferStream::~RemoteInferStream() {
  backlog_->stream = nullptr;
  if (call_ != nullptr) call_->cancel();
}

void RemoteInferStream::on_cancel(void*) noexcept {
  was_cancelled_ = true;
  thread_.loop.post(woken_);
}

void RemoteInferStream::on_woken() {
  was_woken_ = true;
  end(Status(Code::kCancelled, {}));
}

// --- to the other server ---

void RemoteInferStream::write(Message message) noexcept {
  if (call_ == nullptr) return;  // it ends; its status says why
  if (++backlog_->count > kBacklog && !std::exchange(has_backlog_, true)) owner_.on_remote_backlog();
  std::unique_ptr<ForwardedMessage> forwarded = ForwardedMessage::make(std::move(message), backlog_);
  if (forwarded == nullptr) {
    --backlog_->count;
    return end_later(ForwardedMessage::no_memory());
  }
  call_->send(*forwarded.release());
}

void RemoteInferStream::Backlog::on_forwarded() noexcept {
  --count;
  if (stream != nullptr) stream->on_room();
}

void RemoteInferStream::on_room() noexcept {
  if (backlog_->count <= kBacklog && std::exchange(has_backlog_, false)) owner_.on_remote_room();
}

void RemoteInferStream::end_writing() noexcept {
  if (call_ != nullptr) call_->end_sending();
}

// --- from it ---

void RemoteInferStream::on_client_message(Message message) noexcept {
  StreamMessage answer;
  if (Status made = answer.make().forward(std::move(message), encoding_); !made.ok()) {
    return end(std::move(made));
  }
  if (owner_.on_remote_answer(&answer)) {
    if (call_ != nullptr) call_->read_next();
    return;
  }
  stalled_.Swap(&answer);
  is_stalled_ = true;
}

void RemoteInferStream::resume_reading() noexcept {
  if (!is_stalled_ || !owner_.on_remote_answer(&stalled_)) return;
  is_stalled_ = false;
  stalled_.Clear();
  if (call_ != nullptr) call_->read_next();
}

// --- the end ---

void RemoteInferStream::on_client_end(ClientEnd end) noexcept {
  call_.reset();
  this->end(Status(static_cast<Code>(end.code), std::move(end.text)));
}

void RemoteInferStream::end(Status status) noexcept {
  if (call_ != nullptr) std::exchange(call_, nullptr)->cancel();
  if (!std::exchange(is_ended_, true)) status_ = std::move(status);
  settle();
}

/// The owner, which is in the middle of something with this, is told in a step of its own.
void RemoteInferStream::end_later(Status status) noexcept {
  cancellation_.stop_listening();
  is_ended_ = true;
  status_ = std::move(status);
  if (call_ != nullptr) std::exchange(call_, nullptr)->cancel();
  if (!was_cancelled_) on_cancel(nullptr);
}

void RemoteInferStream::settle() noexcept {
  cancellation_.stop_listening();
  if (was_cancelled_ && !was_woken_) return;  // that comes yet
  if (std::exchange(has_backlog_, false)) owner_.on_remote_room();
  owner_.on_remote_end(status_);
}

}  // namespace atl::frontends::grpc_nghttp2
