/// One request of a ModelStreamInfer call.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "atoll/gate.h"
#include "common/infer_context.h"
#include "event.h"
#include "infer_queue.h"
#include "received_message.h"
#include "wake_up.h"

namespace atl::frontends::grpc_frontend {

class InferStream;

/// In use until its last answer is written or dropped, its model is done with it and run() has returned.
class StreamRequest final : public InferContext {
 public:
  /// A context of the pool or a new one; its message's bytes are taken.
  static StreamRequest& start(InferStream& stream, grpc::ByteBuffer* received);

  explicit StreamRequest(InferQueue& queue);
  ~StreamRequest() override = default;

  /// Reads the message and hands the request over, or answers why not. It may be gone afterwards. [queue's
  /// thread]
  void run(int64_t read_start_ns, int64_t read_end_ns) noexcept;

  // --- for its stream ---
  /// The last answer is written or dropped. It may be gone afterwards.
  void written() noexcept { done(kWritePart); }
  void cancel() noexcept { request.cancellation.cancel(); }
  void mark(const char* name) noexcept { trace(name); }

  /// Its stream's; under the stream's lock.
  struct Place {
    StreamRequest* previous = nullptr;
    StreamRequest* next = nullptr;
    StreamRequest* next_ordered = nullptr;
    grpc::ByteBuffer held;  ///< an answer whose turn has not come
    uint64_t held_bytes = 0;
    uint64_t received_bytes = 0;
    uint32_t unwritten = 0;  ///< answers
    bool keeps_order = false;
    bool is_held = false;
    bool is_answered = false;
  } place;

 private:
  enum TransportPart : uint32_t { kWritePart = kTransportPart, kRunPart = kTransportPart * 2 };

  void on_woken(bool ok);
  void parse() noexcept;
  /// [large work]
  void read_large() noexcept;
  /// The message is opened and parsed, or can not be opened: finds the model, then as go_on().
  void look_up(const Status& opened) noexcept;
  /// Finds the model. \returns false: it waits for that
  Result<bool> find() noexcept;
  /// The model is there, or will not be. It may be gone afterwards.
  void go_on(Status status) noexcept;
  Status prepare() noexcept;
  /// Of models with one response a request.
  void on_single(Response* response, uint32_t flags) noexcept;
  void on_decoupled(Response* response, uint32_t flags) noexcept;
  /// \param response  reclaimed
  void answer(Response& response, bool last) noexcept;
  /// The model or its scheduler failed.
  void answer_failure(const Status& status, bool last) noexcept;
  /// The request did not reach its model.
  void answer_refusal(const Status& status) noexcept;
  /// Ends the request, whose model may go on answering for a while. \param is_last  it will not
  void answer_too_slow(bool is_last) noexcept;

  // --- InferContext ---
  Status allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept override;
  void drop_output(OutputTensor& output) noexcept override;
  void on_response(Response* response, uint32_t flags) noexcept override;
  void recycle() noexcept override;
  void about_to_wait() noexcept override;
  void model_came(Status status) noexcept override;

  InferQueue& queue_;
  Step<StreamRequest> woken_{this, &StreamRequest::on_woken};
  WakeUp wake_up_;        ///< brings a request that waited for its model back to its thread
  Status came_;           ///< how that, or opening the message elsewhere, ended
  bool reading_ = false;  ///< it is the opening
  bool holds_ = false;    ///< the stream, so that requests behind this one wait
  Status parsed_;
  int64_t read_start_ns_ = 0;
  int64_t read_end_ns_ = 0;
  InferStream* stream_ = nullptr;
  ReceivedMessage received_;
  Pass pass_;
  Response* kept_ = nullptr;   ///< the first response of a model that is not decoupled
  uint64_t output_bytes_ = 0;  ///< charged for outputs, of a decoupled model since its last answer
  bool decoupled_ = false;
  bool too_slow_ = false;  ///< was ended because its answers are not read
};

}  // namespace atl::frontends::grpc_frontend
