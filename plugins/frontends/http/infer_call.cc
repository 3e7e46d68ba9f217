#include "frontends/http/infer_call.h"

#include <algorithm>
#include <utility>

#include "atoll/core/guarded.h"
#include "frontends/common/call/output_memory.h"
#include "frontends/common/codec/classification.h"
#include "frontends/common/codec/error_map.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/call_support.h"
#include "frontends/http/codec/error_json.h"
#include "frontends/http/codec/infer_response.h"
#include "frontends/http/http_messages.h"

namespace atl::frontends::http {
namespace {

/// Calls that wait in a thread's pool at most; more in flight make more, which are freed afterwards.
constexpr size_t kPooledCalls = 256;

/// How much larger tensors are as JSON, roughly.
constexpr uint64_t kJsonGrowth = 4;
/// Larger answers are sent as they are, whatever the client accepts: to compress them takes longer than to
/// send them.
constexpr uint64_t kMostCompressedBytes = uint64_t{64} << 20;

void* memory_of(const OutputTensor& output) noexcept { return reinterpret_cast<void*>(output.sink_data); }

iovec to_iovec(const void* data, size_t bytes) noexcept { return {const_cast<void*>(data), bytes}; }

}  // namespace

HttpInferCall::HttpInferCall(ThreadContext& context, const Route& route)
    : ModelCall(context, route, {context.frontend.settings.max_input_bytes, "max_input_size"}) {}

HttpInferCall::~HttpInferCall() { free_tensors(); }

HttpInferCall* HttpInferCall::make(ThreadContext& context, const Route& route) {
  if (context.idle_infer_calls.empty()) return new HttpInferCall(context, route);
  HttpInferCall* call = context.idle_infer_calls.back().release();
  context.idle_infer_calls.pop_back();
  call->route_ = route;
  return call;
}

Result<bool> HttpInferCall::parse_request() noexcept {
  if (channel_ == nullptr) return Status(Code::kCancelled, {});  // the head has gone with the client
  if (infer_.model->info().decoupled) return unimplemented(messages::kDecoupled);
  const RequestHead& head = channel_->head();
  Result<Encoding> encoding = content_encoding(head.content_encoding);
  if (!encoding.ok()) return std::move(encoding).status();
  body_encoding_ = encoding.value();
  accepted_ = accepted_encoding(head.accept_encoding);
  has_json_length_ = head.has_json_length;
  json_length_ = head.json_length;
  binary_type_ = head.binary_type;
  Result<bool> here = decompress_small();
  if (here.ok() && here.value()) here = has_small_json();
  if (!here.ok()) return here;
  if (!here.value()) return path_.read_elsewhere(*context_.frontend.large_work);
  ATOLL_RETURN_IF_ERROR(infer_.memory.reason(parse_body(context_.infer_reader)));
  return true;
}

Result<bool> HttpInferCall::decompress_small() noexcept {
  if (body_encoding_ == Encoding::kIdentity) return true;
  // How large it is shows when it has been opened so far.
  const uint64_t limit = context_.frontend.settings.max_input_bytes;
  const uint64_t most = std::min<uint64_t>(limit, kLargeBytes);
  BodyBuffer plain = context_.buffers.take();
  Status status = guarded("opening the body", [&] { return decompress(body_.bytes(), most, &plain); });
  if (most < limit && plain.size() > most) {
    context_.buffers.give(std::move(plain));
    return false;
  }
  context_.buffers.give(std::exchange(body_, std::move(plain)));
  body_encoding_ = Encoding::kIdentity;
  ATOLL_RETURN_IF_ERROR(std::move(status));
  ATOLL_RETURN_IF_ERROR(infer_.memory.add(body_.size()));
  return true;
}

Result<bool> HttpInferCall::has_small_json() const noexcept {
  if (body_.size() <= kLargeBytes) return true;
  std::optional<size_t> json_bytes;
  if (has_json_length_) ATOLL_RETURN_IF_ERROR(read_json_bytes(json_length_, body_.size(), &json_bytes));
  return json_bytes.value_or(body_.size()) <= kLargeBytes;
}

Status HttpInferCall::read_large() noexcept {
  const uint64_t limit = context_.frontend.settings.max_input_bytes;
  if (body_encoding_ != Encoding::kIdentity) {
    BodyBuffer plain;
    Status status =
        guarded("opening the body", [&] { return decompress(body_.bytes(), limit, &plain, &infer_.memory); });
    body_ = std::move(plain);
    ATOLL_RETURN_IF_ERROR(std::move(status));
    if (infer_.request.cancellation.cancelled()) return Status(Code::kCancelled, {});
  }
  std::optional<size_t> json_bytes;
  if (has_json_length_) ATOLL_RETURN_IF_ERROR(read_json_bytes(json_length_, body_.size(), &json_bytes));
  const uint64_t parsing_bytes = kParsingGrowth * json_bytes.value_or(body_.size());
  ATOLL_RETURN_IF_ERROR(infer_.memory.add(parsing_bytes));
  InferRequestReader reader(InputLimits{limit});
  Status status = parse_body(reader);
  infer_.memory.reduce(parsing_bytes);
  return status;
}

Status HttpInferCall::parse_body(InferRequestReader& reader) noexcept {
  InferBody infer_body{body_.bytes(), std::nullopt};
  if (has_json_length_) {
    ATOLL_RETURN_IF_ERROR(read_json_bytes(json_length_, body_.size(), &infer_body.json_bytes));
  }
  return guarded("reading the request", [&] {
    return reader.read(infer_body, infer_.model->info(), infer_.request, parts_, infer_.regions);
  });
}

bool HttpInferCall::is_large(const Response& response) const noexcept {
  uint64_t bytes = 0;
  if (accepted_ != Encoding::kIdentity) {
    for (const OutputTensor& output : response.outputs) bytes += output.buffer.size_bytes;
  }
  return bytes + kJsonGrowth * json_tensor_bytes(infer_.request, parts_.reply, response) > kLargeBytes;
}

void HttpInferCall::on_response(Response* response, uint32_t flags) noexcept {
  if (!single_.add(infer_, response, flags)) return;
  Result<Response*> only = single_.take_only(infer_);
  if (!only.ok()) return refuse(only.status());
  if (is_large(*only.value())) {
    context_.frontend.large_work->post(make_task([this, answered = only.value()] { answer(*answered); }));
  } else {
    answer(*only.value());
  }
}

/// The call may be over with this, if everything else of it is done.
void HttpInferCall::answer(Response& response) noexcept {
  Status written = write_answer(response);
  infer_.reclaim(&response);
  if (written.ok()) {
    deliver();
  } else {
    refuse(written);
  }
}

Status HttpInferCall::write_answer(Response& response) noexcept {
  Status status = classify_outputs(infer_.model->info(), infer_.request, response);
  if (status.ok()) status = infer_.regions.check();
  if (status.ok())
    status = infer_.memory.add(kJsonGrowth * json_tensor_bytes(infer_.request, parts_.reply, response));
  if (status.ok()) status = guarded("writing the answer", [&] { return write_reply(response); });
  infer_.outputs.drop(response);
  if (status.ok() && encoding_ != Encoding::kIdentity) {
    status = infer_.memory.add(head_.content_length);
    if (status.ok()) status = guarded("compressing the answer", [&] { return compress_reply(); });
  }
  return status;
}

Status HttpInferCall::write_reply(Response& response) {
  Result<InferReply> written =
      write_infer_response(infer_.model->info(), infer_.request, parts_.reply, response, json_);
  if (!written.ok()) return std::move(written).status();
  const InferReply& reply = written.value();
  head_ = {.content_type = reply.content_type(), .content_length = reply.total_bytes};
  if (reply.binary && binary_type_.empty()) {
    head_.json_bytes = reply.json_bytes;
  } else if (reply.binary) {
    binary_type_ = cat(binary_type_, reply.json_bytes);
    head_.content_type = binary_type_;
  }
  // First where everything will be: what is copied together may move while it grows.
  size_t small_bytes = 0;
  for (const ReplyPart& part : reply.parts) {
    if (part.tensor != nullptr && memory_of(*part.tensor) != part.bytes.data())
      small_bytes += part.bytes.size();
  }
  small_tensors_.clear();
  small_tensors_.reserve(small_bytes);
  for (const ReplyPart& part : reply.parts) {
    const void* data = part.bytes.data();
    if (part.tensor != nullptr && memory_of(*part.tensor) == data) {
      tensors_.push_back(memory_of(*part.tensor));
      const_cast<OutputTensor*>(part.tensor)->sink_data = 0;
    } else if (part.tensor != nullptr) {
      data = small_tensors_.data() + small_tensors_.size();
      small_tensors_.append(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
    }
    if (!part.bytes.empty()) reply_.push_back(to_iovec(data, part.bytes.size()));
  }
  if (reply.total_bytes <= kMostCompressedBytes) encoding_ = accepted_;
  return {};
}

Status HttpInferCall::compress_reply() {
  ATOLL_RETURN_IF_ERROR(compress(encoding_, reply_, &compressed_));
  free_tensors();
  reply_.assign(1, to_iovec(compressed_.data(), compressed_.size()));
  head_.encoding = encoding_;
  head_.content_length = compressed_.size();
  return {};
}

void HttpInferCall::refuse(const Status& status) noexcept {
  free_tensors();
  error_ = error_json(client_text(status));
  head_ = {.http_status = http_status(status.code()),
           .content_type = kJsonType,
           .content_length = error_.size(),
           .retry_after_ms = infer_.request.retry_after_ms};
  if (status.message() == messages::kUnsupportedCompression)
    head_.extra = "Accept-Encoding: gzip, deflate\r\n";
  reply_.assign(1, to_iovec(error_.data(), error_.size()));
  deliver();
}

void HttpInferCall::deliver() noexcept {
  if (context_.is_current()) {
    send_reply();
  } else {
    context_.post(*this);
  }
}

void HttpInferCall::on_posted() noexcept {
  if (path_.is_waiting()) {
    path_.resume();
    return;
  }
  if (!recycled_) {
    send_reply();
    return;
  }
  recycled_ = false;
  // The pass goes last: with it the instance may be stopped, and this thread with it.
  Pass pass = std::move(pass_);
  context_.buffers.give(std::move(body_));
  std::unique_ptr<HttpInferCall> call(this);
  if (context_.idle_infer_calls.size() < kPooledCalls) context_.idle_infer_calls.push_back(std::move(call));
}

void HttpInferCall::send_reply() noexcept {
  if (channel_ != nullptr) {
    sent_ = true;
    infer_.trace("HTTP_SEND_START");
    if (head_.extra.empty()) head_.extra = load_lines();
    channel_->answer(head_, reply_);
  }
  infer_.done(kAnswerPart);
}

void HttpInferCall::on_written() noexcept {
  infer_.trace("HTTP_SEND_END");
  free_tensors();
  infer_.done(kExchangePart);
}

void HttpInferCall::on_gone() noexcept {
  channel_ = nullptr;
  // The answer may come while this cancels; the object stays, as its exchange is open.
  if (!sent_) infer_.request.cancellation.cancel();
  infer_.done(kExchangePart);
}

void HttpInferCall::free_tensors() noexcept {
  for (void* tensor : tensors_) free_output_block(tensor);
  tensors_.clear();
  reply_.clear();
}

void HttpInferCall::recycle() noexcept {
  free_tensors();
  infer_.reset();
  parts_.reset();
  json_.reset();
  compressed_ = {};
  error_.clear();
  head_ = {};
  encoding_ = accepted_ = Encoding::kIdentity;
  channel_ = nullptr;
  sent_ = false;
  recycled_ = true;
  if (context_.is_current()) {
    on_posted();
  } else {
    context_.post(*this);
  }
}

}  // namespace atl::frontends::http
