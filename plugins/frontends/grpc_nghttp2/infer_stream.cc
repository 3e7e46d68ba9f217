#include "frontends/grpc_nghttp2/infer_stream.h"

#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/grpc/method_list.h"
#include "frontends/common/grpc/status_text.h"
#include "frontends/grpc_nghttp2/response_encoding.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Answers that wait in a thread's pool at most.
constexpr size_t kPooledAnswers = 256;

}  // namespace

void StreamAnswer::on_sent() noexcept { stream->on_written(); }

void InferStream::begin_call(CallThread& thread, CallStream& stream) {
  auto call = std::make_shared<InferStream>(thread, stream);
  stream.attach(*call);
  InferStream& begun = *call;
  thread.streams.insert(std::move(call));
  thread.open_streams.fetch_add(1, std::memory_order_relaxed);
  thread.callers.begin();
  begun.is_asking_ = true;
  constexpr CallName kName{{}, kGrpcStreamInferPath, true};
  if (begun.access_.ask(thread, kName, ApiCategory::kInference, stream, begun.settled_)) begun.on_settled();
}

InferStream::InferStream(CallThread& thread, CallStream& stream)
    : V2InferStream(thread.frontend),
      thread_(thread),
      stream_(&stream),
      ticket_(stream.take_ticket()),
      encoding_(response_encoding(thread.frontend.settings.response_compression, stream)) {
  stream.writer().set_encoding(encoding_);
  metadata_.emplace(stream);
}

void InferStream::on_settled() {
  const std::shared_ptr<V2InferStream> self = shared_from_this();
  is_asking_ = false;
  Status refusal = access_.take(&caller_);
  CallerIdentityPtr identity = access_.take_identity();
  begin(std::move(refusal), std::move(identity), stream_ == nullptr ? 0 : stream_->deadline_ns());
}

void InferStream::on_message(Message message) noexcept {
  const std::shared_ptr<V2InferStream> self = shared_from_this();
  const int64_t read_end_ns = frontend_.trace_time_ns();
  Lock lock(mutex_);
  if (!rules_.end_read(true)) return settle(std::move(lock));
  StreamRequest& request =
      StreamRequest::start(thread_, *this, std::move(message), read_start_ns_, read_end_ns);
  const bool runs = rules_.add(request);
  // The next one may be asked for meanwhile; it is looked at after this one.
  settle(std::move(lock));
  if (runs) request.run();
}

void InferStream::on_half_close() noexcept {
  const std::shared_ptr<V2InferStream> self = shared_from_this();
  Lock lock(mutex_);
  rules_.end_read(false);
  settle(std::move(lock));
  end_remote_writing(Lock(mutex_));
}

void InferStream::on_gone() noexcept {
  const std::shared_ptr<V2InferStream> self = shared_from_this();
  stream_ = nullptr;
  Lock lock(mutex_);
  rules_.end_read(false);
  end(std::move(lock), Code::kCancelled, "", true);
}

void InferStream::on_written() noexcept {
  const std::shared_ptr<V2InferStream> self = shared_from_this();
  Lock lock(mutex_);
  if (rules_.writing() != nullptr) rules_.writing()->mark("GRPC_SEND_END");
  StreamRequest* remote = remote_of(rules_.writing());
  keep(rules_.written().take());
  StreamRequest* last = rules_.end_write(true);
  settle(std::move(lock));
  // It keeps the stream until here.
  if (remote != nullptr && remote->is_remote()) remote->remote().resume_reading();
  if (last != nullptr) last->written();
}

void InferStream::keep(std::unique_ptr<StreamAnswer> written) noexcept {
  // The memory of large ones, and of those that were large before they were compressed, goes back at once.
  const bool is_small = written != nullptr && written->is_copied() && encoding_ == MessageEncoding::kIdentity;
  if (!is_small || thread_.idle_stream_answers.size() >= kPooledAnswers) return;
  written->clear();
  thread_.idle_stream_answers.push_back(std::move(written));
}

void InferStream::on_settle_posted() {
  Lock lock(mutex_);
  const std::shared_ptr<V2InferStream> self = std::move(posted_);
  settle_here(std::move(lock));
}

void InferStream::on_read_posted() {
  const std::shared_ptr<V2InferStream> self = std::move(reads_);
  if (stream_ != nullptr) stream_->read_next();
}

void InferStream::settle(Lock lock) noexcept {
  if (thread_.loop.is_current()) return settle_here(std::move(lock));
  if (posted_ != nullptr) return;  // it comes
  posted_ = shared_from_this();
  lock.unlock();
  thread_.loop.post(settle_);
}

void InferStream::settle_here(Lock lock) noexcept {
  CallStream* const stream = stream_;
  const bool reads = stream != nullptr && rules_.begin_read();
  if (reads) read_start_ns_ = frontend_.trace_time_ns();
  Rules::Answer* const next = stream == nullptr ? nullptr : rules_.begin_write();
  if (next != nullptr && next->request != nullptr) next->request->mark("GRPC_SEND_START");
  const bool finishes = rules_.begin_finish();
  if (finishes) {
    stream_ = nullptr;
    rules_.end_read(false);
  }
  const bool over = stream_ == nullptr && rules_.is_quiet() && !is_asking_ && !is_over_;
  const Code code = status_.code();
  const std::string text = finishes ? shortened(client_text(status_)) : std::string();
  if (over) is_over_ = true;
  lock.unlock();
  if (next != nullptr) {
    StreamAnswer& answer = next->message.answer();
    answer.stream = this;
    stream->send(answer);
  }
  if (finishes && stream != nullptr) {
    access_.set_status(grpc_code(code));
    stream->finish(grpc_code(code), text);
  }
  if (over) {
    ticket_.release();
    thread_.open_streams.fetch_sub(1, std::memory_order_release);
    const std::shared_ptr<V2InferStream> self = shared_from_this();
    thread_.streams.erase(std::static_pointer_cast<InferStream>(self));
    return;
  }
  if (!reads || finishes) return;
  if (stream->is_reading()) return stream->read_next();
  // Not at once: who settles may have a request that is to run first.
  reads_ = shared_from_this();
  thread_.loop.post(read_);
}

}  // namespace atl::frontends::grpc_nghttp2
