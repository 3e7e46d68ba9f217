/// What goes back to the client of one call: messages, then how it ended.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/grpc_nghttp2/transport/call/message_queue.h"
#include "frontends/grpc_nghttp2/transport/frames/message_encoding.h"
#include "frontends/grpc_nghttp2/transport/stall_watch.h"

namespace atl::frontends::grpc_nghttp2 {

class CallStream;

/// Part of its stream, on the connection's thread. nghttp2 asks it for the data of frames, in its own order of all
/// calls.
class AnswerWriter {
 public:
  /// \param stream  has this
  explicit AnswerWriter(CallStream& stream) noexcept : stream_(stream) {}
  AnswerWriter(const AnswerWriter&) = delete;
  AnswerWriter& operator=(const AnswerWriter&) = delete;

  // --- the call ---
  /// How messages of the answer may be compressed. Before the first one.
  void set_encoding(MessageEncoding encoding) noexcept { encoding_ = encoding; }
  /// Before CallStream::finish(). \param name  in lower case \param value  any bytes, if the name ends with "-bin"
  void add_trailer(std::string_view name, std::string_view value);

  // --- the stream ---
  void send(OutgoingMessage& message) noexcept;
  /// The next message is the last of all, and the call is OK.
  void end() noexcept { ended_ = true; }
  /// \param code  of gRPC \param text  as it is; it becomes percent codes here
  /// \param names_encodings  the client is told which ones there are, if it is told anything but the end
  void finish(int code, std::string_view text, bool names_encodings) noexcept;
  /// What is not in frames yet is not sent.
  void drop() noexcept { messages_.drop(); }
  /// The stream is reset.
  void cancel() noexcept;
  /// By the call or for it: nothing is added any more.
  bool has_ended() const noexcept { return ended_; }
  /// \param most  calls of this without progress that an answer survives
  bool is_stalled(uint32_t most) noexcept {
    return sending_.is_stalled(!messages_.empty(), messages_.progress_bytes(), most);
  }
  /// The stream is no more. Ready for the next one then.
  void clear() noexcept;

  // --- the session ---
  MessageEncoding encoding() const noexcept { return encoding_; }
  /// Part of a message waits to be sent.
  bool has_unsent() const noexcept { return !messages_.empty(); }
  /// The next message is written from where it lies.
  bool sends_large() const noexcept { return messages_.sends_large(); }
  /// A frame's data. \returns as nghttp2's callback
  ssize_t read_data(uint8_t* to, size_t length, uint32_t* flags) noexcept;
  /// Puts the data of a frame that was not copied into the queue.
  void take_data(size_t length, OutQueue* to) { messages_.take(length, to); }
  /// Of an answer that has ended.
  int code() const noexcept { return code_; }

 private:
  void submit() noexcept;
  void submit_headers_only(bool names_encodings) noexcept;
  /// The fields that say how it ended.
  void add_end(std::vector<nghttp2_nv>* fields) const;

  CallStream& stream_;
  MessageQueue messages_;
  MessageEncoding encoding_ = MessageEncoding::kIdentity;
  StallWatch sending_;
  bool submitted_ = false;
  bool deferred_ = false;  ///< nghttp2 does not ask for data before it hears that there are more
  bool ended_ = false;
  int code_ = 0;
  std::string text_;
  std::vector<std::pair<std::string, std::string>> trailers_;
};

}  // namespace atl::frontends::grpc_nghttp2
