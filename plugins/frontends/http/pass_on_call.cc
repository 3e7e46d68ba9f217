#include "frontends/http/pass_on_call.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/management/remote_server.h"
#include "frontends/http/call_support.h"
#include "frontends/http/codec/error_json.h"
#include "frontends/http/codec/infer_request.h"

namespace atl::frontends::http {
namespace {

/// So much of a stream may wait for the client before the other server has to.
constexpr uint64_t kStreamBytes = uint64_t{1} << 20;

/// Room for an answer before any of it is there: its length is only what the other server says.
constexpr size_t kMostReserved = size_t{64} << 20;

/// Whether JSON has this key: inside of a text its quotes would have backslashes, and as a text of its own no colon
/// follows.
bool has_key(std::string_view json, std::string_view quoted_key) noexcept {
  for (size_t at = json.find(quoted_key); at != std::string_view::npos; at = json.find(quoted_key, at + 1)) {
    const size_t behind = json.find_first_not_of(" \t\r\n", at + quoted_key.size());
    if (behind != std::string_view::npos && json[behind] == ':') return true;
  }
  return false;
}

}  // namespace

PassOnCall::PassOnCall(ThreadContext& context, const Route& route, RemoteServer server)
    : context_(context), route_(route), server_(std::move(server)), model_(route.model) {
  charge_.set_source(*context.frontend.server.request_memory, Code::kUnavailable);
}

PassOnCall::~PassOnCall() = default;

void PassOnCall::run(Channel& channel) noexcept {
  channel_ = &channel;
  pass_ = context_.frontend.calls.enter();
  if (!pass_) return answer_error(unavailable(frontends::messages::kServerExiting));
  body_ = channel.take_body();
  charge_ = channel.take_charge();
  if (Status status = check(); !status.ok()) return answer_error(status);
  write_head();
  const std::array<iovec, 2> request = {iovec{request_head_.data(), request_head_.size()},
                                        iovec{body_.data(), body_.size()}};
  Result<std::shared_ptr<RemoteConnection>> connection =
      context_.remote_connections.take(server_.http, context_.frontend.host.clock().now_ns());
  if (!connection.ok()) return answer_error(connection.status());
  connection_ = std::move(connection).value();
  connection_->send(std::span(request.data(), body_.size() == 0 ? 1 : 2), *this);
}

Status PassOnCall::check() noexcept {
  const RequestHead& head = channel_->head();
  if (route_.endpoint != Endpoint::kInfer || !head.content_encoding.empty()) return {};
  std::optional<size_t> json_bytes;
  if (head.has_json_length)
    ATOLL_RETURN_IF_ERROR(read_json_bytes(head.json_length, body_.size(), &json_bytes));
  const std::string_view json = body_.text().substr(0, json_bytes.value_or(body_.size()));
  if (!has_key(json, "\"shared_memory_region\"")) return {};
  return Status(Code::kInvalidArgument, frontends::messages::remote_shared_memory(model_));
}

void PassOnCall::write_head() {
  const RequestHead& head = channel_->head();
  request_head_.append(head.method).append(" ").append(head.target).append(" HTTP/1.1\r\nHost: ");
  request_head_.append(server_.http.text()).append("\r\n");
  for (const HeaderField& field : head.fields) {
    if (is_passed_on(field.name))
      request_head_.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  if (head.method != "GET")
    request_head_.append("Content-Length: ").append(std::to_string(body_.size())).append("\r\n");
  request_head_.append("\r\n");
}

// --- what comes back ---

void PassOnCall::on_reply_head(const RemoteReplyHead& head) noexcept {
  reply_ = head;
  streams_ = !head.content_length;
  if (!streams_) return;
  channel_->begin_stream(
      {.http_status = reply_.http_status, .extra = reply_.headers, .reason = reply_.reason});
}

bool PassOnCall::on_reply_body(std::string_view bytes) noexcept {
  if (streams_) {
    if (channel_ == nullptr) return false;
    waiting_bytes_ += bytes.size();
    if (waiting_bytes_ > kStreamBytes) connection_->pause();
    is_inside_ = true;
    channel_->stream(std::string(bytes));
    is_inside_ = false;
    if (channel_ != nullptr) return true;
    end_if_over();
    return false;
  }
  if (reply_body_.size() == 0) {
    const auto expected = static_cast<size_t>(*reply_.content_length);
    Status status = charge_.add(expected);
    if (status.ok()) {
      reply_body_ = context_.buffers.take();
      if (!reply_body_.reserve(std::min(expected, kMostReserved)))
        status = unavailable("no memory for the answer of ", expected, " bytes");
    }
    if (!status.ok()) {
      std::exchange(connection_, nullptr)->close();
      answer_error(status);
      return false;
    }
  }
  return reply_body_.append(bytes.data(), bytes.size());
}

void PassOnCall::on_reply_end(bool reusable) noexcept {
  std::shared_ptr<RemoteConnection> connection = std::move(connection_);
  if (reusable)
    context_.remote_connections.give(std::move(connection), context_.frontend.host.clock().now_ns());
  if (streams_) {
    if (channel_ != nullptr) return channel_->end_stream();
  } else if (channel_ != nullptr) {
    const iovec body{reply_body_.data(), reply_body_.size()};
    return channel_->answer({.http_status = reply_.http_status,
                             .content_length = reply_body_.size(),
                             .extra = reply_.headers,
                             .reason = reply_.reason},
                            std::span(&body, reply_body_.size() == 0 ? 0 : 1));
  }
  end_if_over();
}

void PassOnCall::on_reply_failure(std::string_view reason) noexcept {
  connection_ = nullptr;
  if (channel_ == nullptr) return end_if_over();
  if (streams_) return channel_->cut();
  answer_error(unavailable("the server that has model '", model_, "' has not answered: ", reason));
}

void PassOnCall::answer_error(const Status& status) noexcept { http::answer_error(*channel_, status); }

// --- the client ---

void PassOnCall::on_stream_written(size_t bytes) noexcept {
  waiting_bytes_ -= std::min<uint64_t>(waiting_bytes_, bytes);
  if (connection_ != nullptr && waiting_bytes_ <= kStreamBytes) connection_->resume();
}

void PassOnCall::on_written() noexcept {
  channel_ = nullptr;
  end_if_over();
}

void PassOnCall::on_gone() noexcept {
  channel_ = nullptr;
  if (connection_ != nullptr) std::exchange(connection_, nullptr)->close();
  end_if_over();
}

void PassOnCall::end_if_over() noexcept {
  if (channel_ != nullptr || connection_ != nullptr || is_inside_) return;
  // The pass goes last: with it the instance may be stopped, and this thread with it.
  Pass pass = std::move(pass_);
  context_.buffers.give(std::move(body_));
  context_.buffers.give(std::move(reply_body_));
  delete this;
}

}  // namespace atl::frontends::http
