#include "infer_call.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "call_support.h"
#include "codec/error_json.h"
#include "codec/infer_response.h"
#include "common/classification.h"
#include "common/error_map.h"
#include "common/wire_messages.h"
#include "http_messages.h"

namespace atl::frontends::http {
namespace {

/// Calls that wait in a thread's pool at most; more in flight make more, which are freed afterwards.
constexpr size_t kPooledCalls = 256;
/// Larger answers than this are a defect of the model; also keeps sums of sizes from overflowing.
constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 40;

/// How much larger tensors are as JSON, roughly.
constexpr uint64_t kJsonGrowth = 4;
/// Larger answers are sent as they are, whatever the client accepts: to compress them takes longer than to
/// send them.
constexpr uint64_t kMostCompressedBytes = uint64_t{64} << 20;

void* memory_of(const OutputTensor& output) noexcept { return reinterpret_cast<void*>(output.sink_data); }

iovec to_iovec(const void* data, size_t bytes) noexcept { return {const_cast<void*>(data), bytes}; }

}  // namespace

InferCall::InferCall(ThreadContext& context) : context_(context) {
  regions.set_source(*context.backplane.server.shared_memory,
                     {context.backplane.settings.max_input_bytes, "max_input_size"},
                     context.backplane.server.device_memory.get());
  memory.set_source(*context.backplane.server.request_memory, Code::kUnavailable);
  parts_.owned.set_charge(memory);
}

InferCall::~InferCall() { free_tensors(); }

InferCall* InferCall::make(ThreadContext& context, const Route& route) {
  std::unique_ptr<InferCall> call;
  if (context.idle_infer_calls.empty()) {
    call = std::make_unique<InferCall>(context);
  } else {
    call = std::move(context.idle_infer_calls.back());
    context.idle_infer_calls.pop_back();
  }
  call->route_ = route;
  return call.release();
}

void InferCall::run(Channel& channel) noexcept {
  channel_ = &channel;
  begin(kExchangePart);
  pass_ = context_.backplane.calls.enter();
  if (!pass_) {
    abandon();
    answer_error(unavailable(frontends::messages::kServerExiting));
    return;
  }
  Result<bool> found = find();
  if (found.ok() && !found.value()) return;  // model_came() goes on
  go_on(std::move(found).status());
}

Result<bool> InferCall::find() noexcept {
  body_ = channel_->take_body();
  memory = channel_->take_charge();
  ATOLL_RETURN_IF_ERROR(charge_all(kRequestBytes + body_.size()));
  Result<int64_t> version = route_version(context_.backplane.server, route_);
  if (!version.ok()) return std::move(version).status();
  Backplane& backplane = context_.backplane;
  return find_model(*backplane.server.router, *backplane.server.catalog, backplane.host.registry(),
                    route_.model, version.value());
}

void InferCall::about_to_wait() noexcept { channel_->keep_head(); }

void InferCall::model_came(Status status) noexcept {
  came_ = std::move(status);
  context_.post(*this);
}

void InferCall::go_on(Status status) noexcept {
  // The head has gone with the client.
  if (status.ok() && channel_ == nullptr) status = Status(Code::kCancelled, {});
  if (status.ok() && model->info().decoupled) status = unimplemented(messages::kDecoupled);
  if (status.ok()) {
    Result<bool> read = read_body();
    if (read.ok() && !read.value()) return;
    if (!read.ok()) status = std::move(read).status();
  }
  hand_over(std::move(status));
}

void InferCall::hand_over(Status status) noexcept {
  if (status.ok() && channel_ == nullptr) status = Status(Code::kCancelled, {});
  if (status.ok()) status = prepare();
  if (!status.ok()) {
    abandon();
    answer_error(status);
    return;
  }
  if (status = submit(); !status.ok()) answer_error(status);
}

Status InferCall::prepare() noexcept {
  ATOLL_RETURN_IF_ERROR(forward_headers());
  ATOLL_RETURN_IF_ERROR(read_tenant(context_.backplane.settings.tenant, channel_->head(), request));
  accepted_ = accepted_encoding(channel_->head().accept_encoding);
  start_trace();
  return {};
}

Result<bool> InferCall::read_body() noexcept {
  const RequestHead& head = channel_->head();
  Result<Encoding> encoding = content_encoding(head.content_encoding);
  if (!encoding.ok()) return std::move(encoding).status();
  body_encoding_ = encoding.value();
  has_json_length_ = head.has_json_length;
  json_length_ = head.json_length;
  bool large = false;
  if (body_encoding_ != Encoding::kIdentity) {
    // How large it is shows when it has been opened so far.
    const uint64_t limit = context_.backplane.settings.max_input_bytes;
    const uint64_t most = std::min<uint64_t>(limit, kLargeBytes);
    BodyBuffer plain = context_.buffers.take();
    Status status = decompress(body_.bytes(), most, &plain);
    large = most < limit && plain.size() > most;
    if (!large) {
      context_.buffers.give(std::exchange(body_, std::move(plain)));
      body_encoding_ = Encoding::kIdentity;
      ATOLL_RETURN_IF_ERROR(std::move(status));
      ATOLL_RETURN_IF_ERROR(charge(body_.size()));
    } else {
      context_.buffers.give(std::move(plain));
    }
  }
  if (!large && body_.size() > kLargeBytes) {
    std::optional<size_t> json_bytes;
    if (has_json_length_) ATOLL_RETURN_IF_ERROR(read_json_bytes(json_length_, body_.size(), &json_bytes));
    large = json_bytes.value_or(body_.size()) > kLargeBytes;
  }
  if (!large) {
    ATOLL_RETURN_IF_ERROR(reason(parse_body(context_.infer_reader)));
    return true;
  }
  reading_ = true;
  channel_->keep_head();
  const Task work{[](void* self) { static_cast<InferCall*>(self)->read_large_body(); }, this, nullptr};
  if (Status status = context_.backplane.large_work->try_post(work); !status.ok()) {
    reading_ = false;
    request.retry_after_ms = LargeWork::kRetryAfterMs;
    return status;
  }
  return false;
}

void InferCall::read_large_body() noexcept {
  const uint64_t limit = context_.backplane.settings.max_input_bytes;
  Status status;
  if (request.cancellation.cancelled()) status = Status(Code::kCancelled, {});
  if (status.ok() && body_encoding_ != Encoding::kIdentity) {
    BodyBuffer plain;
    status = decompress(body_.bytes(), limit, &plain, &memory);
    body_ = std::move(plain);
  }
  if (status.ok() && request.cancellation.cancelled()) status = Status(Code::kCancelled, {});
  if (status.ok()) {
    std::optional<size_t> json_bytes;
    if (has_json_length_) status = read_json_bytes(json_length_, body_.size(), &json_bytes);
    const uint64_t parsing_bytes = kParsingGrowth * json_bytes.value_or(body_.size());
    if (status.ok()) status = charge(parsing_bytes);
    if (status.ok()) {
      InferRequestReader reader(InputLimits{limit});
      status = parse_body(reader);
      memory.reduce(parsing_bytes);
    }
  }
  came_ = reason(std::move(status));
  context_.post(*this);
}

Status InferCall::parse_body(InferRequestReader& reader) noexcept {
  InferBody infer_body{body_.bytes(), std::nullopt};
  if (has_json_length_) {
    ATOLL_RETURN_IF_ERROR(read_json_bytes(json_length_, body_.size(), &infer_body.json_bytes));
  }
  return reader.read(infer_body, model->info(), request, parts_, regions);
}

Status InferCall::forward_headers() noexcept {
  const HeaderForward& forward = context_.backplane.settings.forward;
  if (!forward.active()) return {};
  for (const HeaderField& field : channel_->head().fields) {
    if (!forward.matches(field.name)) continue;
    if (HeaderForward::reserved(field.name)) {
      return Status(Code::kInvalidArgument, frontends::messages::reserved_header(field.name));
    }
    // A header takes the place of a parameter of the same name.
    auto* same = std::find_if(request.parameters.begin(), request.parameters.end(),
                              [&](const Parameter& known) { return known.key == field.name; });
    Parameter& parameter = same != request.parameters.end() ? *same : request.add_parameter();
    parameter.key = request.arena().copy_text(field.name);
    parameter.type = ParameterType::kString;
    parameter.text = request.arena().copy_text(field.value);
  }
  return {};
}

void InferCall::start_trace() noexcept {
  request.trace = http::start_trace(context_.backplane, model->info(), request.id, channel_->head());
  if (request.trace == nullptr) return;
  trace("HTTP_RECV_START", channel_->received_first_ns());
  trace("HTTP_RECV_END", channel_->received_last_ns());
}

Status InferCall::allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept {
  std::free(reinterpret_cast<void*>(std::exchange(output.sink_data, 0)));
  output.buffer = {};
  if (size_bytes <= kInlineBytes) {
    output.buffer.data = response.arena().allocate(size_bytes, kTensorAlignment);
  } else {
    ATOLL_RETURN_IF_ERROR(charge(size_bytes));
    const uint64_t rounded = (size_bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    if (size_bytes <= kMaxTensorBytes) output.buffer.data = std::aligned_alloc(kTensorAlignment, rounded);
    if (output.buffer.data == nullptr) {
      return make_status(Code::kResourceExhausted, "no memory for the ", size_bytes, " bytes of output '",
                         output.name, "'");
    }
    output.sink_data = reinterpret_cast<uint64_t>(output.buffer.data);
  }
  output.buffer.size_bytes = size_bytes;
  return {};
}

void InferCall::drop_output(OutputTensor& output) noexcept {
  std::free(reinterpret_cast<void*>(std::exchange(output.sink_data, 0)));
}

bool InferCall::is_large(const Response& response) const noexcept {
  uint64_t bytes = 0;
  if (accepted_ != Encoding::kIdentity) {
    for (const OutputTensor& output : response.outputs) bytes += output.buffer.size_bytes;
  }
  return bytes + kJsonGrowth * json_tensor_bytes(request, parts_.reply, response) > kLargeBytes;
}

bool InferCall::answer_later(Response& response) noexcept {
  if (!is_large(response)) return false;
  context_.backplane.large_work->post(make_task([this, &response] {
    Status written = write_answer(response);
    reclaim(&response);
    // The call may be over with this: everything else of it is done.
    finish(std::move(written));
  }));
  return true;
}

void InferCall::answer(Response& response) noexcept { finish(write_answer(response)); }

Status InferCall::write_answer(Response& response) noexcept {
  Status status = classify_outputs(model->info(), request, response);
  if (status.ok()) status = regions.check();
  if (status.ok()) status = charge(kJsonGrowth * json_tensor_bytes(request, parts_.reply, response));
  if (status.ok()) status = write_reply(response);
  drop_outputs(response);
  if (status.ok() && encoding_ != Encoding::kIdentity) {
    status = charge(head_.content_length);
    if (status.ok()) status = compress_reply();
  }
  return status;
}

void InferCall::finish(Status written) noexcept {
  if (written.ok()) {
    deliver();
  } else {
    answer_error(written);
  }
}

Status InferCall::write_reply(Response& response) noexcept {
  Result<InferReply> written = write_infer_response(model->info(), request, parts_.reply, response, json_);
  if (!written.ok()) return std::move(written).status();
  const InferReply& reply = written.value();
  head_ = {.content_type = reply.content_type(), .content_length = reply.total_bytes};
  if (reply.binary) head_.json_bytes = reply.json_bytes;
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

Status InferCall::compress_reply() noexcept {
  ATOLL_RETURN_IF_ERROR(compress(encoding_, reply_, &compressed_));
  free_tensors();
  reply_.assign(1, to_iovec(compressed_.data(), compressed_.size()));
  head_.encoding = encoding_;
  head_.content_length = compressed_.size();
  return {};
}

void InferCall::answer_error(const Status& status) noexcept {
  free_tensors();
  error_ = error_json(client_text(status));
  head_ = {.http_status = http_status(status.code()),
           .content_type = kJsonType,
           .content_length = error_.size(),
           .retry_after_ms = request.retry_after_ms};
  if (status.message() == messages::kUnsupportedCompression)
    head_.extra = "Accept-Encoding: gzip, deflate\r\n";
  reply_.assign(1, to_iovec(error_.data(), error_.size()));
  deliver();
}

void InferCall::deliver() noexcept {
  if (context_.is_current()) {
    send_reply();
  } else {
    context_.post(*this);
  }
}

void InferCall::on_posted() noexcept {
  if (came_) {
    Status status = std::move(*came_);
    came_.reset();
    if (std::exchange(reading_, false)) {
      hand_over(std::move(status));
    } else {
      go_on(std::move(status));
    }
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
  std::unique_ptr<InferCall> call(this);
  if (context_.idle_infer_calls.size() < kPooledCalls) context_.idle_infer_calls.push_back(std::move(call));
}

void InferCall::send_reply() noexcept {
  if (channel_ == nullptr) {
    end_exchange();
    return;
  }
  sent_ = true;
  trace("HTTP_SEND_START");
  channel_->answer(head_, reply_);
}

void InferCall::on_written() noexcept {
  trace("HTTP_SEND_END");
  end_exchange();
}

void InferCall::on_gone() noexcept {
  channel_ = nullptr;
  if (sent_) {
    end_exchange();
    return;
  }
  cancelling_ = true;
  request.cancellation.cancel();
  cancelling_ = false;
  if (end_wanted_) end_exchange();
}

void InferCall::end_exchange() noexcept {
  if (cancelling_) {
    end_wanted_ = true;
    return;
  }
  free_tensors();
  done(kExchangePart);
}

void InferCall::free_tensors() noexcept {
  for (void* tensor : tensors_) std::free(tensor);
  tensors_.clear();
  reply_.clear();
}

void InferCall::recycle() noexcept {
  reset_request();
  parts_.reset();
  json_.reset();
  compressed_ = {};
  error_.clear();
  head_ = {};
  encoding_ = accepted_ = Encoding::kIdentity;
  channel_ = nullptr;
  cancelling_ = end_wanted_ = sent_ = false;
  recycled_ = true;
  if (context_.is_current()) {
    on_posted();
  } else {
    context_.post(*this);
  }
}

}  // namespace atl::frontends::http
