#include "generate_call.h"

#include <cstdlib>
#include <utility>

#include "call_support.h"
#include "codec/error_json.h"
#include "codec/generate.h"
#include "common/error_map.h"
#include "common/wire_messages.h"
#include "http_messages.h"

namespace atl::frontends::http {
namespace {

constexpr std::string_view kEventStreamType = "text/event-stream; charset=utf-8";

std::string event(std::string_view json) { return cat("data: ", json, "\n\n"); }

}  // namespace

GenerateCall::GenerateCall(ThreadContext& context, const Route& route)
    : context_(context), streams_(route.endpoint == Endpoint::kGenerateStream), route_(route) {
  regions.set_source(*context.backplane.server.shared_memory, {},
                     context.backplane.server.device_memory.get());
  memory.set_source(*context.backplane.server.request_memory, Code::kUnavailable);
  parts_.owned.set_charge(memory);
}

void GenerateCall::run(Channel& channel) noexcept {
  channel_ = &channel;
  begin(kExchangePart);
  pass_ = context_.backplane.calls.enter();
  if (!pass_) return go_on(unavailable(frontends::messages::kServerExiting));
  Result<bool> found = find();
  if (found.ok() && !found.value()) return;  // model_came() goes on
  go_on(std::move(found).status());
}

Result<bool> GenerateCall::find() noexcept {
  body_ = channel_->take_body();
  memory = channel_->take_charge();
  ATOLL_RETURN_IF_ERROR(charge_all(kRequestBytes + body_.size()));
  Result<int64_t> version = route_version(context_.backplane.server, route_);
  if (!version.ok()) return std::move(version).status();
  Backplane& backplane = context_.backplane;
  return find_model(*backplane.server.router, *backplane.server.catalog, backplane.host.registry(),
                    route_.model, version.value());
}

void GenerateCall::about_to_wait() noexcept { channel_->keep_head(); }

void GenerateCall::model_came(Status status) noexcept {
  came_ = std::move(status);
  context_.post(*this);
}

void GenerateCall::on_posted() noexcept {
  if (!came_) return flush();
  Status status = std::move(*came_);
  came_.reset();
  if (std::exchange(reading_, false)) {
    hand_over(std::move(status));
  } else {
    go_on(std::move(status));
  }
}

void GenerateCall::go_on(Status status) noexcept {
  // The head has gone with the client.
  if (status.ok() && channel_ == nullptr) status = Status(Code::kCancelled, {});
  if (status.ok()) {
    Result<bool> read = read_body();
    if (read.ok() && !read.value()) return;
    if (!read.ok()) status = std::move(read).status();
  }
  hand_over(std::move(status));
}

Result<bool> GenerateCall::read_body() noexcept {
  const Result<Encoding> encoding = content_encoding(channel_->head().content_encoding);
  if (!encoding.ok() || encoding.value() != Encoding::kIdentity) {
    return invalid_argument(messages::kOnlyIdentity);
  }
  if (body_.size() <= kLargeBytes) {
    ATOLL_RETURN_IF_ERROR(
        reason(context_.generate_reader.read(body_.text(), model->info(), request, parts_)));
    return true;
  }
  reading_ = true;
  channel_->keep_head();
  const Task work{[](void* self) { static_cast<GenerateCall*>(self)->read_large_body(); }, this, nullptr};
  if (Status status = context_.backplane.large_work->try_post(work); !status.ok()) {
    reading_ = false;
    request.retry_after_ms = LargeWork::kRetryAfterMs;
    return status;
  }
  return false;
}

void GenerateCall::read_large_body() noexcept {
  Status status;
  if (request.cancellation.cancelled()) status = Status(Code::kCancelled, {});
  const uint64_t parsing_bytes = kParsingGrowth * body_.size();
  if (status.ok()) status = charge(parsing_bytes);
  if (status.ok()) {
    GenerateRequestReader reader(InputLimits{context_.backplane.settings.max_input_bytes});
    status = reader.read(body_.text(), model->info(), request, parts_);
    memory.reduce(parsing_bytes);
  }
  came_ = reason(std::move(status));
  context_.post(*this);
}

void GenerateCall::hand_over(Status status) noexcept {
  if (status.ok() && channel_ == nullptr) status = Status(Code::kCancelled, {});
  if (status.ok()) status = prepare();
  memory.reduce(body_.size());
  context_.buffers.give(std::move(body_));
  if (status.ok()) {
    status = submit();
    if (status.ok()) return;
  } else {
    abandon();
  }
  final_seen_here_ = true;
  if (channel_ != nullptr) {
    http::answer_error(*channel_, status, request.retry_after_ms);
  } else {
    end_if_over();
  }
}

Status GenerateCall::prepare() noexcept {
  ATOLL_RETURN_IF_ERROR(read_tenant(context_.backplane.settings.tenant, channel_->head(), request));
  request.trace = start_trace(context_.backplane, model->info(), request.id, channel_->head());
  trace("HTTP_RECV_START", channel_->received_first_ns());
  trace("HTTP_RECV_END", channel_->received_last_ns());
  return {};
}

Status GenerateCall::allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept {
  std::free(reinterpret_cast<void*>(std::exchange(output.sink_data, 0)));
  output.buffer = {};
  if (size_bytes <= kInlineBytes) {
    output.buffer.data = response.arena().allocate(size_bytes, kTensorAlignment);
  } else {
    ATOLL_RETURN_IF_ERROR(charge(size_bytes));
    output_bytes_ += size_bytes;
    // What is made into text and kept for a client is bounded by the backlog, so nothing larger is of use.
    if (size_bytes <= context_.backplane.settings.max_stream_backlog_bytes) {
      output.buffer.data = std::malloc(size_bytes);
    }
    if (output.buffer.data == nullptr) {
      return make_status(Code::kResourceExhausted, "no memory for the ", size_bytes, " bytes of output '",
                         output.name, "'");
    }
    output.sink_data = reinterpret_cast<uint64_t>(output.buffer.data);
  }
  output.buffer.size_bytes = size_bytes;
  return {};
}

void GenerateCall::drop_output(OutputTensor& output) noexcept {
  std::free(reinterpret_cast<void*>(std::exchange(output.sink_data, 0)));
}

int GenerateCall::write_response(Response& response, std::string* text) noexcept {
  Status status = std::move(response.error);
  if (status.ok()) {
    json_.reset();
    status = write_generate_response(model->info(), request, response, json_);
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
      if (responses_ == 0) {
        std::lock_guard lock(mutex_);
        http_status_ = status;
      }
    }
    ++responses_;
    discard(response);
    memory.reduce(std::exchange(output_bytes_, 0));
  }
  if (!streams_) {
    if (responses_ == 1 && !text.empty()) only_ = std::move(text);
    if (!end) return;
    push(responses_ == 1 ? std::move(only_) : error_json(messages::kGenerateNotOneResponse), true);
    return;
  }
  if (!text.empty()) text = event(text);
  // A single response may be larger than the limit if nothing else waits.
  const uint64_t waiting = backlog_bytes_.load(std::memory_order_relaxed);
  if (!dropping_ && waiting != 0 &&
      waiting + text.size() > context_.backplane.settings.max_stream_backlog_bytes) {
    cut();
    text.clear();
  }
  if (!text.empty() || end) push(std::move(text), end);
}

