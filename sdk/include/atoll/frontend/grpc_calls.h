/// Calls that a plugin answers over the address of the gRPC frontend: a service of its own beside the frontend's.
/// Service "atoll.grpc_calls/1"; there may be any number of providers, which come, are replaced and go while the
/// frontend serves.
///
/// A call has one request message and any number of answers, so methods may be unary or stream from the server;
/// what a client sends behind its first message is not read. Messages are bytes: the provider parses and writes
/// them with what it likes. The frontend does the rest. Its limits on connections, metadata, messages and memory
/// hold for these calls as for its own, and so do access control (atoll/frontend/access.h), compression and its drain.
/// Of two providers of the same method the one of the higher rank has it, of the same rank the one whose
/// instance's name is the first, and the log names the other one.
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

struct GrpcMethod {
  /// "/package.Service/Method", byte for byte as clients send it; at most 1,024 bytes. A service of the
  /// frontend's own ("/inference.GRPCInferenceService/", "/grpc.health.v1.Health/") takes no further methods.
  std::string path;
  /// The group of calls to which it belongs, by which a manifest restricts it: one of the frontend's
  /// ("inference", "metadata"), or one of the plugin's own, which has a dot: "whisper.speech".
  std::string category;
};

/// One call and the way back to its client. The frontend's; the provider has it from handle() until it has
/// called answer() or end(), and may not touch it after. Each exchange has to be ended, once, whatever happens
/// to its client.
class GrpcExchange {
 public:
  // --- [any], until the exchange is ended ---
  /// Metadata by name, and the other end of the connection.
  virtual const CallHead& head() const noexcept = 0;
  /// Who calls, as access control knows it; empty: not known.
  virtual std::string_view caller() const noexcept = 0;
  /// The request, without compression.
  virtual std::span<const std::byte> message() const noexcept = 0;
  /// Cancelled when the client has cancelled or gone, or its deadline has passed. End the exchange soon then:
  /// nobody reads it. Who listens stops listening before ending it, and not inside on_cancel().
  virtual Cancellation& cancellation() noexcept = 0;

  // --- the answer: [any], one thread at a time; none of these blocks ---
  /// Answers with one message and OK, and ends the exchange. One that does not fit into the memory of all
  /// requests reaches the client as RESOURCE_EXHAUSTED.
  virtual void answer(std::string message) noexcept = 0;
  /// A further message of a streaming method, sent at once; may be empty.
  /// Errors: CANCELLED the client has gone; INVALID_ARGUMENT the message has 2 GiB or more, and was not sent;
  /// RESOURCE_EXHAUSTED too much waits for a slow client (the frontend's max_stream_backlog_bytes), or for all of them
  /// (the memory of all requests): the call is cancelled.
  virtual Status write(std::string message) noexcept = 0;
  /// Bytes given to write() that wait for the client, for who can slow down; each message counts 256 more than
  /// it has.
  virtual uint64_t waiting_bytes() const noexcept = 0;
  /// Ends the exchange, after what was written, with OK or a failure that the client gets: its code and as much
  /// of its text as trailers hold.
  virtual void end(Status status) noexcept = 0;

 protected:
  ~GrpcExchange() = default;
};

/// A provider is not stopped while one of its exchanges lasts. One that drains (its host's gate is closed)
/// gets no further calls once the frontends have heard of it, and ends by itself what could go on for ever. A
/// thread of its own may still be on its way out of answer() or end() when the exchange has ended: stop()
/// joins it.
class GrpcCalls {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.grpc_calls/1";

  /// The same at each call. [control]
  virtual std::vector<GrpcMethod> methods() const noexcept = 0;
  /// A call, with all of its message. Runs on the thread of a completion queue, which has others to serve:
  /// what takes longer than some 100 microseconds belongs on another thread, which answers later.
  /// \param method  a path of methods(), valid until this returns. While this plugin is being replaced it may
  /// be one that only its predecessor has: end with UNIMPLEMENTED then. [request]
  virtual void handle(std::string_view method, GrpcExchange& exchange) noexcept = 0;

 protected:
  ~GrpcCalls() = default;
};

}  // namespace atl
