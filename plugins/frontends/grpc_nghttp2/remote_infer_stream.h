/// The part of a ModelStreamInfer call that another server answers, over nghttp2.
#pragma once

#include <cstdint>
#include <memory>

#include "atoll/request/cancellation.h"
#include "frontends/common/grpc/v2_remote_stream.h"
#include "frontends/grpc_nghttp2/call_thread.h"
#include "frontends/grpc_nghttp2/client/client_stream.h"
#include "frontends/grpc_nghttp2/forwarded_message.h"
#include "frontends/grpc_nghttp2/step.h"
#include "frontends/grpc_nghttp2/stream_answer.h"

namespace atl::frontends::grpc_nghttp2 {

/// [loop], but for what cancels it
class RemoteInferStream final : public V2RemoteStream, private ClientCall, private CancelListener {
 public:
  using Owner = RemoteStreamOwner<StreamMessage>;

  /// \param request       what goes before the messages; not used when this returns
  /// \param cancellation  ends the stream; not used when on_remote_end() is called
  /// \param encoding      of the answers as the client gets them
  RemoteInferStream(CallThread& thread, Owner& owner, const HostPort& server, const ClientRequest& request,
                    Cancellation& cancellation, MessageEncoding encoding);
  ~RemoteInferStream() override;

  void write(Message message) noexcept;
  // --- V2RemoteStream ---
  void end_writing() noexcept override;
  void resume_reading() noexcept override;

 private:
  /// Messages that the other server has not taken; also of those that are sent when the stream is no more.
  struct Backlog final : ForwardListener {
    virtual ~Backlog() = default;
    void on_forwarded() noexcept override;

    RemoteInferStream* stream = nullptr;  ///< null: it is no more
    uint32_t count = 0;
  };

  void on_cancel(void* context) noexcept override;
  void on_woken();
  // --- ClientCall ---
  void on_client_message(Message message) noexcept override;
  void on_client_end(ClientEnd end) noexcept override;

  void on_room() noexcept;
  void end(Status status) noexcept;
  void end_later(Status status) noexcept;
  void settle() noexcept;

  CallThread& thread_;
  Owner& owner_;
  Cancellation& cancellation_;
  const MessageEncoding encoding_;
  Step<RemoteInferStream> woken_{*this, &RemoteInferStream::on_woken};
  std::shared_ptr<ClientStream> call_;  ///< null: it has ended
  const std::shared_ptr<Backlog> backlog_ = std::make_shared<Backlog>();
  StreamMessage stalled_;  ///< waits for the client to read
  bool is_stalled_ = false;
  bool has_backlog_ = false;
  bool was_cancelled_ = false;  ///< written while the cancellation is listened to
  bool was_woken_ = false;
  bool is_ended_ = false;
  Status status_;
};

}  // namespace atl::frontends::grpc_nghttp2
