#include "frontends/common/grpc/contributed_exchange.h"

#include <utility>

#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/inflate_message.h"
#include "frontends/common/grpc/message_limit.h"
#include "frontends/common/grpc/status_text.h"

namespace atl::frontends {
namespace {

/// As gRPC itself answers where a server has no such method.
Status no_such_method() { return Status(Code::kUnimplemented, ""); }

/// Whether gRPC can send a message of so many bytes. Errors: INVALID_ARGUMENT.
Status check_size(uint64_t size_bytes) noexcept {
  if (size_bytes <= kMaxGrpcMessageBytes) return {};
  return Status(Code::kInvalidArgument, messages::response_too_large(size_bytes));
}

}  // namespace

// --- the way to the provider ---

Status ContributedExchange::find() noexcept {
  const auto list = frontend_.contributed->list();
  const ContributedMethod* method = list ? list->listed(path()) : nullptr;
  if (method == nullptr) return no_such_method();
  guarded_ = {method->known_category.value_or(ApiCategory::kOther), method->category};
  return {};
}

void ContributedExchange::on_no_message() noexcept {
  refuse(unimplemented("the method takes one request message, and the call has none"));
}

void ContributedExchange::on_message(uint64_t bytes) noexcept {
  // A client that sends nothing holds up no drain.
  pass_ = frontend_.calls.enter();
  if (!pass_) return refuse(unavailable(messages::kGrpcShuttingDown));
  if (Status status = charge_.add(bytes); !status.ok()) return refuse(std::move(status));
  Result<bool> opened = open_here();
  if (!opened.ok() || opened.value()) hand_over(std::move(opened).status());
}

Result<bool> ContributedExchange::open_here() noexcept {
  const auto most = static_cast<uint64_t>(frontend_.settings.max_message_bytes);
  Result<bool> opened = open_small_message(
      [this](uint64_t most_here, bool* is_larger) { return open_message(most_here, is_larger); }, most,
      &charge_);
  if (!opened.ok() || opened.value()) return opened;
  Status posted = frontend_.large_work->try_post(make_task([this, most] {
    opened_ = open_message(most, nullptr);
    to_own_thread();
  }));
  if (posted.ok()) return false;
  set_retry_after(LargeWork::kRetryAfterMs);
  return posted;
}

void ContributedExchange::hand_over(Status opened) noexcept {
  if (!opened.ok()) return refuse(std::move(opened));
  Followed<GrpcCalls>::Hold provider;
  // Looked for anew, as it may have been replaced while the message came.
  if (const auto list = frontend_.contributed->list(); list) {
    const ContributedMethod* method = list->listed(path());
    if (method != nullptr && method->category == guarded_.name) provider = method->provider->hold();
  }
  if (!provider) return refuse(no_such_method());
  about_to_answer();
  GrpcCalls& calls = *provider;
  {
    Lock lock(mutex_);
    provider_ = std::move(provider);
    is_handling_ = true;
  }
  calls.handle(path(), *this);
  Lock lock(mutex_);
  is_handling_ = false;
  if (is_ending_) provider = std::move(provider_);
  lock.unlock();
  provider.reset();  // before the call can be over
  lock.lock();
  settle(std::move(lock));
}

void ContributedExchange::refuse(Status status) noexcept {
  if (!charge_.refused().ok()) set_retry_after(RequestCharge::kRetryAfterMs);
  end_with(std::move(status));
}

// --- the way back ---

void ContributedExchange::answer(std::string message) noexcept {
  if (Status status = check_size(message.size()); !status.ok()) return refuse(std::move(status));
  if (Status status = charge_.add(message.size()); !status.ok()) return refuse(std::move(status));
  waiting_bytes_.fetch_add(message.size() + kMessageOverheadBytes, std::memory_order_relaxed);
  keep(std::move(message), {});
  end_with({});
}

Status ContributedExchange::write(std::string message) noexcept {
  if (cancellation_.cancelled()) return Status(Code::kCancelled, "the client has gone");
  if (Status denied = check_caller(); !denied.ok()) {
    cancel_call();
    return denied;
  }
  ATOLL_RETURN_IF_ERROR(check_size(message.size()));
  const uint64_t bytes = message.size() + kMessageOverheadBytes;
  RequestCharge charge;
  if (Status counted = count_waiting(bytes, &charge); !counted.ok()) {
    cancel_call();
    return counted;
  }
  waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  keep(std::move(message), std::move(charge));
  settle(Lock(mutex_));
  return {};
}

// The provider goes on with the identity that it has got.
Status ContributedExchange::check_caller() noexcept {
  const AccessPoint& access = *frontend_.server.access;
  if (renewed_ == nullptr) renewed_ = identity_;
  if (renewed_ == nullptr ? !access.has_sources() : renewed_->holds()) return {};
  return access.renew({guarded_.category, guarded_.name, CallProtocol::kGrpc, head()}, &renewed_);
}

Status ContributedExchange::count_waiting(uint64_t bytes, RequestCharge* charge) noexcept {
  const uint64_t most = frontend_.settings.max_stream_backlog_bytes;
  const uint64_t waiting = waiting_bytes();
  // A single message may be larger than the limit if nothing else waits.
  if (waiting != 0 && waiting + bytes > most) {
    return make_status(Code::kResourceExhausted, "the client takes its stream too slowly: more than ", most,
                       " bytes wait for it");
  }
  // A small one that waits for nothing is on its way.
  if (waiting == 0 && bytes <= kUncountedAnswerBytes) return {};
  charge->set_source(*frontend_.server.request_memory);
  return charge->add(bytes);
}

void ContributedExchange::end_with(Status status) noexcept {
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

}  // namespace atl::frontends
