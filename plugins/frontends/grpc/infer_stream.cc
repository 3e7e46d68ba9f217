#include "infer_stream.h"

#include <utility>
#include <vector>

#include "call_metadata.h"
#include "common/wire_messages.h"
#include "error_text.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// What a waiting answer takes beside its message, roughly: without it, many empty ones would count nothing.
constexpr uint64_t kAnswerOverheadBytes = 256;

}  // namespace

InferStream::InferStream(InferQueue& queue) : queue_(queue) {}
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
  queue_.backplane.settings.set_compression(&context_);
  const AccessPoint& access = *queue_.backplane.server.access;
  if (access_.ask(access, ApiCategory::kInference, context_, *queue_.queue, settled_)) on_settled(true);
}

void InferStream::on_settled(bool) {
  const std::shared_ptr<InferStream> self = std::move(self_);
  const Backplane& backplane = queue_.backplane;
  Status refusal = access_.take(&caller_);
  if (refusal.ok() && backplane.calls.closed()) refusal = unavailable(messages::kGrpcShuttingDown);
  Lock lock(mutex_);
  if (!refusal.ok()) {
    end(std::move(lock), refusal.code(), std::string(refusal.message()), true);
    return;
  }
  deadline_ns_ = grpc_frontend::deadline_ns(context_, backplane.host.clock());
  ends_on_failure_ = metadata_value(context_, "triton_grpc_error") == "true";
  settle(std::move(lock));
}

void InferStream::on_read(bool ok) {
  const int64_t read_end_ns = queue_.trace_time_ns();
  Lock lock(mutex_);
  is_reading_ = false;
  read_all_ = read_all_ || !ok;
  if (!ok || ended_) {
    settle(std::move(lock));
    return;
  }
  StreamRequest& request = StreamRequest::start(*this, &received_);
  add(request);
  const int64_t read_start_ns = read_start_ns_;
  if (holds_) {
    behind_ = &request;
    behind_times_ns_[0] = read_start_ns;
    behind_times_ns_[1] = read_end_ns;
    settle(std::move(lock));
    return;
  }
  // The next one may come meanwhile; it is looked at by this thread, after this one.
  settle(std::move(lock));
  request.run(read_start_ns, read_end_ns);
}

void InferStream::on_written(bool ok) {
  Lock lock(mutex_);
  is_writing_ = false;
  StreamRequest* request = writing_.request;
  unwritten_bytes_ -= writing_.bytes;
  writing_.buffer.Clear();
  writing_.bytes = 0;
  writing_.request = nullptr;
  if (!ok) {
    end(std::move(lock), Code::kCancelled, "", true);  // answers for `request` as well
    return;
  }
  if (request != nullptr) {
    request->mark("GRPC_SEND_END");
    const bool last = --request->place.unwritten == 0 && request->place.is_answered;
    if (last) {
      unlink(*request);
    } else {
      request = nullptr;
    }
  }
  settle(std::move(lock));
  // It keeps the stream until here.
  if (request != nullptr) request->written();
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
  if (drop) {
    for (const Answer& answer : answers_) unwritten_bytes_ -= answer.bytes;
    answers_.clear();
  }
  if (ended_) {
    settle(std::move(lock));
    return;
  }
  ended_ = true;
  status_ = to_grpc(Status(code, std::move(text)));
  for (Answer& answer : answers_) answer.request = nullptr;
  writing_.request = nullptr;
  ordered_front_ = ordered_back_ = nullptr;
  std::vector<StreamRequest*> cancelled;
  while (answering_ != nullptr) {
    StreamRequest& request = *answering_;
    cancelled.push_back(&request);
    unlink(request);
    unwritten_bytes_ -= std::exchange(request.place.held_bytes, 0);
    request.place.held.Clear();
  }
  settle(std::move(lock));
  // Nobody else tells them that they are written, so they, and with them the stream, are there till then.
  for (StreamRequest* request : cancelled) {
    request->cancel();
    request->written();
  }
}

