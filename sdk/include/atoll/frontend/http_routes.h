/// Requests that a plugin answers over the address of the HTTP frontend: an API of its own, a page, a hook.
/// Service "atoll.http_routes/1"; docs/guide-extensions.md builds a provider from nothing. There may be any
/// number of providers, which come, are replaced and go while the frontend serves.
///
/// A page:
///
///     std::vector<HttpRoute> routes() const noexcept override { return {{"/hello", kHttpGet, "demo.page"}}; }
///     void handle(std::string_view route, HttpExchange& exchange) noexcept override {
///       if (route != "/hello") return exchange.answer({.status = 404}, {});
///       exchange.answer({.content_type = "text/plain"}, "hello\n");
///     }
///
/// The frontend reads requests and writes answers. Its limits on connections, heads, bodies, time and memory
/// hold for these requests as for its own; so do access control (atoll/frontend/access.h), its metrics, and
/// its drain. The frontend's own paths win. Of two providers of one path the one of the higher rank has it,
/// of equal ranks the one whose instance's name is first; the log names the other one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"
#include "atoll/request/cancellation.h"

namespace atl {

/// The methods that a route takes, as bits. Requests with others are answered with 405.
enum HttpMethods : uint32_t {
  kHttpGet = 1,
  kHttpPost = 2,
  kHttpPut = 4,
  kHttpDelete = 8,
  /// The frontend leaves the answer's body out, whatever the handler gives.
  kHttpHead = 16,
  kHttpPatch = 32,
  kHttpOptions = 64
};

/// One path, or all paths that fit a pattern, that a provider answers.
struct HttpRoute {
  /// Compared byte for byte with the path as the client sends it, percent codes included, without its query:
  /// "/v1/chat". A '*' at the end stands for any rest: "/ui/*" takes "/ui/" and "/ui/a/b". Any other '*' stands for
  /// at least one byte, slashes included: "/v1/models/*:predict" takes "/v1/models/a/b:predict". A whole path wins over
  /// those with '*', and of these the one with the most other bytes. Begins with '/'; at most 1,024 bytes and 4 '*', of
  /// which no two stand side by side.
  /// Percent codes of control characters, '.' and backslash are refused by the frontend, and so are those of '/' but
  /// where a '*' takes the rest: "/v1/models/org%2Fname" reaches "/v1/models/*".
  std::string path;
  /// Bits of HttpMethods, at least one. A provider may list a path several times, with methods that differ: for
  /// calls of one path that belong to different categories.
  uint32_t methods = 0;
  /// The group of calls to which the route belongs, by which a manifest restricts access and metrics count:
  /// one of the frontend's ("inference", "metadata"), or one of the plugin's own, which has a dot:
  /// "openai.chat". See is_own_category() in atoll/frontend/access.h.
  std::string category;
};

/// A header field of a request or an answer; borrowed.
struct HttpHeader {
  std::string_view name;
  std::string_view value;
};

/// An answer without its body. Everything is copied.
struct HttpReply {
  /// From 200 to 599; any other is sent as 500.
  int status = 200;
  /// Empty: the answer has no Content-Type.
  std::string_view content_type{};
  /// Headers other than Content-Type. The frontend writes Content-Length, Transfer-Encoding and Connection
  /// itself. A header whose name is no token, or whose value has a control character, is left out.
  std::span<const HttpHeader> headers{};
};

/// What a request says before its body; borrowed.
struct HttpHead {
  std::string_view method;
  /// As the client sent it, without its query.
  std::string_view path;
  std::span<const HttpHeader> headers;
};

/// What a request of another service's protocol stands for: a call of the frontend's own.
struct HttpRewrite {
  /// The path of that call, such as "/v2/models/NAME/infer"; names in it have percent codes where they need them. Empty: the
  /// request stands for no call, and handle() gets it.
  std::string path{};
  /// The value of Inference-Header-Content-Length, for protocols that have it elsewhere; empty: as the client sent it.
  std::string json_length{};
  /// The content type of an answer that has binary tensors, without its last part, which are the bytes of the JSON as
  /// digits: "application/x.binary+json;json-header-size=". Empty: as ever, a header of its own has them.
  std::string binary_type{};
};

/// One request and the way back to its client. It belongs to the frontend. The provider has it from handle()
/// until it has called answer() or end(), and must not touch it afterwards. Each exchange has to be ended,
/// once, whatever happens to its client.
class HttpExchange {
 public:
  // --- the request's head: while handle() runs and the exchange has not been ended ---
  /// "POST"
  virtual std::string_view method() const noexcept = 0;
  /// As the client sent it, with its percent codes.
  virtual std::string_view path() const noexcept = 0;
  /// What is behind the '?'; empty: nothing.
  virtual std::string_view query() const noexcept = 0;
  /// How many header fields the request has; a name may come several times.
  virtual uint32_t header_count() const noexcept = 0;
  /// The fields in the order in which they were sent. The name is as the client spelled it: compare without
  /// regard to case.
  /// \param index  below header_count()
  virtual HttpHeader header(uint32_t index) const noexcept = 0;

