/// One ModelInfer call, from the message that came to the one that goes out.
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
class InferCall final : public V2UnaryCall<ReceivedBytes>,
                        public Call,
                        private ClientCall,
                        private Posted,
                        private TensorMessage {
 public:
  static void begin(CallThread& thread, CallStream& stream, Message message);

  explicit InferCall(CallThread& thread);
  ~InferCall() override;

  // --- Call ---
  void on_gone() noexcept override;

 private:
  enum TransportPart : uint32_t {
    kStreamPart = InferContext::kTransportPart,     ///< the stream needs nothing of this any more
    kAnswerPart = InferContext::kTransportPart * 2  ///< the answer is given to the stream, or dropped
  };

  void run(CallStream& stream, Message message);
  // --- TensorMessage ---
  void on_sent() noexcept override;
  // --- Posted: may be made, goes on after a wait, has its answer, or is over ---
  void on_posted() noexcept override;

  // --- ClientCall: another server answers ---
  void on_client_message(Message message) noexcept override;
  void on_client_end(ClientEnd end) noexcept override;

  /// The answer is there: to the stream with it. [any]
  void deliver() noexcept;
  void send_answer() noexcept;
  void rest() noexcept;

  // --- V2UnaryCall ---
  const CallMetadata* metadata() const noexcept override {
    return stream_ == nullptr ? nullptr : &*metadata_;
  }
  int64_t deadline_ns() const noexcept override { return deadline_ns_; }
  Status take_access(std::string_view* caller) noexcept override { return access_.take(caller); }
  void begin_remote(const HostPort& server) noexcept override;
  void to_own_thread() noexcept override { thread_.loop.post(*this); }
  void answer(Response& response) noexcept override;
  void answer_error(const Status& status) noexcept override;
  void recycle() noexcept override;

  CallThread& thread_;

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

  // The answer: made on the thread that has it.
  int code_ = 0;
  std::string text_;
};

}  // namespace atl::frontends::grpc_nghttp2
