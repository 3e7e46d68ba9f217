/// What goes to a client on one session: frames as nghttp2 orders them, with fields and messages that it does not see.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <optional>
#include <span>

#include "frontends/grpc_nghttp2/transport/answer_blocks.h"
#include "frontends/grpc_nghttp2/transport/out_queue.h"

namespace atl::frontends::grpc_nghttp2 {

class CallStream;
class Session;

/// Part of its session.
class SessionOutput {
 public:
  /// \param session  has this
  explicit SessionOutput(Session& session) noexcept : session_(session) {}
  SessionOutput(const SessionOutput&) = delete;
  SessionOutput& operator=(const SessionOutput&) = delete;

  /// Has nghttp2 put its frames into the queue, as far as that is not full. \returns false: the session has failed
  bool write(OutQueue* to) noexcept;
  /// While write() runs: no more frames are to be made.
  bool is_full() const noexcept { return out_->is_full(); }

  // --- what nghttp2 writes; as its callbacks return ---
  int before_frame(const nghttp2_frame& frame);
  ssize_t on_send(std::span<const uint8_t> frame);
  /// Data that lie elsewhere. \param head  of their frame
  int on_send_data(const nghttp2_frame& frame, const uint8_t* head, size_t length, CallStream& stream);
  int on_frame_sent(const nghttp2_frame& frame);

 private:
  bool send_frame(std::span<const uint8_t> frame);
  bool send_headers(std::span<const uint8_t> frame);
  bool send_last_data(std::span<const uint8_t> frame);
  bool send_data_head(const uint8_t* head);
  bool send_end(CallStream& stream);
  int before_goaway(uint32_t error_code);
  void on_data_sent(const nghttp2_frame& frame);
  int on_reset_sent(const nghttp2_frame& frame);

  Session& session_;
  OutQueue* out_ = nullptr;  ///< while write() runs
  AnswerBlocks answers_;
  std::optional<MessageEncoding> answered_;  ///< of the answer whose first fields are to be written next
};

}  // namespace atl::frontends::grpc_nghttp2
