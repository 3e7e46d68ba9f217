#include "frontends/http/generate_call.h"

#include <utility>

#include "atoll/request/request_marks.h"
#include "frontends/common/call/output_memory.h"
#include "frontends/common/codec/error_map.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/error_json.h"
#include "frontends/http/codec/generate.h"
#include "frontends/http/http_messages.h"

namespace atl::frontends::http {
namespace {

constexpr std::string_view kEventStreamType = "text/event-stream; charset=utf-8";

std::string event(std::string_view json) { return cat("data: ", json, "\n\n"); }

}  // namespace

GenerateCall::GenerateCall(ThreadContext& context, const Route& route)
    : ModelCall(context, route, {}), streams_(route.endpoint == Endpoint::kGenerateStream) {}

void GenerateCall::on_posted() noexcept {
  if (path_.is_waiting()) {
    path_.resume();
  } else {
    flush();
  }
}

Result<bool> GenerateCall::parse_request() noexcept {
  if (channel_ == nullptr) return Status(Code::kCancelled, {});  // the head has gone with the client
  const Result<Encoding> encoding = content_encoding(channel_->head().content_encoding);
  if (!encoding.ok() || encoding.value() != Encoding::kIdentity) {
    return invalid_argument(messages::kOnlyIdentity);
  }
  if (body_.size() > kLargeBytes) return path_.read_elsewhere(*context_.frontend.large_work);
  ATOLL_RETURN_IF_ERROR(infer_.memory.reason(
      context_.generate_reader.read(body_.text(), infer_.model->info(), infer_.request, parts_)));
  return true;
}

Status GenerateCall::read_large() noexcept {
  const uint64_t parsing_bytes = kParsingGrowth * body_.size();
  ATOLL_RETURN_IF_ERROR(infer_.memory.add(parsing_bytes));
  GenerateRequestReader reader(InputLimits{context_.frontend.settings.max_input_bytes});
  Status status = reader.read(body_.text(), infer_.model->info(), infer_.request, parts_);
  infer_.memory.reduce(parsing_bytes);
  return status;
}

Status GenerateCall::read_head() noexcept {
  ATOLL_RETURN_IF_ERROR(ModelCall::read_head());
  if (streams_) mark_stream(infer_.request, next_stream_number());
  drop_body();
  return {};
}

void GenerateCall::drop_body() noexcept {
  infer_.memory.reduce(body_.size());
  context_.buffers.give(std::move(body_));
}

void GenerateCall::refuse(const Status& status) noexcept {
  drop_body();
  final_seen_here_ = true;
  if (channel_ != nullptr) http::answer_error(*channel_, status, infer_.request.retry_after_ms);
  infer_.done(kAnswerPart);
}

Status GenerateCall::check_output(const OutputTensor& output, uint64_t size_bytes) noexcept {
  // What is made into text and kept for a client is bounded by the backlog, so nothing larger is of use.
  if (size_bytes <= context_.frontend.settings.max_stream_backlog_bytes) return {};
  return no_output_memory(output, size_bytes);
}

int GenerateCall::write_response(Response& response, std::string* text) noexcept {
  Status status = std::move(response.error);
  if (status.code() == Code::kCancelled && context_.frontend.server.catalog->exiting())
    status = unavailable(frontends::messages::kCutByEnd);
  if (status.ok()) {
    json_.reset();
    status = write_generate_response(infer_.model->info(), infer_.request, response, json_);
  }
  *text = status.ok() ? std::string(json_.text()) : error_json(client_text(status));
  return http_status(status.code());
}

void GenerateCall::on_response(Response* response, uint32_t flags) noexcept {
  const bool end = (flags & kFinal) != 0;
  std::string text;
  if (response != nullptr) {
    if (!dropping_ && (streams_ || responses_ == 0)) {
      const int status = write_response(*response, &text);
      if (responses_ == 0) http_status_ = status;
    }
    ++responses_;
    infer_.discard(response);
    infer_.outputs.uncharge();
  }
  if (!streams_) {
    if (responses_ == 1 && !text.empty()) only_ = std::move(text);
    if (!end) return;
    push(responses_ == 1 ? std::move(only_) : error_json(messages::kGenerateNotOneResponse), Outbox::kEnd);
    return;
  }
  if (!text.empty()) text = event(text);
  if (!dropping_ && !outbox_.has_room(text.size(), context_.frontend.settings.max_stream_backlog_bytes)) {
    cut();
    text.clear();
  }
  if (!text.empty() || end) push(std::move(text), end ? Outbox::kEnd : 0u);
}

void GenerateCall::cut() noexcept {
  dropping_ = true;
  context_.frontend.slow_streams->report(context_.frontend.settings.max_stream_backlog_bytes);
  push(event(error_json(cat("the client takes its stream too slowly: more than ",
                            context_.frontend.settings.max_stream_backlog_bytes,
                            " bytes wait for it, and the request was cancelled"))),
       Outbox::kCut);
  infer_.request.cancellation.cancel();
}

void GenerateCall::push(std::string text, uint32_t marks) noexcept {
  if (!outbox_.push(std::move(text), marks)) return;
  if (context_.is_current()) {
    flush();
  } else {
    context_.post(*this);
  }
}

void GenerateCall::flush() noexcept {
  auto [texts, marks] = outbox_.take();
  const bool end = (marks & Outbox::kEnd) != 0;
  final_seen_here_ = end;
  // Answering may end the exchange, and the client's going the request; this object stays, as its end is open.
  if (channel_ != nullptr && !streams_) {
    if (end) {
      infer_.trace("HTTP_SEND_START");
      channel_->answer_text({.http_status = http_status_,
                             .content_type = kJsonType,
                             .extra = load_lines(),
                             .retry_after_ms = retry_after_ms()},
                            std::move(texts.front()));
    }
  } else if (channel_ != nullptr && !stream_closed_) {
    answer_stream(std::move(texts), marks != 0);
  }
  if (end) {
    infer_.done(kAnswerPart);
    return;
  }
  if (outbox_.finish(marks)) context_.post(*this);
}

void GenerateCall::answer_stream(std::vector<std::string> texts, bool end) noexcept {
  if (!begun_) {
    begun_ = true;
    infer_.trace("HTTP_SEND_START");
    channel_->begin_stream({.http_status = http_status_,
                            .content_type = kEventStreamType,
                            .extra = load_lines(),
                            .retry_after_ms = retry_after_ms()});
  }
  for (std::string& text : texts) {
    if (channel_ != nullptr) channel_->stream(std::move(text));
  }
  if (end && channel_ != nullptr) {
    stream_closed_ = true;
    channel_->end_stream();
  }
}

void GenerateCall::on_stream_written(size_t bytes) noexcept { outbox_.written(bytes); }

void GenerateCall::on_written() noexcept {
  infer_.trace("HTTP_SEND_END");
  channel_ = nullptr;
  infer_.done(kExchangePart);
}

void GenerateCall::on_gone() noexcept {
  channel_ = nullptr;
  if (!final_seen_here_) infer_.request.cancellation.cancel();
  infer_.done(kExchangePart);
}

void GenerateCall::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped.
  Pass pass = std::move(pass_);
  infer_.reset();
  delete this;
}

}  // namespace atl::frontends::http
