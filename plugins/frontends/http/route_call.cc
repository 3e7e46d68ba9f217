#include "frontends/http/route_call.h"

#include <algorithm>
#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/error_json.h"

namespace atl::frontends::http {
namespace {

bool is_token(std::string_view name) noexcept {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

bool is_field_value(std::string_view value) noexcept {
  return std::all_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) || c == '\t';
  });
}

}  // namespace

RouteCall::RouteCall(ThreadContext& context, Followed<HttpRoutes>::Hold provider, std::string_view route)
    : context_(context), provider_(std::move(provider)), route_(route) {
  charge_.set_source(*context.frontend.server.request_memory, Code::kUnavailable);
}

void RouteCall::run(Channel& channel) noexcept {
  channel_ = &channel;
  no_body_ = channel.head().method == "HEAD";
  caller_ = channel.head().caller;
  identity_ = channel.head().identity;
  body_ = channel.take_body();
  charge_ = channel.take_charge();
  pass_ = context_.frontend.calls.enter();
  if (pass_) {
    provider_->handle(route_, *this);
  } else {
    provider_.reset();
    answer_error(unavailable(frontends::messages::kServerExiting), 0);
  }
  done(kHandling);
}

std::string_view RouteCall::query() const noexcept {
  const std::string_view target = channel_->head().target;
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

uint32_t RouteCall::header_count() const noexcept {
  return static_cast<uint32_t>(channel_->head().fields.size());
}

HttpHeader RouteCall::header(uint32_t index) const noexcept {
  const HeaderField& field = channel_->head().fields[index];
  return {field.name, field.value};
}

// --- the answer, on the provider's thread ---

void RouteCall::set_head(const HttpReply& reply) noexcept {
  head_.http_status = reply.status >= 200 && reply.status <= 599 ? reply.status : 500;
  if (is_field_value(reply.content_type)) head_.content_type = reply.content_type;
  for (const HttpHeader& header : reply.headers) {
    if (!is_token(header.name) || !is_field_value(header.value)) continue;
    head_.headers += cat(header.name, ": ", header.value, "\r\n");
  }
}

void RouteCall::answer(const HttpReply& reply, std::string body) noexcept {
  if (body.size() > kUncountedBodyBytes) {
    if (Status status = charge_.add(body.size()); !status.ok()) {
      return answer_error(status, RequestCharge::kRetryAfterMs);
    }
  }
  set_head(reply);
  deliver(std::move(body), Outbox::kEnd);
}

void RouteCall::answer_error(const Status& status, uint32_t retry_after_ms) noexcept {
  head_.http_status = http_status(status.code());
  head_.content_type = kJsonType;
  head_.retry_after_ms = retry_after_ms;
  deliver(error_json(client_text(status)), Outbox::kEnd);
}

void RouteCall::begin(const HttpReply& reply) noexcept {
  set_head(reply);
  streams_ = true;
  deliver({}, 0);
}

Status RouteCall::write(std::string piece) noexcept {
  if (cancellation_.cancelled() && !closes_soon_.load(std::memory_order_acquire))
    return Status(Code::kCancelled, "the client has gone");
  if (piece.empty()) return {};
  const uint64_t most = context_.frontend.settings.max_stream_backlog_bytes;
  if (!outbox_.has_room(piece.size(), most)) {
    deliver({}, Outbox::kCut);
    return make_status(Code::kResourceExhausted, "the client takes its stream too slowly: more than ", most,
                       " bytes wait for it");
  }
  deliver(std::move(piece), 0);
  return {};
}

void RouteCall::end() noexcept { deliver({}, Outbox::kEnd); }

void RouteCall::deliver(std::string piece, uint32_t marks) noexcept {
  if (!outbox_.push(std::move(piece), marks)) return;
  if (context_.is_current()) {
    flush();
  } else {
    context_.post(*this);
  }
}

// --- on the connection's thread ---

void RouteCall::flush() noexcept {
  auto [pieces, marks] = outbox_.take();
  const bool ended = (marks & Outbox::kEnd) != 0;
  // Each of these may end the exchange; this object stays, as its answer is open.
  if (channel_ != nullptr && (marks & Outbox::kCut) != 0) {
    context_.frontend.slow_streams->report(context_.frontend.settings.max_stream_backlog_bytes);
    channel_->cut();
  } else if (channel_ != nullptr && streams_ && !no_body_) {
    send_pieces(std::move(pieces), ended);
  } else if (channel_ != nullptr && !std::exchange(answered_, true)) {
    // Whole, or to HEAD, which gets nothing of the pieces.
    const bool is_whole = !streams_ && !pieces.empty();
    channel_->answer_text(head_.reply(), is_whole ? std::move(pieces.front()) : std::string());
  }
  if (ended) {
    done(kAnswering);
  } else if (outbox_.finish(marks)) {
    context_.post(*this);
  }
}

void RouteCall::send_pieces(std::vector<std::string> pieces, bool ended) noexcept {
  if (!std::exchange(answered_, true)) channel_->begin_stream(head_.reply());
  for (std::string& piece : pieces) {
    if (channel_ != nullptr) channel_->stream(std::move(piece));
  }
  if (ended && channel_ != nullptr) channel_->end_stream();
}

void RouteCall::on_written() noexcept {
  channel_ = nullptr;
  done(kExchange);
}

void RouteCall::on_closing_soon() noexcept {
  if (!streams_ || !answered_ || (open_parts_ & kAnswering) == 0) return;
  closes_soon_.store(true, std::memory_order_release);
  cancellation_.cancel();
}

void RouteCall::on_gone() noexcept {
  channel_ = nullptr;
  closes_soon_.store(false, std::memory_order_release);
  if ((open_parts_ & kAnswering) != 0) cancellation_.cancel();
  done(kExchange);
}

void RouteCall::done(uint32_t part) noexcept {
  open_parts_ &= ~part;
  if (open_parts_ != 0) return;
  // The provider goes before the pass: with that the instance may be stopped, and this thread with it.
  Pass pass = std::move(pass_);
  context_.buffers.give(std::move(body_));
  delete this;
}

}  // namespace atl::frontends::http
