/// Calls that a plugin answers over the address of the gRPC frontend: a gRPC service of its own beside the
/// frontend's. Service "atoll.grpc_calls/1". There may be any number of providers, which come, are replaced
/// and go while the frontend serves.
///
/// A call has one request message and any number of answers, so a method may be unary or stream from the
/// server; what a client sends behind its first message is not read. Messages are bytes: the provider parses
/// and writes them with whatever protobuf it likes. A unary method:
///
///     void handle(std::string_view method, GrpcExchange& exchange) noexcept override {
///       if (method != "/demo.Echo/Say") return exchange.end(make_status(Code::kUnimplemented, "no such method"));
///       const auto message = exchange.message();
///       exchange.answer(std::string(reinterpret_cast<const char*>(message.data()), message.size()));
///     }
///
/// The frontend does the rest. Its limits on connections, metadata, messages and memory hold for these calls
/// as for its own; so do access control (atoll/frontend/access.h), compression, and its drain. Of two
/// providers of one method the one of the higher rank has it, of equal ranks the one whose instance's name is
/// first; the log names the other one.
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

/// One method that a provider answers.
struct GrpcMethod {
  /// "/package.Service/Method", byte for byte as clients send it; at most 1,024 bytes. The frontend's own
  /// services ("/inference.GRPCInferenceService/", "/grpc.health.v1.Health/") take no further methods.
  std::string path;
  /// The group of calls to which the method belongs, by which a manifest restricts access: one of the
  /// frontend's ("inference", "metadata"), or one of the plugin's own, which has a dot: "whisper.speech". See
  /// is_own_category().
  std::string category;
};

/// One call and the way back to its client. It belongs to the frontend. The provider has it from handle()
/// until it has called answer() or end(), and must not touch it afterwards. Each exchange has to be ended,
/// once, whatever happens to its client.
class GrpcExchange {
 public:
  // --- [any], until the exchange is ended ---
  /// Metadata by name, and the other end of the connection.
  virtual const CallHead& head() const noexcept = 0;
  /// Who calls, as access control found out; empty: it is not known.
  virtual std::string_view caller() const noexcept = 0;
  /// The request message, with compression undone.
  virtual std::span<const std::byte> message() const noexcept = 0;
  /// Cancelled when the client has cancelled the call or gone, or its deadline has passed. End the exchange
  /// soon then: nobody reads the answer. Whoever listens calls stop_listening() before ending the exchange,
  /// and does not end it inside on_cancel().
  virtual Cancellation& cancellation() noexcept = 0;

  // --- the answer: [any], one thread at a time; none of these blocks ---
  /// Answers with one message and OK, and ends the exchange. If the message does not fit into the memory of
  /// all requests (atoll/memory/request_memory.h), the client gets RESOURCE_EXHAUSTED instead.
  virtual void answer(std::string message) noexcept = 0;
  /// Sends a further message of a streaming method at once. It may be empty.
  /// Errors: CANCELLED the client has gone; INVALID_ARGUMENT the message has 2 GiB or more, and was not sent;
  /// RESOURCE_EXHAUSTED too much waits for a slow client (the frontend's option max_stream_backlog_bytes) or
  /// for all of them (the memory of all requests), and the call is cancelled. The exchange still has to be
  /// ended.
  virtual Status write(std::string message) noexcept = 0;
  /// Bytes given to write() that wait for the client, for providers that can slow down. Each message counts
  /// 256 bytes more than it has.
  virtual uint64_t waiting_bytes() const noexcept = 0;
  /// Ends the exchange, behind what was written, with OK or with a failure. The client gets the failure's
  /// code and as much of its text as trailers hold.
  virtual void end(Status status) noexcept = 0;

  // --- since minor 1; [any], until the exchange is ended ---
  /// What the caller may do, and its tenant; valid until the exchange is ended. Ask it for the model that the
  /// call is about, in the call's own category. Null: there are no identities, and all is allowed.
  virtual const Identity* identity() const noexcept = 0;

 protected:
  ~GrpcExchange() = default;
};

/// Service "atoll.grpc_calls/1".
///
/// A provider is not stopped while one of its exchanges lasts. While it drains (its host's gate is closed) it
/// gets no further calls once the frontends have heard of it, and it has to end by itself what could go on
/// for ever. When an exchange has ended, a thread of the provider may still be on its way out of answer() or
/// end(): stop() has to join such threads.
class GrpcCalls {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.grpc_calls/1";

  /// The methods that it answers; the same list at each call. [control]
  virtual std::vector<GrpcMethod> methods() const noexcept = 0;
  /// Takes a call, with all of its message. Runs on a thread of the frontend, which has others to serve: what
  /// takes longer than some 100 microseconds belongs on another thread, which answers later. [request]
  /// \param method  a path of methods(), valid until this returns. While this plugin is being replaced it may
  /// be a path that only its predecessor has: end with UNIMPLEMENTED then
  virtual void handle(std::string_view method, GrpcExchange& exchange) noexcept = 0;

 protected:
  ~GrpcCalls() = default;
};

}  // namespace atl
