#include "frontends/grpc/calls/remote_stream.h"

#include <utility>

#include "frontends/common/grpc/method_list.h"
#include "frontends/grpc/calls/remote_call.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// Messages that wait for the other server before the client has to: it takes them as fast as it answers.
constexpr size_t kBacklog = 4;

}  // namespace

RemoteStream::RemoteStream(RemoteStreamOwner<grpc::ByteBuffer>& owner,
                           std::shared_ptr<grpc::GenericStub> stub, const grpc::ServerContext& call,
                           Cancellation& cancellation, grpc::ServerCompletionQueue& queue)
    : owner_(owner), cancellation_(cancellation), queue_(queue), stub_(std::move(stub)) {
  pass_on(call, &context_);
  stream_ = stub_->PrepareCall(&context_, kGrpcStreamInferPath, &queue_);
  ++open_steps_;
  stream_->StartCall(started_.tag());
  if (!cancellation_.listen(this, nullptr)) context_.TryCancel();
}

void RemoteStream::on_cancel(void*) noexcept {
  was_cancelled_ = true;
  context_.TryCancel();
  // Reading may have stopped, and then nothing would show that it was cancelled.
  wake_up_.send(queue_, woken_);
}

void RemoteStream::on_woken(bool) {
  was_woken_ = true;
  if (is_stalled_) {
    is_stalled_ = false;
    answer_.Clear();
    read();
  }
  settle();
}

// --- to the other server ---

void RemoteStream::write(const grpc::ByteBuffer& message) {
  if (!can_write_ || ends_writing_) return;  // it ends; its status says why
  unwritten_.push_back(message);
  if (unwritten_.size() > kBacklog && !std::exchange(has_backlog_, true)) owner_.on_remote_backlog();
  write_next();
}

void RemoteStream::end_writing() noexcept {
  if (std::exchange(ends_writing_, true)) return;
  write_next();
}

void RemoteStream::write_next() {
  if (!has_started_ || is_writing_ || !can_write_) return;
  if (!unwritten_.empty()) {
    is_writing_ = true;
    ++open_steps_;
    stream_->Write(unwritten_.front(), written_.tag());
  } else if (ends_writing_) {
    can_write_ = false;
    ++open_steps_;
    stream_->WritesDone(writing_ended_.tag());
  }
}

void RemoteStream::on_started(bool ok) {
  --open_steps_;
  has_started_ = true;
  can_write_ = can_write_ && ok;
  write_next();
  read();  // fails where the start did
}

void RemoteStream::on_written(bool ok) {
  --open_steps_;
  is_writing_ = false;
  unwritten_.pop_front();
  can_write_ = can_write_ && ok;
  if (!can_write_) unwritten_.clear();
  write_next();
  if (unwritten_.size() <= kBacklog && std::exchange(has_backlog_, false)) owner_.on_remote_room();
  settle();
}

void RemoteStream::on_writing_ended(bool) {
  --open_steps_;
  settle();
}

// --- from it ---

void RemoteStream::read() {
  ++open_steps_;
  stream_->Read(&answer_, read_.tag());
}

void RemoteStream::on_read(bool ok) {
  --open_steps_;
  if (!ok) {
    ++open_steps_;
    stream_->Finish(&status_, finished_.tag());
  } else if (owner_.on_remote_answer(&answer_)) {
    answer_.Clear();
    read();
  } else if (was_woken_) {
    read();  // it is not read by anybody any more
  } else {
    is_stalled_ = true;
  }
}

void RemoteStream::resume_reading() noexcept {
  if (!is_stalled_ || !owner_.on_remote_answer(&answer_)) return;
  is_stalled_ = false;
  answer_.Clear();
  read();
}

void RemoteStream::on_finished(bool) {
  --open_steps_;
  is_finished_ = true;
  can_write_ = false;
  settle();
}

void RemoteStream::settle() {
  if (!is_finished_ || open_steps_ != 0) return;
  cancellation_.stop_listening();
  if (was_cancelled_ && !was_woken_) return;  // that comes yet
  if (std::exchange(has_backlog_, false)) owner_.on_remote_room();
  owner_.on_remote_end(Status(static_cast<Code>(status_.error_code()), status_.error_message()));
}

}  // namespace atl::frontends::grpc_frontend
