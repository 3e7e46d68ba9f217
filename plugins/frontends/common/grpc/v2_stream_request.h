/// One request of a ModelStreamInfer call, whatever transport brings it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/gate.h"
#include "frontends/common/call/call_path.h"
#include "frontends/common/call/single_response.h"
#include "frontends/common/codec/classification.h"
#include "frontends/common/codec/error_map.h"
#include "frontends/common/grpc/status_text.h"
#include "frontends/common/grpc/v2_infer_stream.h"
#include "frontends/common/grpc/v2_remote_stream.h"
#include "frontends/common/grpc/v2_stream_message.h"
#include "frontends/common/grpc/v2_unary_call.h"

namespace atl::frontends {

/// In use until its last answer is written or dropped, its model is done with it and run() has returned.
/// \tparam Self      what derives from this
/// \tparam Message   as of V2InferStream
/// \tparam Received  as of V2UnaryCall
template <class Self, class Message, class Received>
class V2StreamRequest : private CallSteps, private ResponseReceiver, protected RemoteStreamOwner<Message> {
 public:
  using Stream = V2InferStream<Self, Message>;

  /// Reads the message and hands the request over, or answers why not. It may be gone afterwards. [own thread]
  void run() noexcept {
    pass_ = frontend_.calls.enter();
    Result<bool> opened = received_.open_small(max_message_bytes());
    if (opened.ok() && !opened.value()) {
      frontend_.large_work->post(path_.reading());
      return;
    }
    if (opened.ok()) parse();
    if (find_model(std::move(opened).status())) ran();
  }

  // --- for its stream ---
  /// The last answer is written or dropped. It may be gone afterwards.
  void written() noexcept { infer_.done(kWritePart); }
  void cancel() noexcept { infer_.request.cancellation.cancel(); }
  void mark(const char* name) noexcept { infer_.trace(name); }

  // Of the first request that goes to another server: it stands for all of the stream that this server answers.
  // [own thread]
  bool is_remote() const noexcept { return remote_ != nullptr; }
  V2RemoteStream& remote() noexcept { return *remote_; }
  void begin_remote(const HostPort& server) noexcept {
    remote_address_ = server.text();
    remote_ = make_remote(server, *this);
  }

  typename StreamRules<Self, Message>::Place place;  ///< under its stream's lock

 protected:
  enum TransportPart : uint32_t {
    kWritePart = InferContext::kTransportPart,
    kRunPart = InferContext::kTransportPart * 2
  };

  explicit V2StreamRequest(GrpcCallContext& frontend) : frontend_(frontend) {
    infer_.regions.set_source(*frontend.server.shared_memory, frontend.settings.copy_limit(),
                              frontend.server.device_memory.get());
    infer_.memory.set_source(*frontend.server.request_memory);
    received_.set_charge(infer_.memory);
  }
  virtual ~V2StreamRequest() = default;

  /// Starts a use; `received_` has the message. \param bytes  of it
  /// \param uncounted  of these bytes, what is not counted as memory of requests
  void start(Stream& stream, uint64_t bytes, uint64_t uncounted, int64_t read_start_ns, int64_t read_end_ns) {
    infer_.begin(kWritePart | kRunPart);
    stream_ = &stream;
    decoupled_ = false;
    too_slow_ = false;
    read_start_ns_ = read_start_ns;
    read_end_ns_ = read_end_ns;
    uncounted_bytes_ = uncounted;
    place = {};
    place.received_bytes = bytes;
  }
  /// Begins a call to another server.
  virtual std::unique_ptr<V2RemoteStream> make_remote(const HostPort& server,
                                                      RemoteStreamOwner<Message>& owner) noexcept = 0;
  /// Gives the message's bytes to what make_remote() made.
  virtual void forward(V2RemoteStream& to) noexcept = 0;
  /// Takes the large tensors' memory from the response. Errors: there is no memory.
  virtual Status write_message(V2StreamMessage& from, Message* message) noexcept = 0;

  /// Goes on when a wait has ended. [own thread]
  void after_wait() noexcept {
    if (path_.resume()) ran();
  }
  /// It was handed over or refused. It may be gone afterwards.
  void ran() noexcept {
    // It keeps the stream until here.
    std::shared_ptr<Stream> held;
    if (std::exchange(holds_, false)) held = stream_->shared_from_this();
    infer_.done(kRunPart);
    if (held != nullptr) held->resume();
  }

  GrpcCallContext& frontend_;
  InferContext infer_{*this};
  CallPath path_{infer_, *this};
  Stream* stream_ = nullptr;
  Received received_;
  Pass pass_;
  bool holds_ = false;  ///< the stream, so that requests behind this one wait

