/// One call and the connection it came on, as they see each other. Everything here runs on the connection's
/// thread.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "frontends/common/call/body_buffer.h"
#include "frontends/common/call/request_charge.h"
#include "frontends/common/http/reply_head.h"
#include "frontends/common/http/request_head.h"

namespace atl::frontends::http {

/// Bodies up to this size are not counted as memory of requests before they are complete: what connections
/// keep for reading is as much.
inline constexpr size_t kUncountedBodyBytes = 16 * 1024;

/// The way back to the client. A call answers once: with answer() or answer_text(), or with begin_stream(),
/// any number of stream() and end_stream(). Each of these may end the call before it returns.
class Channel {
 public:
  /// Valid until Call::run() returns, or after keep_head() as long as the channel.
  virtual const RequestHead& head() const noexcept = 0;
  /// While Call::run() runs.
  virtual void keep_head() noexcept = 0;
  /// Monotonic time at which the request's first byte was there, and its last.
  virtual int64_t received_first_ns() const noexcept = 0;
  virtual int64_t received_last_ns() const noexcept = 0;
  /// The body becomes the call's. Give it back through ServerThread::buffers.
  virtual BodyBuffer take_body() noexcept = 0;
  /// What was charged for the body, at least its size if that is over kUncountedBodyBytes.
  virtual RequestCharge take_charge() noexcept = 0;

  /// \param body  stays the call's, unchanged until the call ends
  virtual void answer(const ReplyHead& head, std::span<const iovec> body) noexcept = 0;
  /// Content-Length is set here.
  virtual void answer_text(ReplyHead head, std::string body) noexcept = 0;
  virtual void begin_stream(const ReplyHead& head) noexcept = 0;
  virtual void stream(std::string bytes) noexcept = 0;
  virtual void end_stream() noexcept = 0;
  /// Closes the connection, by which the client sees that a stream is not whole.
  virtual void cut() noexcept = 0;

 protected:
  ~Channel() = default;
};

/// Owns itself. Ends with on_written() or on_gone(), whichever is called; the channel is not to be used
/// after.
class Call {
 public:
  /// The request is complete.
  virtual void run(Channel& channel) noexcept = 0;
  /// All of the answer has been given to the network.
  virtual void on_written() noexcept = 0;
  /// The client has gone, or is being sent away; whatever was not written will not be.
  virtual void on_gone() noexcept = 0;
  /// The connection will be closed soon, because the server ends. A stream is cancelled; what it says to its end still
  /// reaches the client.
  virtual void on_closing_soon() noexcept {}
  /// So many more bytes given to stream() have been written.
  virtual void on_stream_written(size_t /*bytes*/) noexcept {}

 protected:
  ~Call() = default;
};

}  // namespace atl::frontends::http
