/// ModelInfer, whatever transport brings it: the way from a message to its model, and what is answered.
#pragma once

#include <string_view>
#include <utility>

#include "atoll/core/gate.h"
#include "frontends/common/call/call_path.h"
#include "frontends/common/call/model_version.h"
#include "frontends/common/call/output_memory.h"
#include "frontends/common/call/single_response.h"
#include "frontends/common/codec/classification.h"
#include "frontends/common/codec/v2_infer_request.h"
#include "frontends/common/codec/v2_infer_response.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/call_metadata.h"
#include "frontends/common/grpc/message_limit.h"
#include "frontends/common/grpc/remote_target.h"
#include "frontends/common/grpc/status_text.h"

namespace atl::frontends {

/// Whether gRPC could send an output of so many bytes. Errors: INVALID_ARGUMENT.
inline Status check_grpc_output(uint64_t size_bytes) noexcept {
  constexpr uint64_t kSpareBytes = 64;  // so little more is found when the message is written
  if (size_bytes <= kMaxGrpcMessageBytes + kSpareBytes) return {};
  return Status(Code::kInvalidArgument, messages::response_too_large(size_bytes));
}

/// The service's half of a unary ModelInfer: access, memory, reading, the way to the model, and what is answered. The
/// other half is the transport's call, which has this as a member, brings the message, and sends what it is given.
///
/// \tparam Received  the bytes of the request: uncounted_bytes(), open_small(), open(), parse(), version(), message(),
/// clear() and set_charge() as frontends/grpc's ReceivedMessage has them
/// \tparam Transport  the transport's call, which does for this, on its own thread where nothing else is said:
/// - `Status take_access(std::string_view* caller)`: as AccessCheck::take()
/// - `const Identity* identity()`: of who calls; null: there are no identities
/// - `CallReport* report()`: null: nobody records the call
/// - `const CallMetadata* metadata()`: what came before the message; null: the client has gone, and what it sent with it
/// - `int64_t deadline_ns()`: on the host's clock; 0: none
/// - `void begin_remote(const HostPort&)`: has another server answer, with the message's bytes as they are
/// - `void to_own_thread()` [any]: calls resume() there, soon
/// - `Status write(V2InferResponse&)` [any]: makes a message of the answer, whose large outputs are the transport's
///   from here on
/// - `void send()` [any]: sends what was written
/// - `void send_error(const Status&, uint32_t retry_after_ms)` [any]: 0: nothing is said of another try
/// - `void recycle()` [any]: all parts are done; calls reset(), and may begin() again
template <class Transport, class Received>
class V2UnaryCall final : private CallSteps, private ResponseReceiver {
 public:
  static constexpr uint32_t kTransportPart = InferContext::kTransportPart;

  /// \param transport  has this
  V2UnaryCall(GrpcCallContext& frontend, Transport& transport)
      : frontend_(frontend),
        transport_(transport),
        max_message_bytes_(static_cast<uint64_t>(frontend.settings.max_message_bytes)) {
    infer_.regions.set_source(*frontend.server.shared_memory, frontend.settings.copy_limit(),
                              frontend.server.device_memory.get());
    infer_.memory.set_source(*frontend.server.request_memory);
    received_.set_charge(infer_.memory);
  }
  virtual ~V2UnaryCall() = default;

  // --- the transport's call ---
  /// As those of InferContext.
  void begin(uint32_t transport_parts) noexcept { infer_.begin(transport_parts); }
  bool done(uint32_t part) noexcept { return infer_.done(part); }
  void trace(const char* name) noexcept { infer_.trace(name); }
  /// As those of CallPath.
  bool is_waiting() const noexcept { return path_.is_waiting(); }
  bool resume() noexcept { return path_.resume(); }
  /// Counts so many bytes more as this request's. Errors: as RequestCharge::add().
  Status charge(uint64_t bytes) noexcept { return infer_.memory.add(bytes); }

  /// Where the message's bytes belong.
  Received& received() noexcept { return received_; }
  /// For traces: since when the message was waited for, and when it had come. 0: requests are not traced
  void set_wait_start(int64_t time_ns) noexcept { wait_start_ns_ = time_ns; }
  void set_wait_end(int64_t time_ns) noexcept { wait_end_ns_ = time_ns; }
  /// It is known whether the call may be made, and its message is complete.
  void on_settled() noexcept {
    Status refusal = transport_.take_access(&infer_.request.caller);
    if (refusal.ok()) {
      pass_ = frontend_.calls.enter();
      if (!pass_) refusal = unavailable(messages::kGrpcShuttingDown);
    }
    if (refusal.ok()) refusal = charge(InferContext::kRequestBytes + received_.uncounted_bytes());
    if (!refusal.ok()) {
      received_.clear();
      path_.refuse(refusal);
      return;
    }
    Result<bool> read_here = read();
    if (!read_here.ok() || read_here.value()) find_model(std::move(read_here).status());
  }
  /// The client has gone.
  void cancel() noexcept { infer_.request.cancellation.cancel(); }
  /// The answer is an error: of the other server's, or of the way to it.
  void answer_error(const Status& status) noexcept {
    const int64_t read_ns = infer_.request.times.deadline_ns;
    const int64_t deadline_ns = read_ns != 0 ? read_ns : transport_.deadline_ns();
    transport_.send_error(client_status(status, deadline_ns, frontend_.host.clock()),
                          infer_.request.retry_after_ms);
  }
  /// Lets go of everything. \returns what the transport is to let go of last: with it the instance may be stopped
  Pass reset() noexcept {
    received_.clear();
    infer_.reset();
    return std::move(pass_);
  }