void GenerateCall::cut() noexcept {
  dropping_ = true;
  {
    std::lock_guard lock(mutex_);
    cut_ = true;
  }
  push(event(error_json(cat("the client takes its stream too slowly: more than ",
                            context_.backplane.settings.max_stream_backlog_bytes,
                            " bytes wait for it, and the request was cancelled"))),
       false);
  request.cancellation.cancel();
}

void GenerateCall::push(std::string text, bool end) noexcept {
  backlog_bytes_.fetch_add(text.size(), std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    if (!text.empty()) pending_.push_back(std::move(text));
    ended_ = ended_ || end;
    if (posted_) return;
    posted_ = true;
  }
  if (context_.is_current()) {
    flush();
  } else {
    context_.post(*this);
  }
}

void GenerateCall::flush() noexcept {
  std::vector<std::string> texts;
  bool end = false;
  bool close = false;
  {
    std::lock_guard lock(mutex_);
    texts.swap(pending_);
    end = ended_;
    close = ended_ || cut_;
    posted_ = false;
  }
  final_seen_here_ = end;
  // Answering may end the exchange, and the exchange this object, which the end of this function still needs.
  const bool was_cancelling = std::exchange(cancelling_, true);
  if (channel_ != nullptr && !streams_) {
    if (end) {
      trace("HTTP_SEND_START");
      channel_->answer_text(
          {.http_status = http_status_, .content_type = kJsonType, .retry_after_ms = retry_after_ms()},
          std::move(texts.front()));
    }
  } else if (channel_ != nullptr && !stream_closed_) {
    answer_stream(std::move(texts), close);
  }
  cancelling_ = was_cancelling;
  end_if_over();
}

void GenerateCall::answer_stream(std::vector<std::string> texts, bool end) noexcept {
  if (!begun_) {
    begun_ = true;
    trace("HTTP_SEND_START");
    channel_->begin_stream(
        {.http_status = http_status_, .content_type = kEventStreamType, .retry_after_ms = retry_after_ms()});
  }
  for (std::string& text : texts) {
    if (channel_ != nullptr) channel_->stream(std::move(text));
  }
  if (end && channel_ != nullptr) {
    stream_closed_ = true;
    channel_->end_stream();
  }
}

void GenerateCall::on_stream_written(size_t bytes) noexcept {
  backlog_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

void GenerateCall::on_written() noexcept {
  trace("HTTP_SEND_END");
  channel_ = nullptr;
  exchange_over_ = true;
  end_if_over();
}

void GenerateCall::on_gone() noexcept {
  channel_ = nullptr;
  exchange_over_ = true;
  if (!final_seen_here_) {
    const bool was_cancelling = std::exchange(cancelling_, true);
    request.cancellation.cancel();
    cancelling_ = was_cancelling;
  }
  end_if_over();
}

void GenerateCall::end_if_over() noexcept {
  if (exchange_over_ && final_seen_here_ && !cancelling_) done(kExchangePart);
}

void GenerateCall::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped.
  Pass pass = std::move(pass_);
  reset_request();
  delete this;
}

}  // namespace atl::frontends::http
