/// One request of a ModelStreamInfer call.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "atoll/gate.h"
#include "atoll/remote_models.h"
#include "frontends/common/infer_context.h"
#include "frontends/common/single_response.h"
#include "frontends/common/stream/stream_rules.h"
#include "frontends/grpc/event.h"
#include "frontends/grpc/infer_queue.h"
#include "frontends/grpc/received_message.h"
#include "frontends/grpc/remote_stream.h"
#include "frontends/grpc/wake_up.h"

namespace atl::frontends::grpc_frontend {

class InferStream;

/// In use until its last answer is written or dropped, its model is done with it and run() has returned.
class StreamRequest final : public InferContext, private RemoteStreamOwner {
 public:
  /// A context of the pool or a new one; its message's bytes are taken.
  static StreamRequest& start(InferStream& stream, grpc::ByteBuffer* received, int64_t read_start_ns,
                              int64_t read_end_ns);

  explicit StreamRequest(InferQueue& queue);
  ~StreamRequest() override = default;

  /// Reads the message and hands the request over, or answers why not. It may be gone afterwards. [queue's
  /// thread]
  void run() noexcept;

  // --- for its stream ---
  /// The last answer is written or dropped. It may be gone afterwards.
  void written() noexcept { done(kWritePart); }
  void cancel() noexcept { request.cancellation.cancel(); }
  void mark(const char* name) noexcept { trace(name); }
  // Of the first request that goes to another server: it stands for all of the stream that this server answers. [queue's
  // thread]
  bool is_remote() const noexcept { return remote_ != nullptr; }
  RemoteStream& remote() noexcept { return *remote_; }
  void begin_remote(const HostPort& server) noexcept;

  StreamRules<StreamRequest, grpc::ByteBuffer>::Place place;  ///< under its stream's lock

 private:
  enum TransportPart : uint32_t { kWritePart = kTransportPart, kRunPart = kTransportPart * 2 };

  void on_woken(bool ok);
  void parse() noexcept;
  /// The message is opened and parsed, or can not be opened.
  bool find(Status opened) noexcept;
  /// Has another server answer. \returns as find(): false: this object is in use until that has answered all
  bool pass_on(const RemoteServer& server) noexcept;
  // --- RemoteStreamOwner ---
  bool on_remote_answer(grpc::ByteBuffer* answer) noexcept override;
  void on_remote_backlog() noexcept override;
  void on_remote_room() noexcept override;
  void on_remote_end(const grpc::Status& status) noexcept override;

  /// It was handed over or refused. It may be gone afterwards.
  void ran() noexcept;
  /// Unless its model is decoupled it has its place among the answers now.
  void keep_order() noexcept;
  /// Of models with one response a request.
  void on_single(Response* response, uint32_t flags) noexcept;
  void on_decoupled(Response* response, uint32_t flags) noexcept;
  /// \param response  reclaimed
  void answer(Response& response, bool last) noexcept;
  /// The model or its scheduler failed.
  void answer_failure(const Status& status, bool last) noexcept;
  /// Ends the request, whose model may go on answering for a while. \param is_last  it will not
  void answer_too_slow(bool is_last) noexcept;

  // --- InferContext ---
  Status read_large() noexcept override;
  Result<bool> parse_request() noexcept override;
  Status read_head() noexcept override;
  void refuse(const Status& status) noexcept override;
  void to_own_thread() noexcept override { wake_up_.send(*queue_.queue, woken_); }
  Status check_output(const OutputTensor& output, uint64_t size_bytes) noexcept override;
  void on_response(Response* response, uint32_t flags) noexcept override;
  void recycle() noexcept override;
  void about_to_wait() noexcept override;

  InferQueue& queue_;
  Step<StreamRequest> woken_{this, &StreamRequest::on_woken};
  WakeUp wake_up_;      ///< brings a request that waited back to its thread
  bool holds_ = false;  ///< the stream, so that requests behind this one wait
  Status parsed_;
  int64_t read_start_ns_ = 0;
  int64_t read_end_ns_ = 0;
  InferStream* stream_ = nullptr;
  std::unique_ptr<RemoteStream> remote_;
  std::string remote_address_;
  ReceivedMessage received_;
  Pass pass_;
  SingleResponse single_;  ///< of a model that is not decoupled
  bool decoupled_ = false;
  bool too_slow_ = false;  ///< was ended because its answers are not read
};

}  // namespace atl::frontends::grpc_frontend
