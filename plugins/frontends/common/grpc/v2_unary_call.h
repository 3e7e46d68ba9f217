/// ModelInfer, whatever transport brings it: the way from a message to its model, and what may be answered.
#pragma once

#include <string_view>
#include <utility>

#include "atoll/core/gate.h"
#include "frontends/common/call/output_memory.h"
#include "frontends/common/call/unary_infer_context.h"
#include "frontends/common/codec/classification.h"
#include "frontends/common/codec/v2_infer_request.h"
#include "frontends/common/codec/v2_infer_response.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/call_metadata.h"
#include "frontends/common/grpc/message_limit.h"
#include "frontends/common/grpc/remote_target.h"

namespace atl::frontends {

/// Whether gRPC could send an output of so many bytes. Errors: INVALID_ARGUMENT.
inline Status check_grpc_output(uint64_t size_bytes) noexcept {
  constexpr uint64_t kSpareBytes = 64;  // so little more is found when the message is written
  if (size_bytes <= kMaxGrpcMessageBytes + kSpareBytes) return {};
  return Status(Code::kInvalidArgument, messages::response_too_large(size_bytes));
}

/// \tparam Received  the bytes of the request: uncounted_bytes(), open_small(), open(), parse(), version(), message(),
/// clear() and set_charge() as frontends/grpc's ReceivedMessage has them
template <class Received>
class V2UnaryCall : public UnaryInferContext {
 protected:
  explicit V2UnaryCall(GrpcCallContext& frontend) : frontend_(frontend) {
    regions.set_source(*frontend.server.shared_memory, frontend.settings.copy_limit(),
                       frontend.server.device_memory.get());
    memory.set_source(*frontend.server.request_memory);
    received_.set_charge(memory);
  }
  ~V2UnaryCall() override = default;

  /// What came before the message. Null: the client has gone, and what it sent with it. [own thread]
  virtual const CallMetadata* metadata() const noexcept = 0;
  /// On the host's clock; 0: none.
  virtual int64_t deadline_ns() const noexcept = 0;
  /// Has another server answer, with the message's bytes as they are. [own thread]
  virtual void begin_remote(const HostPort& server) noexcept = 0;

  /// It is known whether the call may be made, and its message is complete.
  void on_settled() noexcept {
    Status refusal = take_access(&request.caller);
    if (refusal.ok()) {
      pass_ = frontend_.calls.enter();
      if (!pass_) refusal = unavailable(messages::kGrpcShuttingDown);
    }
    if (refusal.ok()) refusal = charge(kRequestBytes + received_.uncounted_bytes());
    if (!refusal.ok()) {
      received_.clear();
      refuse_call(refusal);
      return;
    }
    Result<bool> read_here = read();
    if (!read_here.ok() || read_here.value()) find(std::move(read_here).status());
  }
  /// As AccessCheck::take().
  virtual Status take_access(std::string_view* caller) noexcept = 0;

  // --- UnaryInferContext ---
  Status read_large() noexcept final {
    ATOLL_RETURN_IF_ERROR(received_.open(max_message_bytes()));
    return received_.parse(request.arena());
  }
  Result<bool> parse_request() noexcept final {
    if (model->info().decoupled) return unimplemented(messages::kGrpcDecoupled);
    ATOLL_RETURN_IF_ERROR(
        reason(received_.message().fill(request, regions, frontend_.settings.copy_limit())));
    return true;
  }
  Status read_head() noexcept final {
    if (metadata() == nullptr) return Status(Code::kCancelled, {});
    ATOLL_RETURN_IF_ERROR(read_call_metadata(frontend_, *metadata(), model->info(), request));
    trace("GRPC_WAITREAD_START", wait_start_ns_);
    trace("GRPC_WAITREAD_END", wait_end_ns_);
    return {};
  }
  Status check_output(const OutputTensor&, uint64_t size_bytes) noexcept final {
    return check_grpc_output(size_bytes);
  }
  /// Calls `write(message)`, which gives a status, with what is to be sent. Errors: why it cannot be.
  template <class Write>
  Status write_response(Response& response, Write write) noexcept {
    const ModelInfo& info = model->info();
    ATOLL_RETURN_IF_ERROR(regions.check());
    ATOLL_RETURN_IF_ERROR(classify_outputs(info, request, response));
    V2InferResponse message(info.name, info.version_text, request, response, kInlineBytes);
    if (message.total_bytes() > kMaxGrpcMessageBytes) {
      return Status(Code::kInvalidArgument, messages::response_too_large(message.total_bytes()));
    }
    return write(message);
  }

  GrpcCallContext& frontend_;
  Received received_;
  Pass pass_;
  int64_t wait_start_ns_ = 0;  ///< 0: requests are not traced
  int64_t wait_end_ns_ = 0;

 private:
  /// Has another server answer, if that has the model. \returns false: none has
  bool pass_on() noexcept {
    const CallMetadata* head = metadata();
    if (head == nullptr || request.cancellation.cancelled()) return refuse_call(Status(Code::kCancelled, {}));
    Result<std::optional<HostPort>> found =
        remote_of_inference(frontend_.server, received_.message(), head->first(RemoteModels::kLeaseHeader));
    if (!found.ok()) return refuse_call(found.status());
    if (!found.value()) return false;
    begin_remote(*found.value());
    abandon();
    return true;
  }
  uint64_t max_message_bytes() const noexcept {
    return static_cast<uint64_t>(frontend_.settings.max_message_bytes);
  }
  /// Opens and parses the message. \returns false: that is done elsewhere, and find() goes on
  Result<bool> read() noexcept {
    Result<bool> opened = received_.open_small(max_message_bytes());
    if (!opened.ok()) return reason(std::move(opened).status());
    if (!opened.value()) {
      return read_elsewhere(*frontend_.large_work, static_cast<Next>(&V2UnaryCall::find));
    }
    ATOLL_RETURN_IF_ERROR(received_.parse(request.arena()));
    return true;
  }
  /// The message is read, or cannot be.
  bool find(Status read) noexcept {
    if (!read.ok()) return refuse_call(read);
    request.times.deadline_ns = deadline_ns();
    if (has_remote_models(frontend_.server) && pass_on()) return true;
    return begin_call({*frontend_.server.router, *frontend_.server.catalog, frontend_.host.registry()},
                      received_.message().model_name(), received_.version(frontend_.server));
  }
};

}  // namespace atl::frontends
