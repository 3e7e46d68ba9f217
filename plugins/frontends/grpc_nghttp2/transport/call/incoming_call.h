/// What a client sends of one call: its headers, then its messages, and who is told of them.
#pragma once

#include <cstdint>
#include <span>

#include "frontends/grpc_nghttp2/transport/call/call_memory.h"
#include "frontends/grpc_nghttp2/transport/call/incoming_head.h"
#include "frontends/grpc_nghttp2/transport/call/unread_bytes.h"
#include "frontends/grpc_nghttp2/transport/frames/length_scanner.h"
#include "frontends/grpc_nghttp2/transport/frames/message_reader.h"
#include "frontends/grpc_nghttp2/transport/stall_watch.h"

namespace atl::frontends::grpc_nghttp2 {

class CallStream;

/// Part of its stream, on the connection's thread. A method of one message begins when that is here; one of several
/// begins with the headers and asks for each message. What cannot be read ends the stream with an error.
class IncomingCall {
 public:
  /// \param stream  has this
  explicit IncomingCall(CallStream& stream) noexcept : stream_(stream) {}
  IncomingCall(const IncomingCall&) = delete;
  IncomingCall& operator=(const IncomingCall&) = delete;

  // --- the call ---
  void attach(Call& call) noexcept { call_ = &call; }
  void read_next() noexcept;
  bool is_reading() const noexcept { return is_reading_; }

  // --- the session: what came ---
  IncomingHead& head() noexcept { return head_; }
  const IncomingHead& head() const noexcept { return head_; }
  /// The headers are complete. \returns false: the call is not to be run, head() says why
  bool on_headers() noexcept;
  void on_data(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  /// The client sends nothing more.
  void on_remote_end() noexcept;
  bool remote_ended() const noexcept { return remote_ended_; }
  /// A message of it has come whole, and was taken.
  bool has_whole_message() const noexcept { return has_message_; }
  /// It is reset for what its client did before; that the client resets it, too, is no further news.
  void refuse() noexcept { has_message_ = true; }
  /// Where the next data of a large message go.
  MessageRoom message_room() noexcept;
  /// Where so many of several messages have ended in the next data; 0: not before the last byte.
  size_t messages_end(size_t count, std::span<const uint8_t> data) const noexcept {
    return head_.reads_several() ? arrived_.end_of(count, data) : 0;
  }
  /// \param most  calls of this without progress that a message survives
  bool is_stalled(uint32_t most) noexcept;

  // --- the stream ---
  /// The method is told of its call.
  void begin_method(Message message) noexcept;
  /// The call, if there is one that has not ended, hears that its client has gone.
  void let_go() noexcept;
  /// The call has ended: nothing is read any more.
  void stop() noexcept;
  /// The stream is no more. Ready for the next one then.
  void clear() noexcept;

 private:
  MessageLimits limits() const noexcept;
  /// Errors: as CallMemory::hold().
  Status hold_message() noexcept;
  void on_whole_message() noexcept;
  void read_messages(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  /// \returns what is left because no message is wanted now
  std::span<const uint8_t> take_messages(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  void fail(const Status& status) noexcept;

  CallStream& stream_;
  Call* call_ = nullptr;
  IncomingHead head_;
  CallMemory memory_;
  bool begun_ = false;  ///< the method was told
  bool remote_ended_ = false;
  bool has_message_ = false;  ///< a whole one was taken
  MessageReader reader_;
  uint64_t received_bytes_ = 0;  ///< of data, about
  StallWatch receiving_;

  // Of methods with several messages.
  bool wants_next_ = false;
  bool is_reading_ = false;
  LengthScanner<MessageReader::kPrefixBytes, 1, 4> arrived_;  ///< messages, read or not
  UnreadBytes unread_;
};

}  // namespace atl::frontends::grpc_nghttp2
