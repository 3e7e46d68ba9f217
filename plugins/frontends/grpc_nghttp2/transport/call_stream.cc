#include "frontends/grpc_nghttp2/transport/call_stream.h"

#include <limits>

#include "frontends/grpc_nghttp2/transport/frames/grpc_code.h"
#include "frontends/grpc_nghttp2/transport/session/session.h"

namespace atl::frontends::grpc_nghttp2 {

std::string CallStream::peer() const { return session_->owner().peer(); }

std::shared_ptr<const ClientCertificate> CallStream::certificate() const noexcept {
  return session_->owner().certificate();
}
EventLoop& CallStream::loop() noexcept { return session_->context().loop; }

void CallStream::start(Session& session, int32_t id) noexcept {
  session_ = &session;
  id_ = id;
}

void CallStream::on_headers() noexcept {
  began_ns_ = loop().now_ns();
  const IncomingHead& head = incoming_.head();
  if (!incoming_.on_headers()) return finish(head.code(), head.text());
  const int64_t timeout_ns = head.headers().timeout_ns;
  if (timeout_ns > 0 && timeout_ns < std::numeric_limits<int64_t>::max() - began_ns_) {
    deadline_ns_ = began_ns_ + timeout_ns;
    loop().set(*this, deadline_ns_);
  }
  ticket_ = session_->limits().ticket();
  if (head.reads_several()) incoming_.begin_method({});
}

void CallStream::answer(OutgoingMessage& message) noexcept {
  Timer::unset();
  incoming_.stop();
  writer_.end();
  writer_.send(message);
}

void CallStream::finish(int code, std::string_view text) noexcept {
  if (writer_.has_ended()) return;
  Timer::unset();
  incoming_.stop();
  // Which encodings there are is told where a call needs another one; a method that is not there is answered alike.
  writer_.finish(code, text, incoming_.head().code() == kGrpcUnimplemented);
}

void CallStream::cancel() noexcept {
  if (writer_.has_ended()) return;
  Timer::unset();
  incoming_.let_go();
  incoming_.stop();
  writer_.end();
  writer_.drop();
  writer_.cancel();
}

void CallStream::on_time() noexcept {
  if (!writer_.has_ended()) end_early(kGrpcDeadlineExceeded, "Deadline Exceeded");
}

void CallStream::end_early(int code, std::string_view text) noexcept {
  incoming_.let_go();
  writer_.drop();
  finish(code, text);
}

void CallStream::end_if_stalled(uint32_t most) noexcept {
  SessionLimits& limits = session_->limits();
  if (incoming_.is_stalled(most)) {
    limits.count(RefusedFor::kMessageStall);
    return end_early(kGrpcDeadlineExceeded, "The message of the call did not come in time");
  }
  if (!writer_.is_stalled(most)) return;
  limits.count(RefusedFor::kAnswerStall);
  writer_.cancel();
}

void CallStream::on_closed() noexcept {
  writer_.end();
  incoming_.let_go();
  writer_.clear();
  Timer::unset();
  ticket_.release();
  incoming_.clear();
  deadline_ns_ = 0;
}

}  // namespace atl::frontends::grpc_nghttp2
