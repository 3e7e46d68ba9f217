/// One gRPC call on one connection: what came with it, and the way back.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/grpc_nghttp2/transport/call.h"
#include "frontends/grpc_nghttp2/transport/call/answer_writer.h"
#include "frontends/grpc_nghttp2/transport/call/call_ticket.h"
#include "frontends/grpc_nghttp2/transport/call/incoming_call.h"

namespace atl::frontends::grpc_nghttp2 {

class Session;

/// What a Call sees of the transport. It has two parts, what comes (IncomingCall) and what goes (AnswerWriter), and
/// sees to it that the end of the one is the end of the other: by the answer, an error, the deadline or the client.
///
/// Everything runs on the connection's thread. A call answers once: with answer(), or with any number of send()
/// and finish(). After that, or after Call::on_gone(), it uses this no more.
class CallStream final
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>,
      private Timer {
 public:
  CallStream() noexcept = default;
  CallStream(const CallStream&) = delete;
  CallStream& operator=(const CallStream&) = delete;
  virtual ~CallStream() = default;

  // --- what came ---
  /// What the headers say that are the transport's own.
  const CallHeaders& headers() const noexcept { return incoming_.head().headers(); }
  /// All but what is the transport's own (pseudo headers, te, content-type, grpc-...). Binary values are decoded.
  const HeaderList& metadata() const noexcept { return headers().metadata; }
  /// On the loop's clock; 0: none. When it has passed, the transport answers.
  int64_t deadline_ns() const noexcept { return deadline_ns_; }
  /// When the headers had come.
  int64_t began_ns() const noexcept { return began_ns_; }
  /// "ipv4:192.0.2.1:50000"
  std::string peer() const;
  /// Of the client; null: none was demanded.
  std::shared_ptr<const ClientCertificate> certificate() const noexcept;
  EventLoop& loop() noexcept;
  /// To be held as long as the call takes memory or time.
  CallTicket take_ticket() noexcept { return std::move(ticket_); }
  /// Who is told of what happens. Before Method::begin() returns, unless the stream is ended there.
  void attach(Call& call) noexcept { incoming_.attach(call); }
  /// The next message is wanted, or to know that none comes. It may be told before this returns.
  void read_next() noexcept { incoming_.read_next(); }
  /// Whether messages are being given to the call: the one that read_next() asks for then comes after that.
  bool is_reading() const noexcept { return incoming_.is_reading(); }

  // --- the answer ---
  /// What else can be said of the answer: how it is compressed, and trailers.
  AnswerWriter& writer() noexcept { return writer_; }
  /// The one message, and OK.
  void answer(OutgoingMessage& message) noexcept;
  /// One message of several.
  void send(OutgoingMessage& message) noexcept { writer_.send(message); }
  /// What was sent goes first. \param code  of gRPC \param text  as it is
  void finish(int code, std::string_view text) noexcept;
  /// Ends it without an answer; what was sent may be dropped. Its call hears that the client has gone.
  void cancel() noexcept;

  // --- the session, and the parts ---
  void start(Session& session, int32_t id) noexcept;
  Session& session() const noexcept { return *session_; }
  int32_t id() const noexcept { return id_; }
  IncomingCall& incoming() noexcept { return incoming_; }
  /// The headers are complete.
  void on_headers() noexcept;
  /// \param most  calls of this without progress that a transfer survives
  void end_if_stalled(uint32_t most) noexcept;
  /// The stream is no more. Ready for the next one then.
  void on_closed() noexcept;

 private:
  void on_time() noexcept override;
  /// Without what the call has sent; it hears that its client has gone.
  void end_early(int code, std::string_view text) noexcept;

  Session* session_ = nullptr;
  int32_t id_ = 0;
  CallTicket ticket_;
  int64_t began_ns_ = 0;
  int64_t deadline_ns_ = 0;
  IncomingCall incoming_{*this};
  AnswerWriter writer_{*this};
};

}  // namespace atl::frontends::grpc_nghttp2
