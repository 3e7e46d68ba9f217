#include "frontends/grpc_nghttp2/remote_infer_stream.h"

#include <utility>

#include "frontends/grpc_nghttp2/forwarded_message.h"

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
    is_ended_ = true;
    status_ = std::move(begun).status();
    on_cancel(nullptr);  // the owner is told of no end before it has this
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
  call_->send(*new ForwardedMessage(std::move(message), [backlog = backlog_] {
    --backlog->count;
    if (backlog->stream != nullptr) backlog->stream->on_room();
  }));
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

void RemoteInferStream::settle() noexcept {
  cancellation_.stop_listening();
  if (was_cancelled_ && !was_woken_) return;  // that comes yet
  if (std::exchange(has_backlog_, false)) owner_.on_remote_room();
  owner_.on_remote_end(status_);
}

}  // namespace atl::frontends::grpc_nghttp2
