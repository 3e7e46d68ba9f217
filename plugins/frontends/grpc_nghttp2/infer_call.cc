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

InferCall::InferCall(CallThread& thread) : thread_(thread), service_(thread.frontend, *this) {}

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

// --- the request ---

void InferCall::run(CallStream& stream, Message message) {
  service_.begin(kStreamPart | kAnswerPart);
  stream.attach(*this);
  stream_ = &stream;
  metadata_.emplace(stream);
  ticket_ = stream.take_ticket();
  deadline_ns_ = stream.deadline_ns();
  const GrpcCallContext& frontend = thread_.frontend;
  encoding_ = response_encoding(frontend.settings.response_compression, stream);
  service_.received().take(std::move(message));
  const int64_t now_ns = frontend.trace_time_ns();
  service_.set_wait_start(now_ns == 0 ? 0 : stream.began_ns());
  service_.set_wait_end(now_ns);
  stage_ = Stage::kSettle;
  if (access_.ask(thread_, {{}, kGrpcInferPath}, ApiCategory::kInference, stream, *this))
    service_.on_settled();
}

void InferCall::on_posted() noexcept {
  if (service_.is_waiting()) {
    service_.resume();
    return;
  }
  switch (stage_) {
    case Stage::kSettle:
      return service_.on_settled();
    case Stage::kAnswer:
      return end_stream();
    case Stage::kRest:
      return rest();
  }
}

void InferCall::on_gone() noexcept {
  stream_ = nullptr;
  // The answer may come while this cancels; this stays, as its stream's part is open.
  service_.cancel();
  if (remote_ != nullptr) {
    std::exchange(remote_, nullptr)->cancel();
    service_.done(kAnswerPart);
  }
  service_.done(kStreamPart);
}

// --- another server answers ---

void InferCall::begin_remote(const HostPort& server) noexcept {
  std::unique_ptr<ForwardedMessage> message = ForwardedMessage::make(service_.received().take_opened());
  if (message == nullptr) return service_.answer_error(ForwardedMessage::no_memory());
  auto begun = thread_.clients.begin(server, {kGrpcInferPath, stream_->metadata(), deadline_ns_}, *this);
  if (!begun.ok()) return service_.answer_error(begun.status());
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
    return service_.answer_error(internal_error("the other server has sent no answer"));
  }
  if (end.code == 0) {
    // What came in a buffer of its own was counted as it came.
    const uint64_t bytes = remote_answer_->bytes.size();
    const uint64_t counted_bytes = remote_answer_->charge.bytes();
    Status counted = bytes > counted_bytes ? service_.charge(bytes - counted_bytes) : Status();
    if (counted.ok()) counted = forward_answer(&*remote_answer_, this);
    if (!counted.ok()) return service_.answer_error(counted);
    (void)compress(encoding_);
  }
  end_with(end.code, end.text);
}

// --- the answer ---

void InferCall::send_error(const Status& status, uint32_t retry_after_ms) noexcept {
  free_tensors();
  retry_after_ms_ = retry_after_ms;
  end_with(grpc_code(status.code()), client_text(status));
}

void InferCall::end_with(int code, std::string_view text) noexcept {
  code_ = code;
  if (code != 0) text_ = shortened(text);
  stage_ = Stage::kAnswer;
  if (thread_.loop.is_current()) {
    end_stream();
  } else {
    thread_.loop.post(*this);
  }
}

void InferCall::end_stream() noexcept {
  CallStream* const stream = std::exchange(stream_, nullptr);
  if (stream != nullptr) access_.set_status(code_);
  if (stream == nullptr) {
    free_tensors();
  } else if (code_ == 0) {
    service_.trace("GRPC_SEND_START");
    stream->writer().set_encoding(encoding_);
    stream->answer(*this);
  } else {
    service_.trace("GRPC_SEND_START");
    if (retry_after_ms_ != 0) {
      for (const auto& [name, value] : retry_metadata(retry_after_ms_))
        stream->writer().add_trailer(name, value);
    }
    stream->finish(code_, text_);
    service_.trace("GRPC_SEND_END");
    service_.done(kStreamPart);
  }
  service_.done(kAnswerPart);
}

void InferCall::on_sent() noexcept {
  service_.trace("GRPC_SEND_END");
  free_tensors();
  service_.done(kStreamPart);
}

// --- the end ---

void InferCall::recycle() noexcept {
  pass_ = service_.reset();
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
  service_.received().give_back(thread_.buffers);
  ticket_.release();
  metadata_.reset();
  access_.forget();
  remote_answer_.reset();
  text_.clear();
  retry_after_ms_ = 0;
  std::unique_ptr<InferCall> call(this);
  if (thread_.idle_infer_calls.size() < kPooledCalls) thread_.idle_infer_calls.push_back(std::move(call));
}

}  // namespace atl::frontends::grpc_nghttp2
