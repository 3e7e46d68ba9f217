/// The answer to one request, from its head to its last byte in the socket.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/common/http/client/client_bytes.h"
#include "frontends/common/http/reply_head.h"
#include "frontends/common/http/request_head.h"
#include "frontends/common/http/streamed_body.h"

namespace atl::frontends::http {

/// One answer after the other of one connection. Use: start() for each request; begin(), or begin_stream(), when its
/// answer is known; send() whenever the socket takes something. Not thread safe.
class AnswerWriter {
 public:
  /// A request is there, whose head may be gone when it is answered. \param keeps_alive  as far as its head says
  void start(const RequestHead& head, bool keeps_alive) noexcept;
  /// Whether the connection goes on after the present answer.
  bool keeps_alive() const noexcept { return keeps_alive_; }
  void stop_keeping_alive() noexcept { keeps_alive_ = false; }

  // --- before the answer ---
  /// Asks the client for the body of its request. False: the socket does not take it.
  bool send_continue(ClientBytes& to) noexcept;
  /// Asks a client that has ended its sending side whether it still reads, once for each request. Whoever has closed
  /// the whole connection answers this with a reset. False: the socket does not take it.
  bool probe(ClientBytes& to) noexcept;

  // --- the answer ---
  /// \param lines  complete header lines behind the head's own \param framing  kUntilClosed: the connection does not go on
  void begin(const ReplyHead& head, std::string_view lines, Framing framing);
  /// How the end of a stream's body is told.
  Framing stream_framing() const noexcept {
    return version_ == 11 ? Framing::kChunked : Framing::kUntilClosed;
  }
  /// The same for a body of any length, which stream() is given.
  void begin_stream(const ReplyHead& head, std::string_view lines);
  /// It was begun and has not ended.
  bool has_begun() const noexcept { return has_begun_; }
  /// \param body  unchanged until it is written
  void add(std::span<const iovec> body);
  void add_text(std::string body);
  void stream(std::string bytes) { body_.add(std::move(bytes)); }
  void end_stream() noexcept { body_.end(); }
  bool is_streaming() const noexcept { return is_streaming_; }
  void end() noexcept { has_begun_ = is_streaming_ = false; }

  // --- the socket ---
  enum class Sent { kAll, kBlocked, kBroken };
  /// Gives the socket what there is. \param bytes  that it took are added
  Sent send(ClientBytes& to, size_t* bytes) noexcept;
  /// The socket takes no more now.
  bool is_blocked() const noexcept { return is_blocked_; }
  void unblock() noexcept { is_blocked_ = false; }
  enum class Next { kParts, kNothingYet, kEnd };
  /// When all of a stream that was there is sent: what is next. kParts: send() is owed.
  Next next_of_stream();
  /// Of the stream's body, in what was sent; told once.
  size_t take_streamed_bytes() noexcept { return body_.take_batch_bytes(); }

 private:
  int version_ = 11;      ///< of the present request
  bool no_body_ = false;  ///< the present answer is to HEAD
  bool keeps_alive_ = true;
  bool was_probed_ = false;
  size_t sent_ahead_ = 0;  ///< bytes of the answer's head that the probe was
  bool has_begun_ = false;
  bool is_streaming_ = false;
  bool is_blocked_ = false;
  std::string head_;
  std::string text_;
  std::vector<iovec> parts_;
  size_t part_ = 0;  ///< first one that is not written entirely
  StreamedBody body_;
};

}  // namespace atl::frontends::http
