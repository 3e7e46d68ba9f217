#include "frontends/grpc/contributed_call.h"

#include <algorithm>
#include <utility>

#include "frontends/common/wire_messages.h"
#include "frontends/grpc/call_metadata.h"
#include "frontends/grpc/decompress.h"
#include "frontends/grpc/error_text.h"
#include "frontends/grpc/message_buffer.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// What a waiting message takes beside its bytes, roughly: without it, many empty ones would count nothing.
constexpr uint64_t kMessageOverheadBytes = 256;

/// As gRPC itself answers where a server has no such method.
Status no_such_method() { return Status(Code::kUnimplemented, ""); }

/// Whether gRPC can send a message of so many bytes. Errors: INVALID_ARGUMENT.
Status check_size(uint64_t size_bytes) noexcept {
  if (size_bytes <= kMaxGrpcMessageBytes) return {};
  return Status(Code::kInvalidArgument, messages::response_too_large(size_bytes));
}

/// The message in its own memory.
grpc::ByteBuffer to_buffer(std::string message) {
  auto* owned = new std::string(std::move(message));
  grpc::Slice slice(
      owned->data(), owned->size(), [](void* text) { delete static_cast<std::string*>(text); }, owned);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

ContributedCall::ContributedCall(ContributedCalls& calls, grpc::ServerCompletionQueue& queue)
    : calls_(calls), queue_(queue) {
  charge_.set_source(*calls.frontend.server.request_memory);
}

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
  const GrpcContext& frontend = calls_.frontend;
  const auto list = frontend.contributed->list();
  const ContributedMethod* method = list ? list->listed(context_.method()) : nullptr;
  if (method == nullptr) return refuse(no_such_method());
  category_ = method->category;
  const ApiCategory guarded = method->known_category.value_or(ApiCategory::kOther);
  if (access_.ask(*frontend.server.access, guarded, category_, context_, queue_, settled_)) on_settled(true);
}

void ContributedCall::on_settled(bool) {
  if (Status refusal = access_.take(&caller_); !refusal.ok()) return refuse(refusal);
  stream_.Read(&received_, read_.tag());
}

void ContributedCall::on_read(bool ok) {
  if (!ok) return refuse(unimplemented("the method takes one request message, and the call has none"));
  // A client that sends nothing holds up no drain.
  pass_ = calls_.frontend.calls.enter();
  if (!pass_) return refuse(unavailable(messages::kGrpcShuttingDown));
  if (Status status = charge_.add(received_.Length()); !status.ok()) return refuse(status);
  Result<bool> opened = open_here();
  if (!opened.ok() || opened.value()) handle(std::move(opened).status());
}