 private:
  // --- CallSteps ---
  bool find_model(Status opened) noexcept final {
    if (!opened.ok()) {
      // As gRPC itself does with messages that are too large.
      stream_->shut_down(opened.code(), std::string(opened.message()));
      infer_.abandon();
      return true;
    }
    if (!pass_) return path_.refuse(unavailable(messages::kGrpcShuttingDown));
    if (!parsed_.ok()) return path_.refuse(std::exchange(parsed_, {}));
    if (Status known = stream_->check_caller(); !known.ok()) {
      stream_->shut_down(known.code(), std::string(known.message()));
      infer_.abandon();
      return true;
    }
    infer_.request.caller = stream_->caller();
    infer_.request.times.deadline_ns = stream_->deadline_ns();
    const Identity* const caller = stream_->identity();
    if (caller != nullptr) infer_.regions.set_owner(owner_of(caller));
    if (!may_use(caller, ApiCategory::kInference, received_.message().model_name())) {
      return path_.refuse_hidden(received_.message().model_name(),
                                 parse_model_version(received_.message().model_version()));
    }
    if (has_remote_models(frontend_.server)) {
      if (const std::optional<bool> passed = pass_on()) return *passed;
    }
    return path_.find({*frontend_.server.router, *frontend_.server.catalog, frontend_.host.registry()},
                      received_.message().model_name(), received_.version(frontend_.server));
  }
  Status read_large() noexcept final {
    ATOLL_RETURN_IF_ERROR(received_.open(max_message_bytes()));
    parse();
    return {};
  }
  Result<bool> parse_request() noexcept final {
    decoupled_ = infer_.model->info().decoupled;
    ATOLL_RETURN_IF_ERROR(infer_.memory.reason(
        received_.message().fill(infer_.request, infer_.regions, frontend_.settings.copy_limit())));
    return true;
  }
  Status read_head() noexcept final {
    const CallMetadata* metadata = stream_->metadata();
    if (metadata == nullptr) return Status(Code::kCancelled, {});
    ATOLL_RETURN_IF_ERROR(
        read_call_metadata(frontend_, *metadata, infer_.model->info(), stream_->identity(), infer_.request));
    mark_stream(infer_.request, stream_->number());
    infer_.trace("GRPC_WAITREAD_START", read_start_ns_);
    infer_.trace("GRPC_WAITREAD_END", read_end_ns_);
    keep_order();
    return {};
  }
  void refuse(const Status& status) noexcept final {
    keep_order();
    Response* empty = infer_.new_response();
    Message message;
    write_text(as_utf8(client_text(status)), {}, {}, *empty, &message);
    (void)stream_->write(self(), &message, true, false);
  }
  void about_to_wait() noexcept final {
    // Those behind it wait too, so that their models get them in their order.
    holds_ = true;
    stream_->hold();
  }

  // --- ResponseReceiver ---
  Status check_output(const OutputTensor&, uint64_t size_bytes) noexcept final {
    return check_grpc_output(size_bytes);
  }
  void on_response(Response* response, uint32_t flags) noexcept final {
    if (decoupled_) {
      on_decoupled(response, flags);
    } else {
      on_single(response, flags);
    }
  }

  Self& self() noexcept { return static_cast<Self&>(*this); }
  uint64_t max_message_bytes() const noexcept {
    return static_cast<uint64_t>(frontend_.settings.max_message_bytes);
  }
  void parse() noexcept {
    parsed_ = received_.parse(infer_.request.arena());
    // What it was opened to is counted already; as it came it is known only now.
    if (parsed_.ok()) parsed_ = infer_.memory.add(InferContext::kRequestBytes + uncounted_bytes_);
    // Of a message that is not valid the id may have been read, and may be what is not valid.
    if (is_utf8(received_.message().id())) infer_.request.id = received_.message().id();
  }
  // --- requests that another server answers ---
  /// Has another server answer, if that has the model. Nothing: this one does. Else as a step returns.
  std::optional<bool> pass_on() noexcept {
    const CallMetadata* head = stream_->metadata();
    if (head == nullptr) return path_.refuse(Status(Code::kCancelled, {}));
    Result<std::optional<HostPort>> found = remote_of_inference(
        frontend_.server, stream_->identity(), received_.message(), head->first(RemoteModels::kLeaseHeader));
    if (!found.ok()) return path_.refuse(found.status());
    if (!found.value()) return {};
    infer_.abandon();
    Self& passes = stream_->remote_to(self(), *found.value());
    forward(passes.remote());
    if (&passes != &self()) {
      stream_->answered(self());  // its answers are the other one's
      return true;
    }
    received_.clear();
    infer_.memory.release();
    if (std::exchange(holds_, false)) stream_->resume();
    return false;
  }
  bool on_remote_answer(Message* answer) noexcept final {
    return stream_->write(self(), answer, false, true) != Stream::Push::kTooMuch;
  }
  void on_remote_backlog() noexcept final { stream_->hold(); }
  void on_remote_room() noexcept final { stream_->resume(); }
  void on_remote_end(const Status& status) noexcept final {
    const std::shared_ptr<Stream> held = stream_->shared_from_this();
    held->end_remote(remote_address_);
    if (!status.ok()) held->shut_down(status.code(), std::string(status.message()));
    held->answered(self());
    // In a step of its own, from which it is called.
    const std::unique_ptr<V2RemoteStream> ended = std::move(remote_);
    infer_.done(kRunPart);
  }