 private:
  // --- the way to the model ---
  /// Opens and parses the message. \returns false: that is done elsewhere, and find_model() goes on
  Result<bool> read() noexcept {
    Result<bool> opened = received_.open_small(max_message_bytes_);
    if (!opened.ok()) return infer_.memory.reason(std::move(opened).status());
    if (!opened.value()) return path_.read_elsewhere(*frontend_.large_work);
    ATOLL_RETURN_IF_ERROR(received_.parse(infer_.request.arena()));
    return true;
  }
  /// Has another server answer, if that has the model. \returns false: none has
  bool pass_on() noexcept {
    const CallMetadata* head = transport_.metadata();
    if (head == nullptr || infer_.request.cancellation.cancelled()) {
      return path_.refuse(Status(Code::kCancelled, {}));
    }
    Result<std::optional<HostPort>> found =
        remote_of_inference(frontend_.server, transport_.identity(), received_.message(),
                            head->first(RemoteModels::kLeaseHeader));
    if (!found.ok()) return path_.refuse(found.status());
    if (!found.value()) return false;
    transport_.begin_remote(*found.value());
    infer_.abandon();
    return true;
  }

  // --- CallSteps ---
  bool find_model(Status read) noexcept override {
    if (!read.ok()) return path_.refuse(read);
    infer_.request.times.deadline_ns = transport_.deadline_ns();
    if (CallReport* const report = transport_.report(); report != nullptr)
      report->set_model(received_.message().model_name(), received_.message().model_version());
    const Identity* const caller = transport_.identity();
    if (caller != nullptr) infer_.regions.set_owner(owner_of(caller));
    if (!may_use(caller, ApiCategory::kInference, received_.message().model_name())) {
      return path_.refuse_hidden(received_.message().model_name(),
                                 parse_model_version(received_.message().model_version()));
    }
    if (has_remote_models(frontend_.server) && pass_on()) return true;
    return path_.find({*frontend_.server.router, *frontend_.server.catalog, frontend_.host.registry()},
                      received_.message().model_name(), received_.version(frontend_.server));
  }
  Status read_large() noexcept override {
    ATOLL_RETURN_IF_ERROR(received_.open(max_message_bytes_));
    return received_.parse(infer_.request.arena());
  }
  Result<bool> parse_request() noexcept override {
    if (infer_.model->info().decoupled) return unimplemented(messages::kGrpcDecoupled);
    ATOLL_RETURN_IF_ERROR(infer_.memory.reason(
        received_.message().fill(infer_.request, infer_.regions, frontend_.settings.copy_limit())));
    return true;
  }
  Status read_head() noexcept override {
    const CallMetadata* head = transport_.metadata();
    if (head == nullptr) return Status(Code::kCancelled, {});
    ATOLL_RETURN_IF_ERROR(
        read_call_metadata(frontend_, *head, infer_.model->info(), transport_.identity(), infer_.request));
    infer_.trace("GRPC_WAITREAD_START", wait_start_ns_);
    infer_.trace("GRPC_WAITREAD_END", wait_end_ns_);
    return {};
  }
  void refuse(const Status& status) noexcept override { answer_error(status); }
  void to_own_thread() noexcept override { transport_.to_own_thread(); }

  // --- ResponseReceiver ---
  Status check_output(const OutputTensor&, uint64_t size_bytes) noexcept override {
    return check_grpc_output(size_bytes);
  }
  void on_response(Response* response, uint32_t flags) noexcept override {
    if (!single_.add(infer_, response, flags)) return;
    Result<Response*> only = single_.take_only(infer_);
    if (!only.ok()) return answer_error(only.status());
    const Status written = write(*only.value());
    infer_.outputs.drop(*only.value());
    if (written.ok()) {
      transport_.send();
    } else {
      answer_error(written);
    }
    infer_.reclaim(only.value());
  }
  /// Errors: why it cannot be sent.
  Status write(Response& response) noexcept {
    const ModelInfo& info = infer_.model->info();
    ATOLL_RETURN_IF_ERROR(infer_.regions.check());
    ATOLL_RETURN_IF_ERROR(classify_outputs(info, infer_.request, response));
    V2InferResponse message(info.name, info.version_text, infer_.request, response, kInlineBytes);
    if (message.total_bytes() > kMaxGrpcMessageBytes) {
      return Status(Code::kInvalidArgument, messages::response_too_large(message.total_bytes()));
    }
    return transport_.write(message);
  }
  void recycle() noexcept override { transport_.recycle(); }

  GrpcCallContext& frontend_;
  Transport& transport_;
  const uint64_t max_message_bytes_;
  InferContext infer_{*this};
  CallPath path_{infer_, *this};
  Received received_;
  Pass pass_;
  SingleResponse single_;
  int64_t wait_start_ns_ = 0;
  int64_t wait_end_ns_ = 0;
};

}  // namespace atl::frontends
