/// One ModelStreamInfer call over nghttp2.
///
/// Requests are read, and answers given to the transport, on the connection's thread. Whoever answers on another
/// one posts the stream, once for all that was answered meanwhile.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "frontends/common/grpc/v2_infer_stream.h"
#include "frontends/grpc_nghttp2/call_access.h"
#include "frontends/grpc_nghttp2/step.h"
#include "frontends/grpc_nghttp2/stream_answer.h"
#include "frontends/grpc_nghttp2/stream_request.h"

namespace atl::frontends::grpc_nghttp2 {

/// Its thread's list owns it.
class InferStream final : public V2InferStream<StreamRequest, StreamMessage>, public Call {
 public:
  static void begin_call(CallThread& thread, CallStream& stream);

  InferStream(CallThread& thread, CallStream& stream);
  ~InferStream() override = default;

  // --- Call ---
  void on_message(Message message) noexcept override;
  void on_half_close() noexcept override;
  void on_gone() noexcept override;

  // --- StreamAnswer; [loop] ---
  void on_written() noexcept;

  MessageEncoding encoding() const noexcept { return encoding_; }
  /// Only while metadata() is there.
  const HeaderList& headers() const noexcept { return stream_->metadata(); }
  const CallMetadata* metadata() const noexcept override {
    return stream_ == nullptr ? nullptr : &*metadata_;
  }

 private:
  void on_settled();
  void on_settle_posted();
  void on_read_posted();
  // --- V2InferStream ---
  void settle(Lock lock) noexcept override;
  void settle_here(Lock lock) noexcept;
  void keep(std::unique_ptr<StreamAnswer> written) noexcept;

  CallThread& thread_;
  Step<InferStream> settled_{*this, &InferStream::on_settled};
  Step<InferStream> settle_{*this, &InferStream::on_settle_posted};
  Step<InferStream> read_{*this, &InferStream::on_read_posted};
  CallStream* stream_;  ///< null: the client has gone, or has its end
  std::optional<StreamMetadata> metadata_;
  CallAccess access_;
  CallTicket ticket_;
  const MessageEncoding encoding_;         ///< of answers
  std::shared_ptr<V2InferStream> posted_;  ///< this, while it is on its way to the loop; under the lock
  std::shared_ptr<V2InferStream> reads_;   ///< this, while it is about to read; [loop]
  bool is_asking_ = false;                 ///< whether the call may be made; [loop]
  bool is_over_ = false;                   ///< [loop]
};

}  // namespace atl::frontends::grpc_nghttp2