Result<bool> ContributedCall::open_here() noexcept {
  const auto most = static_cast<uint64_t>(calls_.frontend.settings.max_message_bytes);
  if (received_.Length() <= kLargeBytes) {
    bool is_larger = false;
    const uint64_t charged = charge_.bytes();
    Status status = open_message(&received_, std::min<uint64_t>(most, kLargeBytes), &is_larger, &charge_);
    if (!is_larger || most <= kLargeBytes) {
      ATOLL_RETURN_IF_ERROR(std::move(status));
      ATOLL_RETURN_IF_ERROR(join());
      return true;
    }
    charge_.reduce(charge_.bytes() - charged);
  }
  Status posted = calls_.frontend.large_work->try_post(make_task([this, most] {
    opened_ = open_message(&received_, most, nullptr, &charge_);
    if (opened_.ok()) opened_ = join();
    wake_up_.send(queue_, opened_step_);
  }));
  if (posted.ok()) return false;
  add_retry_after(context_, LargeWork::kRetryAfterMs);
  return posted;
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

void ContributedCall::handle(Status opened) noexcept {
  if (!opened.ok()) return refuse(opened);
  const GrpcContext& frontend = calls_.frontend;
  Followed<GrpcCalls>::Hold provider;
  // Looked for anew, as it may have been replaced while the message came.
  if (const auto list = frontend.contributed->list(); list) {
    const ContributedMethod* method = list->listed(context_.method());
    if (method != nullptr && method->category == category_) provider = method->provider->hold();
  }
  if (!provider) return refuse(no_such_method());
  set_compression(frontend.settings, &context_);
  GrpcCalls& calls = *provider;
  {
    Lock lock(mutex_);
    provider_ = std::move(provider);
    is_handling_ = true;
  }
  calls.handle(context_.method(), *this);
  Lock lock(mutex_);
  is_handling_ = false;
  if (is_ending_) provider = std::move(provider_);
}

void ContributedCall::refuse(const Status& status) noexcept {
  if (!charge_.refused().ok()) add_retry_after(context_, RequestCharge::kRetryAfterMs);
  end_with(to_grpc(status));
}

// --- the way back ---

std::span<const std::byte> ContributedCall::message() const noexcept {
  return std::as_bytes(std::span(message_.begin(), message_.size()));
}

void ContributedCall::answer(std::string message) noexcept {
  if (Status status = check_size(message.size()); !status.ok()) return refuse(status);
  if (Status status = charge_.add(message.size()); !status.ok()) return refuse(status);
  {
    Lock lock(mutex_);
    add_message(std::move(message));
  }
  end_with(grpc::Status::OK);
}

Status ContributedCall::write(std::string message) noexcept {
  if (cancellation_.cancelled()) return Status(Code::kCancelled, "the client has gone");
  ATOLL_RETURN_IF_ERROR(check_size(message.size()));
  const uint64_t most = calls_.frontend.settings.max_stream_backlog_bytes;
  const uint64_t waiting = waiting_bytes();
  // A single message may be larger than the limit if nothing else waits.
  if (waiting != 0 && waiting + message.size() + kMessageOverheadBytes > most) {
    context_.TryCancel();
    return make_status(Code::kResourceExhausted, "the client takes its stream too slowly: more than ", most,
                       " bytes wait for it");
  }
  Lock lock(mutex_);
  add_message(std::move(message));
  settle(std::move(lock));
  return {};
}

void ContributedCall::end(Status status) noexcept { end_with(to_grpc(status)); }

void ContributedCall::end_with(grpc::Status status) noexcept {
  Followed<GrpcCalls>::Hold provider;
  {
    Lock lock(mutex_);
    is_ending_ = true;
    if (!is_handling_) provider = std::move(provider_);
  }
  // Let go now, as the client may take its time with the answer; and before the call can be over, as its pass
  // goes last.
  provider.reset();
  Lock lock(mutex_);
  is_ended_ = true;
  status_ = std::move(status);
  settle(std::move(lock));
}

void ContributedCall::add_message(std::string message) noexcept {
  waiting_bytes_.fetch_add(message.size() + kMessageOverheadBytes, std::memory_order_relaxed);
  messages_.push_back(to_buffer(std::move(message)));
}

void ContributedCall::settle(Lock lock) noexcept {
  if (!is_writing_ && !is_finishing_ && !messages_.empty()) {
    const grpc::ByteBuffer next = std::move(messages_.front());
    messages_.pop_front();
    writing_bytes_ = next.Length() + kMessageOverheadBytes;
    is_finishing_ = is_ended_ && messages_.empty();
    is_writing_ = !is_finishing_;
    if (is_finishing_) {
      stream_.WriteAndFinish(next, {}, status_, finished_.tag());
    } else {
      stream_.Write(next, written_.tag());
    }
  } else if (!is_writing_ && !is_finishing_ && is_ended_) {
    is_finishing_ = true;
    stream_.Finish(status_, finished_.tag());
  }
  const bool is_over = is_finished_ && is_done_;
  lock.unlock();
  if (!is_over) return;
  const Pass pass = std::move(pass_);  // left last: with it the instance may be stopped
  std::atomic<int64_t>& open = calls_.open;
  delete this;
  open.fetch_sub(1);
}

void ContributedCall::drop_messages() noexcept {
  for (const grpc::ByteBuffer& message : messages_) {
    waiting_bytes_.fetch_sub(message.Length() + kMessageOverheadBytes, std::memory_order_relaxed);
  }
  messages_.clear();
}

void ContributedCall::on_written(bool ok) {
  Lock lock(mutex_);
  is_writing_ = false;
  waiting_bytes_.fetch_sub(writing_bytes_, std::memory_order_relaxed);
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
