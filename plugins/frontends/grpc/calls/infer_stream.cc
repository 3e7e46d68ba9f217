#include "frontends/grpc/calls/infer_stream.h"

#include <chrono>
#include <utility>
#include <vector>

#include "frontends/common/access/caller_look.h"
#include "frontends/common/codec/error_map.h"
#include "frontends/common/grpc/method_list.h"
#include "frontends/grpc/calls/call_metadata.h"
#include "frontends/grpc/calls/error_text.h"

namespace atl::frontends::grpc_frontend {
InferStream::InferStream(InferQueue& queue) : V2InferStream(queue.frontend), queue_(queue) {}
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
  std::shared_ptr<V2InferStream> self = std::move(self_);
  if (!ok) return;  // the server shuts down: there is no call
  arm(queue_);
  self_ = self;
  queue_.streams.add(std::static_pointer_cast<InferStream>(std::move(self)));
  set_compression(queue_.frontend.settings, &context_);
  const AccessPoint& access = *queue_.frontend.server.access;
  constexpr CallName kName{{}, kGrpcStreamInferPath, true};
  if (access_.ask(access, kName, ApiCategory::kInference, context_, *queue_.queue, settled_))
    on_settled(true);
}

void InferStream::on_settled(bool) {
  const std::shared_ptr<V2InferStream> self = std::move(self_);
  Status refusal = access_.take(&caller_);
  look_later();
  CallerIdentityPtr identity = access_.take_identity();
  begin(std::move(refusal), std::move(identity),
        grpc_frontend::deadline_ns(context_, queue_.frontend.host.clock()));
}

void InferStream::look_later() {
  constexpr auto kInterval = std::chrono::nanoseconds(kCallerLookNs);
  const Lock lock(mutex_);
  is_watched_ = !is_done_;
  if (!is_watched_) return;
  alarm_.emplace();
  alarm_->Set(queue_.queue.get(), std::chrono::system_clock::now() + kInterval, look_.tag());
}

void InferStream::on_look(bool ok) {
  const std::shared_ptr<V2InferStream> self = shared_from_this();
  if (ok) look_at_caller();
  if (ok) look_later();
  Lock lock(mutex_);
  if (!ok) is_watched_ = false;
  settle(std::move(lock));
}

void InferStream::on_read(bool ok) {
  const int64_t read_end_ns = queue_.trace_time_ns();
  Lock lock(mutex_);
  if (!rules_.end_read(ok)) {
    const std::shared_ptr<V2InferStream> self = shared_from_this();
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
  StreamRequest* remote = remote_of(rules_.writing());
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
  if (rules_.begin_finish()) {
    access_.set_status(grpc_code(status_.code()));
    stream_.Finish(to_grpc(status_), finished_.tag());
  }
  const bool ends = is_finished_ && is_done_ && rules_.is_quiet();
  const bool over = ends && !is_watched_;
  if (ends && is_watched_) alarm_->Cancel();
  lock.unlock();
  if (over) queue_.streams.remove(*this);
}

}  // namespace atl::frontends::grpc_frontend