  /// Unless its model is decoupled it has its place among the answers now.
  void keep_order() noexcept {
    if (!decoupled_ && !place.keeps_order) stream_->keep_order(self());
  }
  /// Of a response without tensors, which is never too large and is reclaimed.
  void write_text(std::string_view error, std::string_view model_name, std::string_view version,
                  Response& response, Message* message) noexcept {
    V2StreamMessage text(error, model_name, version, infer_.request, response);
    (void)write_message(text, message).ok();
    infer_.reclaim(&response);
  }
  static void add_final_flag(Response& response, bool last) noexcept {
    Parameter& flag = response.parameters.add(response.arena());
    flag.key = "triton_final_response";
    flag.type = ParameterType::kBool;
    flag.bool_value = last;
  }

  /// Of models with one response a request.
  void on_single(Response* response, uint32_t flags) noexcept {
    if (!single_.add(infer_, response, flags)) return;
    // Clients of a stream get the first one of several, those of a unary call an error.
    uint32_t count = 0;
    if (Response* first = single_.take(&count)) {
      answer(*first, true);
    } else {
      answer_failure(Status(Code::kInternal, messages::not_single_response(count)), true);
    }
  }
  void on_decoupled(Response* response, uint32_t flags) noexcept {
    const bool last = (flags & kFinal) != 0;
    if (too_slow_) {
      if (response != nullptr) infer_.discard(response);
    } else if (response != nullptr) {
      answer(*response, last);
    } else if (last && received_.message().empty_final_response()) {
      Response* empty = infer_.new_response();
      Message message;
      add_final_flag(*empty, true);
      // A request that names no version gets none here either.
      const std::string_view version = received_.message().model_version().empty()
                                           ? std::string_view()
                                           : infer_.model->info().version_text;
      write_text({}, infer_.model->info().name, version, *empty, &message);
      (void)stream_->write(self(), &message, true, false);
    } else if (last) {
      stream_->answered(self());
    }
  }
  /// \param response  reclaimed
  void answer(Response& response, bool last) noexcept {
    const ModelInfo& info = infer_.model->info();
    Status status = std::move(response.error);
    if (status.ok()) status = infer_.regions.check();
    if (status.ok()) status = classify_outputs(info, infer_.request, response);
    Message message;
    if (status.ok()) {
      add_final_flag(response, last);
      V2StreamMessage from({}, info.name, info.version_text, infer_.request, response);
      status = from.total_bytes() > kMaxGrpcMessageBytes
                   ? Status(Code::kInvalidArgument, messages::response_too_large(from.total_bytes()))
                   : write_message(from, &message);
    }
    infer_.discard(&response);
    // What waits for the client is bounded by the stream, however many answers come.
    if (decoupled_) infer_.outputs.uncharge();
    if (!status.ok()) {
      answer_failure(status, last);
    } else if (stream_->write(self(), &message, last, decoupled_) == Stream::Push::kTooMuch) {
      answer_too_slow(last);
    }
  }
  /// The model or its scheduler failed.
  void answer_failure(const Status& failure, bool last) noexcept {
    const Status status = client_status(failure, stream_->deadline_ns(), frontend_.host.clock());
    if (stream_->ends_on_failure()) {
      stream_->shut_down(status.code(), std::string(status.message()));
      return;
    }
    Response* empty = infer_.new_response();
    Message message;
    add_final_flag(*empty, last);
    write_text(as_utf8(client_text(status)), received_.message().model_name(),
               received_.message().model_version(), *empty, &message);
    const bool bounded = decoupled_ && !too_slow_;
    if (stream_->write(self(), &message, last, bounded) == Stream::Push::kTooMuch) answer_too_slow(last);
  }
  /// Ends the request, whose model may go on answering for a while. \param is_last  it will not
  void answer_too_slow(bool is_last) noexcept {
    too_slow_ = true;
    const GrpcSettings& settings = frontend_.settings;
    answer_failure(make_status(Code::kResourceExhausted, messages::request_prefix(infer_.request.id),
                               "the client does not read the responses of model '", infer_.model->info().name,
                               "' as fast as they come: more than ", settings.max_response_pool_size,
                               " of them or ", settings.max_stream_backlog_bytes,
                               " bytes would wait to be written; the request was cancelled"),
                   true);
    if (!is_last) cancel();
  }

  Status parsed_;
  uint64_t uncounted_bytes_ = 0;
  int64_t read_start_ns_ = 0;
  int64_t read_end_ns_ = 0;
  SingleResponse single_;  ///< of a model that is not decoupled
  bool decoupled_ = false;
  bool too_slow_ = false;  ///< was ended because its answers are not read
  std::unique_ptr<V2RemoteStream> remote_;
  std::string remote_address_;
};

}  // namespace atl::frontends