InferStream::Written InferStream::write(StreamRequest& request, grpc::ByteBuffer* answer, bool last,
                                        bool bounded) noexcept {
  const uint64_t bytes = answer->Length() + kAnswerOverheadBytes;
  Lock lock(mutex_);
  if (ended_) return Written::kQueued;
  const Settings& settings = queue_.backplane.settings;
  if (bounded && (request.place.unwritten >= settings.max_response_pool_size ||
                  unwritten_bytes_ >= settings.max_stream_backlog_bytes)) {
    return Written::kTooMuch;
  }
  unwritten_bytes_ += bytes;
  request.place.is_answered = last;
  if (!request.place.keeps_order) {
    queue_answer(request, answer, bytes);
  } else {
    request.place.held.Swap(answer);
    request.place.held_bytes = bytes;
    request.place.is_held = true;
    while (ordered_front_ != nullptr && ordered_front_->place.is_held) {
      StreamRequest& front = *ordered_front_;
      ordered_front_ = front.place.next_ordered;
      if (ordered_front_ == nullptr) ordered_back_ = nullptr;
      queue_answer(front, &front.place.held, std::exchange(front.place.held_bytes, 0));
    }
  }
  settle(std::move(lock));
  return Written::kQueued;
}

void InferStream::answered(StreamRequest& request) noexcept {
  Lock lock(mutex_);
  if (ended_) return;
  request.place.is_answered = true;
  if (request.place.unwritten > 0) return;
  unlink(request);
  lock.unlock();
  request.written();
}

void InferStream::keep_order(StreamRequest& request) noexcept {
  Lock lock(mutex_);
  if (ended_) return;
  request.place.keeps_order = true;
  (ordered_back_ == nullptr ? ordered_front_ : ordered_back_->place.next_ordered) = &request;
  ordered_back_ = &request;
}

void InferStream::hold() noexcept {
  Lock lock(mutex_);
  holds_ = true;
}

void InferStream::go_on() noexcept {
  Lock lock(mutex_);
  if (!std::exchange(holds_, false)) return;
  StreamRequest* next = std::exchange(behind_, nullptr);
  const int64_t read_start_ns = behind_times_ns_[0];
  const int64_t read_end_ns = behind_times_ns_[1];
  settle(std::move(lock));
  if (next != nullptr) next->run(read_start_ns, read_end_ns);
}

void InferStream::gone(uint64_t received_bytes) noexcept {
  Lock lock(mutex_);
  --in_flight_;
  received_bytes_ -= received_bytes;
  settle(std::move(lock));
}

void InferStream::settle(Lock lock) noexcept {
  pump_read();
  pump_write();
  pump_finish();
  const bool over = is_finished_ && is_done_ && !is_reading_ && !is_writing_ && in_flight_ == 0;
  lock.unlock();
  if (over) queue_.streams.remove(*this);
}

void InferStream::pump_read() noexcept {
  const Settings& settings = queue_.backplane.settings;
  if (is_reading_ || holds_ || read_all_ || ended_ || in_flight_ >= settings.max_requests_per_stream ||
      received_bytes_ + unwritten_bytes_ >= settings.max_stream_backlog_bytes) {
    return;
  }
  is_reading_ = true;
  read_start_ns_ = queue_.trace_time_ns();
  received_.Clear();
  stream_.Read(&received_, read_.tag());
}

void InferStream::pump_write() noexcept {
  if (is_writing_ || is_finishing_ || answers_.empty()) return;
  is_writing_ = true;
  Answer& next = answers_.front();
  writing_.buffer.Swap(&next.buffer);
  writing_.request = next.request;
  writing_.bytes = next.bytes;
  answers_.pop_front();
  if (writing_.request != nullptr) writing_.request->mark("GRPC_SEND_START");
  stream_.Write(writing_.buffer, written_.tag());
}

void InferStream::pump_finish() noexcept {
  if (is_finishing_ || is_writing_) return;
  if (ended_ ? !answers_.empty() : !(read_all_ && in_flight_ == 0)) return;
  is_finishing_ = true;
  stream_.Finish(status_, finished_.tag());
}

void InferStream::queue_answer(StreamRequest& request, grpc::ByteBuffer* answer, uint64_t bytes) noexcept {
  ++request.place.unwritten;
  Answer& queued = answers_.emplace_back();
  queued.buffer.Swap(answer);
  queued.request = &request;
  queued.bytes = bytes;
}

void InferStream::add(StreamRequest& request) noexcept {
  ++in_flight_;
  received_bytes_ += request.place.received_bytes;
  request.place.next = answering_;
  if (answering_ != nullptr) answering_->place.previous = &request;
  answering_ = &request;
}

void InferStream::unlink(StreamRequest& request) noexcept {
  auto& place = request.place;
  (place.previous == nullptr ? answering_ : place.previous->place.next) = place.next;
  if (place.next != nullptr) place.next->place.previous = place.previous;
  place.previous = place.next = nullptr;
}

}  // namespace atl::frontends::grpc_frontend
