#include "frontends/grpc/calls/contributed_call.h"

#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/grpc/calls/call_metadata.h"
#include "frontends/grpc/calls/decompress.h"
#include "frontends/grpc/calls/error_text.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// The message in its own memory.
grpc::ByteBuffer to_buffer(std::string message) {
  auto* owned = new std::string(std::move(message));
  grpc::Slice slice(
      owned->data(), owned->size(), [](void* text) { delete static_cast<std::string*>(text); }, owned);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

ContributedCall::ContributedCall(ContributedCalls& calls, grpc::ServerCompletionQueue& queue)
    : ContributedExchange(calls.frontend), calls_(calls), queue_(queue) {}

void ContributedCall::arm(ContributedCalls& calls, grpc::ServerCompletionQueue& queue) {
  auto* call = new ContributedCall(calls, queue);
  call->context_.AsyncNotifyWhenDone(call->done_.tag());
  calls.service.RequestCall(&call->context_, &call->stream_, &queue, &queue, call->start_.tag());
}

// --- the way to the provider ---

void ContributedCall::on_start(bool ok) {
  if (!ok) {
    delete this;  // the server shuts down: there is no call
    return;
  }
  calls_.open.fetch_add(1);
  arm(calls_, queue_);
  if (Status found = find(); !found.ok()) return refuse(std::move(found));
  const std::string path(context_.method());
  if (access_.ask(*frontend_.server.access, {.path = path, .goes_on = true}, guarded().category,
                  guarded().name, context_, queue_, settled_)) {
    on_settled(true);
  }
}

void ContributedCall::on_settled(bool) {
  Status refusal = access_.take(&caller_);
  identity_ = access_.take_identity();
  if (!refusal.ok()) return refuse(std::move(refusal));
  stream_.Read(&received_, read_.tag());
}

void ContributedCall::on_read(bool ok) {
  if (!ok) return on_no_message();
  on_message(received_.Length());
}

Status ContributedCall::open_message(uint64_t max_bytes, bool* is_larger) noexcept {
  // What is to be opened elsewhere is known by its size as it came, too.
  if (is_larger != nullptr && received_.Length() > max_bytes) {
    *is_larger = true;
    return {};
  }
  ATOLL_RETURN_IF_ERROR(grpc_frontend::open_message(&received_, max_bytes, is_larger, &charge_));
  return join();
}

Status ContributedCall::join() noexcept {
  if (!received_.Valid() || received_.TrySingleSlice(&message_).ok()) return {};
  const uint64_t bytes = received_.Length();
  ATOLL_RETURN_IF_ERROR(charge_.add(bytes));
  if (!received_.DumpToSingleSlice(&message_).ok()) {
    return make_status(Code::kResourceExhausted, "no memory to join the request's bytes");
  }
  received_.Clear();
  charge_.reduce(bytes);
  return {};
}

void ContributedCall::about_to_answer() noexcept { set_compression(frontend_.settings, &context_); }
void ContributedCall::set_retry_after(uint32_t ms) noexcept { add_retry_after(context_, ms); }

std::span<const std::byte> ContributedCall::message() const noexcept {
  return std::as_bytes(std::span(message_.begin(), message_.size()));
}

// --- the way back ---

void ContributedCall::keep(std::string message, RequestCharge charge) noexcept {
  Waiting waiting{to_buffer(std::move(message)), std::move(charge)};
  const Lock lock(mutex_);
  messages_.push_back(std::move(waiting));
}

void ContributedCall::settle(Lock lock) noexcept {
  if (!is_writing_ && !is_finishing_ && !messages_.empty()) {
    const grpc::ByteBuffer next = std::move(messages_.front().message);
    writing_charge_ = std::move(messages_.front().charge);
    messages_.pop_front();
    writing_bytes_ = next.Length() + kMessageOverheadBytes;
    is_finishing_ = is_ended_ && messages_.empty();
    is_writing_ = !is_finishing_;
    if (is_finishing_) access_.set_status(grpc_code(status_.code()));
    if (is_finishing_) {
      stream_.WriteAndFinish(next, {}, to_grpc(status_), finished_.tag());
    } else {
      stream_.Write(next, written_.tag());
    }
  } else if (!is_writing_ && !is_finishing_ && is_ended_) {
    is_finishing_ = true;
    access_.set_status(grpc_code(status_.code()));
    stream_.Finish(to_grpc(status_), finished_.tag());
  }
  const bool is_over = is_finished_ && is_done_;
  lock.unlock();
  if (!is_over) return;
  const Pass pass = std::move(pass_);  // left last: with it the instance may be stopped
  identity_.reset();
  std::atomic<int64_t>& open = calls_.open;
  delete this;
  open.fetch_sub(1);
}

void ContributedCall::drop_messages() noexcept {
  for (const Waiting& waiting : messages_) wait_no_more(waiting.message.Length() + kMessageOverheadBytes);
  messages_.clear();
}

void ContributedCall::on_written(bool ok) {
  Lock lock(mutex_);
  is_writing_ = false;
  wait_no_more(writing_bytes_);
  writing_charge_.release();
  if (!ok) drop_messages();
  settle(std::move(lock));
}

void ContributedCall::on_finished(bool) {
  Lock lock(mutex_);
  is_finished_ = true;
  settle(std::move(lock));
}

void ContributedCall::on_done(bool) {
  const bool is_cancelled = context_.IsCancelled();
  if (is_cancelled) cancellation_.cancel();
  Lock lock(mutex_);
  if (is_cancelled) drop_messages();
  is_done_ = true;
  settle(std::move(lock));
}

}  // namespace atl::frontends::grpc_frontend
