#include "frontends/grpc_nghttp2/infer_call.h"

#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/grpc/method_list.h"
#include "frontends/common/grpc/status_text.h"
#include "frontends/grpc_nghttp2/forwarded_message.h"
#include "frontends/grpc_nghttp2/response_encoding.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Calls that wait in a thread's pool at most; more in flight make more, which are freed afterwards.
constexpr size_t kPooledCalls = 256;

}  // namespace

InferCall::InferCall(CallThread& thread) : V2UnaryCall(thread.frontend), thread_(thread) {}

InferCall::~InferCall() = default;

void InferCall::begin(CallThread& thread, CallStream& stream, Message message) {
  std::unique_ptr<InferCall> call;
  if (thread.idle_infer_calls.empty()) {
    call = std::make_unique<InferCall>(thread);
  } else {
    call = std::move(thread.idle_infer_calls.back());
    thread.idle_infer_calls.pop_back();
  }
  call.release()->run(stream, std::move(message));
}

void InferCall::run(CallStream& stream, Message message) {
  InferContext::begin(kStreamPart | kAnswerPart);
  stream.attach(*this);
  stream_ = &stream;
  metadata_.emplace(stream);
  ticket_ = stream.take_ticket();
  deadline_ns_ = stream.deadline_ns();
  encoding_ = response_encoding(frontend_.settings.response_compression, stream);
  received_.take(std::move(message));
  wait_end_ns_ = frontend_.trace_time_ns();
  if (wait_end_ns_ != 0) wait_start_ns_ = stream.began_ns();
  stage_ = Stage::kSettle;
  if (access_.ask(thread_, ApiCategory::kInference, stream, *this)) on_settled();
}

void InferCall::on_posted() noexcept {
  if (is_waiting()) {
    resume();
    return;
  }
  switch (stage_) {
    case Stage::kSettle:
      return on_settled();
    case Stage::kAnswer:
      return send_answer();
    case Stage::kRest:
      return rest();
  }
}

void InferCall::on_gone() noexcept {
  stream_ = nullptr;
  // The answer may come while this cancels; this stays, as its stream's part is open.
  request.cancellation.cancel();
  if (remote_ != nullptr) {
    std::exchange(remote_, nullptr)->cancel();
    done(kAnswerPart);
  }
  done(kStreamPart);
}

// --- another server answers ---

void InferCall::begin_remote(const HostPort& server) noexcept {
  std::unique_ptr<ForwardedMessage> message = ForwardedMessage::make(received_.take_opened());
  if (message == nullptr) return answer_error(ForwardedMessage::no_memory());
  auto begun = thread_.clients.begin(server, {kGrpcInferPath, stream_->metadata(), deadline_ns_}, *this);
  if (!begun.ok()) return answer_error(begun.status());
  remote_ = std::move(begun).value();
  remote_->send(*message.release());
  remote_->end_sending();
  remote_->read_next();
}

void InferCall::on_client_message(Message message) noexcept {
  if (remote_answer_) return;  // a call of one message has one answer
  remote_answer_ = std::move(message);
  remote_->read_next();
}

void InferCall::on_client_end(ClientEnd end) noexcept {
  remote_.reset();
  for (const auto& [name, value] : end.trailers) stream_->writer().add_trailer(name, value);
  if (end.code == 0 && !remote_answer_) {
    return answer_error(internal_error("the other server has sent no answer"));
  }
  if (end.code == 0) {
    // What came in a buffer of its own was counted as it came.
    const uint64_t bytes = remote_answer_->bytes.size();
    const uint64_t counted_bytes = remote_answer_->charge.bytes();
    Status counted = bytes > counted_bytes ? charge(bytes - counted_bytes) : Status();
    if (counted.ok()) counted = forward_answer(&*remote_answer_, this);
    if (!counted.ok()) return answer_error(counted);
    (void)compress(encoding_);
  }
  code_ = end.code;
  text_ = shortened(end.text);
  deliver();
}

// --- this server does ---

void InferCall::answer(Response& response) noexcept {
  Status status =
      write_response(response, [this](V2InferResponse& message) { return write(message, encoding_); });
  drop_outputs(response);
  if (!status.ok()) return answer_error(status);
  code_ = 0;
  deliver();
}

void InferCall::answer_error(const Status& status) noexcept {
  free_tensors();
  const Status told = told_to_client(status, deadline_ns_, frontend_.host.clock());
  code_ = grpc_code(told.code());
  text_ = shortened(client_text(told));
  deliver();
}

void InferCall::deliver() noexcept {
  stage_ = Stage::kAnswer;
  if (thread_.loop.is_current()) {
    send_answer();
  } else {
    thread_.loop.post(*this);
  }
}

void InferCall::send_answer() noexcept {
  CallStream* const stream = std::exchange(stream_, nullptr);
  if (stream == nullptr) {
    free_tensors();
  } else if (code_ == 0) {
    trace("GRPC_SEND_START");
    stream->writer().set_encoding(encoding_);
    stream->answer(*this);
  } else {
    trace("GRPC_SEND_START");
    if (request.retry_after_ms != 0) {
      for (const auto& [name, value] : retry_metadata(request.retry_after_ms))
        stream->writer().add_trailer(name, value);
    }
    stream->finish(code_, text_);
    trace("GRPC_SEND_END");
    done(kStreamPart);
  }
  done(kAnswerPart);
}

void InferCall::on_sent() noexcept {
  trace("GRPC_SEND_END");
  free_tensors();
  done(kStreamPart);
}

void InferCall::recycle() noexcept {
  received_.clear();
  reset_request();
  stage_ = Stage::kRest;
  if (thread_.loop.is_current()) {
    rest();
  } else {
    thread_.loop.post(*this);
  }
}

void InferCall::rest() noexcept {
  // The pass goes last: with it the instance may be stopped, and this thread with it.
  Pass pass = std::move(pass_);
  received_.give_back(thread_.buffers);
  ticket_.release();
  metadata_.reset();
  remote_answer_.reset();
  text_.clear();
  std::unique_ptr<InferCall> call(this);
  if (thread_.idle_infer_calls.size() < kPooledCalls) thread_.idle_infer_calls.push_back(std::move(call));
}

}  // namespace atl::frontends::grpc_nghttp2
