/// ModelInfer, whatever transport brings it: the way from a message to its model, and what may be answered.
#pragma once

#include <string_view>
#include <utility>

#include "atoll/core/gate.h"
#include "frontends/common/call/call_path.h"
#include "frontends/common/call/output_memory.h"
#include "frontends/common/call/single_response.h"
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
class V2UnaryCall : private CallSteps, private ResponseReceiver {
 protected:
  explicit V2UnaryCall(GrpcCallContext& frontend) : frontend_(frontend) {
    infer_.regions.set_source(*frontend.server.shared_memory, frontend.settings.copy_limit(),
                              frontend.server.device_memory.get());
    infer_.memory.set_source(*frontend.server.request_memory);
    received_.set_charge(infer_.memory);
  }
  virtual ~V2UnaryCall() = default;

  /// What came before the message. Null: the client has gone, and what it sent with it. [own thread]
  virtual const CallMetadata* metadata() const noexcept = 0;
  /// On the host's clock; 0: none.
  virtual int64_t deadline_ns() const noexcept = 0;
  /// Has another server answer, with the message's bytes as they are. [own thread]
  virtual void begin_remote(const HostPort& server) noexcept = 0;

  /// It is known whether the call may be made, and its message is complete.
  void on_settled() noexcept {
    Status refusal = take_access(&infer_.request.caller);
    if (refusal.ok()) {
      pass_ = frontend_.calls.enter();
      if (!pass_) refusal = unavailable(messages::kGrpcShuttingDown);
    }
    if (refusal.ok()) {
      refusal = infer_.memory.add(InferContext::kRequestBytes + received_.uncounted_bytes());
    }
    if (!refusal.ok()) {
      received_.clear();
      path_.refuse(refusal);
      return;
    }
    Result<bool> read_here = read();
    if (!read_here.ok() || read_here.value()) find_model(std::move(read_here).status());
  }
  /// As AccessCheck::take().
  virtual Status take_access(std::string_view* caller) noexcept = 0;
  /// Writes the answer, which has no error; it is reclaimed afterwards. The memory of large outputs is the
  /// writer's from here on.
  virtual void answer(Response& response) noexcept = 0;
  virtual void answer_error(const Status& status) noexcept = 0;
  /// Calls `write(message)`, which gives a status, with what is to be sent. Errors: why it cannot be.
  template <class Write>
  Status write_response(Response& response, Write write) noexcept {
    const ModelInfo& info = infer_.model->info();
    ATOLL_RETURN_IF_ERROR(infer_.regions.check());
    ATOLL_RETURN_IF_ERROR(classify_outputs(info, infer_.request, response));
    V2InferResponse message(info.name, info.version_text, infer_.request, response, kInlineBytes);
    if (message.total_bytes() > kMaxGrpcMessageBytes) {
      return Status(Code::kInvalidArgument, messages::response_too_large(message.total_bytes()));
    }
    return write(message);
  }

  GrpcCallContext& frontend_;
  InferContext infer_{*this};
  CallPath path_{infer_, *this};
  Received received_;
  Pass pass_;
  int64_t wait_start_ns_ = 0;  ///< 0: requests are not traced
  int64_t wait_end_ns_ = 0;

 private:
  /// Has another server answer, if that has the model. \returns false: none has
  bool pass_on() noexcept {
    const CallMetadata* head = metadata();
    if (head == nullptr || infer_.request.cancellation.cancelled())
      return path_.refuse(Status(Code::kCancelled, {}));
    Result<std::optional<HostPort>> found =
        remote_of_inference(frontend_.server, received_.message(), head->first(RemoteModels::kLeaseHeader));
    if (!found.ok()) return path_.refuse(found.status());
    if (!found.value()) return false;
    begin_remote(*found.value());
    infer_.abandon();
    return true;
  }
  uint64_t max_message_bytes() const noexcept {
    return static_cast<uint64_t>(frontend_.settings.max_message_bytes);
  }
  /// Opens and parses the message. \returns false: that is done elsewhere, and find_model() goes on
  Result<bool> read() noexcept {
    Result<bool> opened = received_.open_small(max_message_bytes());
    if (!opened.ok()) return infer_.memory.reason(std::move(opened).status());
    if (!opened.value()) return path_.read_elsewhere(*frontend_.large_work);
    ATOLL_RETURN_IF_ERROR(received_.parse(infer_.request.arena()));
    return true;
  }

  // --- CallSteps ---
  bool find_model(Status read) noexcept final {
    if (!read.ok()) return path_.refuse(read);
    infer_.request.times.deadline_ns = deadline_ns();
    if (has_remote_models(frontend_.server) && pass_on()) return true;
    return path_.find({*frontend_.server.router, *frontend_.server.catalog, frontend_.host.registry()},
                      received_.message().model_name(), received_.version(frontend_.server));
  }
  Status read_large() noexcept final {
    ATOLL_RETURN_IF_ERROR(received_.open(max_message_bytes()));
    return received_.parse(infer_.request.arena());
  }
  Result<bool> parse_request() noexcept final {
    if (infer_.model->info().decoupled) return unimplemented(messages::kGrpcDecoupled);
    ATOLL_RETURN_IF_ERROR(infer_.memory.reason(
        received_.message().fill(infer_.request, infer_.regions, frontend_.settings.copy_limit())));
    return true;
  }
  Status read_head() noexcept final {
    if (metadata() == nullptr) return Status(Code::kCancelled, {});
    ATOLL_RETURN_IF_ERROR(read_call_metadata(frontend_, *metadata(), infer_.model->info(), infer_.request));
    infer_.trace("GRPC_WAITREAD_START", wait_start_ns_);
    infer_.trace("GRPC_WAITREAD_END", wait_end_ns_);
    return {};
  }
  void refuse(const Status& status) noexcept final { answer_error(status); }

  // --- ResponseReceiver ---
  Status check_output(const OutputTensor&, uint64_t size_bytes) noexcept final {
    return check_grpc_output(size_bytes);
  }
  void on_response(Response* response, uint32_t flags) noexcept final {
    if (!single_.add(infer_, response, flags)) return;
    Result<Response*> only = single_.take_only(infer_);
    if (!only.ok()) return answer_error(only.status());
    answer(*only.value());
    infer_.reclaim(only.value());
  }

  SingleResponse single_;
};

}  // namespace atl::frontends
