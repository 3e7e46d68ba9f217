/// The transport's half of one ModelInfer call: the stream that it came on, and the message that goes out. The other
/// half, from reading the request to what is answered, is the V2UnaryCall that it has.
///
/// The request's tensors are read where the socket was read into, or in the one buffer that a large message was
/// received into. Large output tensors are sent from the memory that the backend filled.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "frontends/common/call/post_list.h"
#include "frontends/common/grpc/v2_unary_call.h"
#include "frontends/grpc_nghttp2/call_access.h"
#include "frontends/grpc_nghttp2/received_bytes.h"
#include "frontends/grpc_nghttp2/tensor_message.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"

namespace atl::frontends::grpc_nghttp2 {

/// Taken from its thread's pool and given back to it. Its answer is made on the thread that has it; everything
/// about its stream happens on the loop's.
class InferCall final : public Call, private ClientCall, private Posted, private TensorMessage {
 public:
  static void begin(CallThread& thread, CallStream& stream, Message message);

  explicit InferCall(CallThread& thread);
  virtual ~InferCall();

  // --- Call ---
  void on_gone() noexcept override;

 private:
  using ServiceCall = V2UnaryCall<InferCall, ReceivedBytes>;
  friend ServiceCall;
  enum Part : uint32_t {
    kStreamPart = ServiceCall::kTransportPart,     ///< the stream needs nothing of this any more
    kAnswerPart = ServiceCall::kTransportPart * 2  ///< the answer is given to the stream, or dropped
  };

  void run(CallStream& stream, Message message);
  // --- TensorMessage ---
  void on_sent() noexcept override;
  // --- Posted: may be made, goes on after a wait, has its answer, or is over ---
  void on_posted() noexcept override;

  // --- ClientCall: another server answers ---
  void on_client_message(Message message) noexcept override;
  void on_client_end(ClientEnd end) noexcept override;

  // --- what V2UnaryCall wants of its transport ---
  Status take_access(std::string_view* caller) noexcept { return access_.take(caller); }
  const Identity* identity() const noexcept { return identity_of(access_.identity()); }
  CallReport* report() const noexcept { return access_.report(); }
  const CallMetadata* metadata() const noexcept { return stream_ == nullptr ? nullptr : &*metadata_; }
  int64_t deadline_ns() const noexcept { return deadline_ns_; }
  void begin_remote(const HostPort& server) noexcept;
  void to_own_thread() noexcept { thread_.loop.post(*this); }
  Status write(V2InferResponse& message) noexcept { return TensorMessage::write(message, encoding_); }
  void send() noexcept { end_with(0, {}); }
  void send_error(const Status& status, uint32_t retry_after_ms) noexcept;
  void recycle() noexcept;

  /// It is known how the call ends: its stream hears of it, on the loop's thread.
  /// \param code  0: the message that was written is the answer
  void end_with(int code, std::string_view text) noexcept;
  void end_stream() noexcept;
  void rest() noexcept;

  CallThread& thread_;
  ServiceCall service_;

  // Of the loop's thread.
  CallStream* stream_ = nullptr;  ///< null: the client has gone, or has its answer
  std::optional<StreamMetadata> metadata_;
  int64_t deadline_ns_ = 0;
  MessageEncoding encoding_ = MessageEncoding::kIdentity;  ///< of the answer
  CallAccess access_;
  CallTicket ticket_;
  std::shared_ptr<ClientStream> remote_;  ///< null: this server answers
  std::optional<Message> remote_answer_;

  enum class Stage : uint32_t { kSettle, kAnswer, kRest };
  Stage stage_ = Stage::kSettle;  ///< what it is posted for, if it does not wait

  // How it ends: known on the thread that has the answer.
  int code_ = 0;
  std::string text_;
  uint32_t retry_after_ms_ = 0;
  Pass pass_;  ///< of a call that is over
};

}  // namespace atl::frontends::grpc_nghttp2
