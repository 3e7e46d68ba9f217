/// Requests that a plugin answers over the address of the HTTP frontend: an API of its own, a page, a hook.
/// Service "atoll.http_routes/1"; there may be any number of providers, which come, are replaced and go while
/// the frontend serves.
///
/// The frontend reads requests and writes answers. Its limits on connections, heads, bodies, time and memory
/// hold for these requests as for its own, and so do access control (atoll/frontend/access.h), its metrics and its drain.
/// Its own paths win; of two providers of the same path the one of the higher rank has it, of the same rank
/// the one whose instance's name is the first, and the log names the other one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/cancellation.h"

namespace atl {

/// What a route takes, as bits. Other methods are answered with 405.
enum HttpMethods : uint32_t {
  kHttpGet = 1,
  kHttpPost = 2,
  kHttpPut = 4,
  kHttpDelete = 8,
  kHttpHead = 16,  ///< the answer's body is left out, whatever the handler gives
  kHttpPatch = 32,
  kHttpOptions = 64
};

struct HttpRoute {
  /// Compared byte for byte with the path as a client sends it, without its query: "/v1/chat". A '*' at its
  /// end stands for any rest: "/ui/*" takes "/ui/" and "/ui/a/b". A whole path wins over those with '*', and
  /// of these the longest. Begins with '/'; at most 1,024 bytes.
  std::string path;
  uint32_t methods = 0;  ///< HttpMethods, one at least
  /// The group of calls to which it belongs, by which a manifest restricts it and metrics count it: one of
  /// the frontend's ("inference", "metadata"), or one of the plugin's own, which has a dot: "openai.chat".
  std::string category;
};

struct HttpHeader {
  std::string_view name;
  std::string_view value;
};

/// An answer before its body. Everything is copied.
struct HttpReply {
  int status = 200;                 ///< 200 to 599
  std::string_view content_type{};  ///< empty: no such header
  /// Others than Content-Type. The frontend writes Content-Length, Transfer-Encoding and Connection itself.
  /// One whose name is no token, or whose value has a control character, is left out.
  std::span<const HttpHeader> headers{};
};

/// One request and the way back to its client. The frontend's; the provider has it from handle() until it
/// has called answer() or end(), and may not touch it after. Each exchange has to be ended, once, whatever
/// happens to its client.
class HttpExchange {
 public:
  // --- the request's head: while handle() runs and the exchange has not been ended ---
  virtual std::string_view method() const noexcept = 0;  ///< "POST"
  virtual std::string_view path() const noexcept = 0;    ///< as sent, with its percent codes
  virtual std::string_view query() const noexcept = 0;   ///< what is behind the '?'; empty: nothing
  virtual uint32_t header_count() const noexcept = 0;
  /// In the order sent. The name is as the client spelled it; compare without regard to case.
  virtual HttpHeader header(uint32_t index) const noexcept = 0;

  // --- [any], until the exchange is ended ---
  /// As sent: a Content-Encoding is not undone. Aligned to 64 bytes; 64 bytes behind it may be read.
  virtual std::span<const std::byte> body() const noexcept = 0;
  /// Cancelled when the client has gone or was sent away. End the exchange soon then: nobody reads it. Who
  /// listens stops listening before ending it, and not inside on_cancel().
  virtual Cancellation& cancellation() noexcept = 0;

  // --- the answer: [any], one thread at a time; none of these blocks ---
  /// Answers with a whole body, and ends the exchange.
  virtual void answer(const HttpReply& reply, std::string body) noexcept = 0;
  /// Begins an answer that comes in pieces; write() and end() follow. Clients of HTTP/1.1 get chunks.
  virtual void begin(const HttpReply& reply) noexcept = 0;
  /// A further piece, sent at once; an empty one does nothing.
  /// Errors: CANCELLED the client has gone; RESOURCE_EXHAUSTED too much waits for a slow client (the
  /// frontend's max_stream_backlog_bytes): its connection is closed, and the exchange cancelled.
  virtual Status write(std::string piece) noexcept = 0;
  /// Bytes given to write() that wait for the client, for who can slow down.
  virtual uint64_t waiting_bytes() const noexcept = 0;
  /// Ends the exchange after begin().
  virtual void end() noexcept = 0;

 protected:
  ~HttpExchange() = default;
};

/// A provider is not stopped while one of its exchanges lasts. One that drains (its host's gate is closed)
/// gets no further requests once the frontends have heard of it, and ends by itself what could go on for
/// ever. A thread of its own may still be on its way out of answer() or end() when the exchange has ended:
/// stop() joins it.
class HttpRoutes {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.http_routes/1";

  /// The same at each call. [control]
  virtual std::vector<HttpRoute> routes() const noexcept = 0;
  /// A request, with all of its body. Runs on the thread of the client's connection, which has others to
  /// serve: what takes longer than some 100 microseconds belongs on another thread, which answers later.
  /// \param route  the path in routes() that fits. While this plugin is being replaced it may be one that
  /// only its predecessor has: answer 404 then. [request]
  virtual void handle(std::string_view route, HttpExchange& exchange) noexcept = 0;

 protected:
  ~HttpRoutes() = default;
};

}  // namespace atl
