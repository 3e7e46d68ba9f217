#include "frontends/grpc/infer_stream.h"

#include <utility>
#include <vector>

#include "frontends/common/wire_messages.h"
#include "frontends/grpc/call_metadata.h"
#include "frontends/grpc/error_text.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// What a waiting answer takes beside its message, roughly: without it, many empty ones would count nothing.
constexpr uint64_t kAnswerOverheadBytes = 256;

}  // namespace

InferStream::InferStream(InferQueue& queue)
    : queue_(queue),
      rules_({.requests = queue.frontend.settings.max_requests_per_stream,
              .backlog_bytes = queue.frontend.settings.max_stream_backlog_bytes,
              .answers = queue.frontend.settings.max_response_pool_size}) {}
InferStream::~InferStream() = default;

void InferStream::arm(InferQueue& queue) {
  auto stream = std::make_shared<InferStream>(queue);
  InferStream& waiting = *stream;
  waiting.self_ = std::move(stream);
  waiting.context_.AsyncNotifyWhenDone(waiting.done_.tag());
  queue.service.RequestModelStreamInfer(&waiting.context_, &waiting.stream_, queue.queue.get(),
                                        queue.queue.get(), waiting.start_.tag());
}

void InferStream::on_start(bool ok) {
  std::shared_ptr<InferStream> self = std::move(self_);
  if (!ok) return;  // the server shuts down: there is no call
  arm(queue_);
  self_ = self;
  queue_.streams.add(std::move(self));
  set_compression(queue_.frontend.settings, &context_);
  const AccessPoint& access = *queue_.frontend.server.access;
  if (access_.ask(access, ApiCategory::kInference, context_, *queue_.queue, settled_)) on_settled(true);
}

void InferStream::on_settled(bool) {
  const std::shared_ptr<InferStream> self = std::move(self_);
  const GrpcContext& frontend = queue_.frontend;
  Status refusal = access_.take(&caller_);
  if (refusal.ok() && frontend.calls.closed()) refusal = unavailable(messages::kGrpcShuttingDown);
  Lock lock(mutex_);
  if (!refusal.ok()) {
    end(std::move(lock), refusal.code(), std::string(refusal.message()), true);
    return;
  }
  deadline_ns_ = grpc_frontend::deadline_ns(context_, frontend.host.clock());
  ends_on_failure_ = metadata_value(context_, "triton_grpc_error") == "true";
  settle(std::move(lock));
}

void InferStream::on_read(bool ok) {
  const int64_t read_end_ns = queue_.trace_time_ns();
  Lock lock(mutex_);
  if (!rules_.end_read(ok)) {
    const std::shared_ptr<InferStream> self = shared_from_this();
    settle(std::move(lock));
    end_remote_writing(Lock(mutex_));
    return;
  }
  StreamRequest& request = StreamRequest::start(*this, &received_, read_start_ns_, read_end_ns);
  const bool runs = rules_.add(request);
  // The next one may come meanwhile; it is looked at by this thread, after this one.
  settle(std::move(lock));
  if (runs) request.run();
}

void InferStream::on_written(bool ok) {
  Lock lock(mutex_);
  if (ok && rules_.writing() != nullptr) rules_.writing()->mark("GRPC_SEND_END");
  StreamRequest* remote = rules_.writing();
  if (remote != nullptr && !remote->is_remote()) remote = nullptr;
  StreamRequest* last = rules_.end_write(ok);
  if (!ok) {
    end(std::move(lock), Code::kCancelled, "", true);  // answers for the request as well
    return;
  }
  settle(std::move(lock));
  // It keeps the stream until here.
  if (remote != nullptr && remote->is_remote()) remote->remote().resume_reading();
  if (last != nullptr) last->written();
}

void InferStream::on_finished(bool) {
  Lock lock(mutex_);
  is_finished_ = true;
  settle(std::move(lock));
}

void InferStream::on_done(bool) {
  Lock lock(mutex_);
  is_done_ = true;
  if (context_.IsCancelled()) {
    end(std::move(lock), Code::kCancelled, "", true);
  } else {
    settle(std::move(lock));
  }
}

void InferStream::shut_down(Code code, std::string text) noexcept {
  end(Lock(mutex_), code, std::move(text), false);
}

void InferStream::end(Lock lock, Code code, std::string text, bool drop) noexcept {
  if (drop) rules_.drop_answers();
  if (rules_.has_ended()) {
    settle(std::move(lock));
    return;
  }
  status_ = to_grpc(Status(code, std::move(text)));
  const std::vector<StreamRequest*> cancelled = rules_.end();
  settle(std::move(lock));
  // Nobody else tells them that they are written, so they, and with them the stream, are there till then.
  for (StreamRequest* request : cancelled) {
    request->cancel();
    request->written();
  }
}

InferStream::Push InferStream::write(StreamRequest& request, grpc::ByteBuffer* answer, bool last,
                                     bool bounded) noexcept {
  const uint64_t bytes = answer->Length() + kAnswerOverheadBytes;
  Lock lock(mutex_);
  const Push pushed = rules_.push(request, answer, bytes, last, bounded);
  settle(std::move(lock));
  return pushed;
}

void InferStream::answered(StreamRequest& request) noexcept {
  Lock lock(mutex_);
  const bool is_written = rules_.answered(request);
  lock.unlock();
  if (is_written) request.written();
}

void InferStream::keep_order(StreamRequest& request) noexcept {
  Lock lock(mutex_);
  rules_.keep_order(request);
}

void InferStream::hold() noexcept {
  Lock lock(mutex_);
  rules_.hold();
}

void InferStream::resume() noexcept {
  Lock lock(mutex_);
  const std::shared_ptr<InferStream> self = shared_from_this();
  StreamRequest* next = rules_.resume();
  settle(std::move(lock));
  if (next != nullptr) next->run();
  end_remote_writing(Lock(mutex_));
}

StreamRequest& InferStream::remote_to(StreamRequest& request, const HostPort& server) noexcept {
  StreamRequest*& passes = remotes_[server.text()];
  if (passes == nullptr) {
    passes = &request;
    request.begin_remote(server);
  }
  return *passes;
}

void InferStream::end_remote(const std::string& address) noexcept { remotes_.erase(address); }

void InferStream::end_remote_writing(Lock lock) noexcept {
  if (!rules_.has_run_all()) return;
  lock.unlock();
  for (const auto& [address, passes] : remotes_) passes->remote().end_writing();
}

void InferStream::gone(uint64_t received_bytes) noexcept {
  Lock lock(mutex_);
  rules_.remove(received_bytes);
  settle(std::move(lock));
}

void InferStream::settle(Lock lock) noexcept {
  if (rules_.begin_read()) {
    read_start_ns_ = queue_.trace_time_ns();
    received_.Clear();
    stream_.Read(&received_, read_.tag());
  }
  if (Rules::Answer* next = rules_.begin_write()) {
    if (next->request != nullptr) next->request->mark("GRPC_SEND_START");
    stream_.Write(next->message, written_.tag());
  }
  if (rules_.begin_finish()) stream_.Finish(status_, finished_.tag());
  const bool over = is_finished_ && is_done_ && rules_.is_quiet();
  lock.unlock();
  if (over) queue_.streams.remove(*this);
}

}  // namespace atl::frontends::grpc_frontend