  // --- [any], until the exchange is ended ---
  /// The body as it was sent: a Content-Encoding is not undone. Aligned to 64 bytes; 64 bytes behind it may
  /// be read.
  virtual std::span<const std::byte> body() const noexcept = 0;
  /// Cancelled when the client has gone or was sent away, and, of an answer in pieces, shortly before a server
  /// that ends closes its connection. End the exchange soon then; write() says whether anybody reads the answer. Whoever listens calls stop_listening() before ending the exchange, and does not end it inside
  /// on_cancel().
  virtual Cancellation& cancellation() noexcept = 0;

  // --- the answer: [any], one thread at a time; none of these blocks ---
  /// Answers with a whole body, and ends the exchange. If a large body does not fit into the memory of all
  /// requests (atoll/memory/request_memory.h), the client gets 503 instead.
  virtual void answer(const HttpReply& reply, std::string body) noexcept = 0;
  /// Begins an answer that comes in pieces: write() and end() follow. Clients of HTTP/1.1 get chunks.
  virtual void begin(const HttpReply& reply) noexcept = 0;
  /// Sends a further piece at once; an empty one does nothing.
  /// Errors: CANCELLED the client has gone; RESOURCE_EXHAUSTED too much waits for a slow client (the
  /// frontend's option max_stream_backlog_bytes), so its connection is closed and the exchange cancelled. The
  /// exchange still has to be ended.
  virtual Status write(std::string piece) noexcept = 0;
  /// Bytes given to write() that wait for the client, for providers that can slow down.
  virtual uint64_t waiting_bytes() const noexcept = 0;
  /// Ends the exchange after begin().
  virtual void end() noexcept = 0;

  // --- since minor 1; [any], until the exchange is ended ---
  /// Who calls, as access control found out; empty: it is not known.
  virtual std::string_view caller() const noexcept = 0;
  /// What the caller may do, and its tenant. Ask it for the model that the request is about, in the route's
  /// own category, and answer as for an unknown model if it may not. Null: there are no identities, and all is
  /// allowed.
  virtual const Identity* identity() const noexcept = 0;

 protected:
  ~HttpExchange() = default;
};

/// Service "atoll.http_routes/1".
///
/// A provider is not stopped while one of its exchanges lasts. While it drains (its host's gate is closed) it
/// gets no further requests once the frontends have heard of it, and it has to end by itself what could go on
/// for ever. When an exchange has ended, a thread of the provider may still be on its way out of answer() or
/// end(): stop() has to join such threads.
class HttpRoutes {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.http_routes/1";

  /// The routes that it answers; the same list at each call. [control]
  virtual std::vector<HttpRoute> routes() const noexcept = 0;
  /// Takes a request, with all of its body. Runs on the thread of the client's connection, which has others
  /// to serve: what takes longer than some 100 microseconds belongs on another thread, which answers later.
  /// [request]
  /// \param route  the path in routes() that fits, valid until this returns. While this plugin is being
  /// replaced it may be a path that only its predecessor has: answer 404 then
  virtual void handle(std::string_view route, HttpExchange& exchange) noexcept = 0;

  // --- since minor 1 ---
  /// The body of a refusal that comes before handle() is called, because of who calls or because the request's body is
  /// too large, in the shape in which clients of the route expect errors. [request]
  /// \param reply  has the status; its content type, a constant text, may be set
  /// \returns empty: the frontend's own shape, {"error":"..."}
  virtual std::string refusal(std::string_view route, HttpReply& reply,
                              std::string_view text) const noexcept {
    (void)route;
    (void)reply;
    (void)text;
    return {};
  }

  // --- since minor 2 ---
  /// Asked for each request of a route before access control and before its body is read: a route may be another name for
  /// a call of the frontend's own, which is then answered, allowed, counted and traced as that call. Runs on the thread of the
  /// client's connection, for a few microseconds at most. The method has been looked at: the call is made
  /// whichever it is. [request]
  virtual HttpRewrite rewrite(std::string_view route, const HttpHead& head) const noexcept {
    (void)route;
    (void)head;
    return {};
  }

 protected:
  ~HttpRoutes() = default;
};

}  // namespace atl
