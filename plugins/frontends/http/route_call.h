/// One request that another plugin answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/gate.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/common/call/body_buffer.h"
#include "frontends/common/http/call.h"
#include "frontends/http/outbox.h"
#include "frontends/http/thread_context.h"

namespace atl::frontends::http {

/// What the provider says is taken on its thread and brought to the connection's; only there the call ends:
/// when handle() has returned, the provider has ended the exchange, and the connection needs nothing more.
class RouteCall final : public HttpExchange, public Call, public Posted {
 public:
  RouteCall(ThreadContext& context, Followed<HttpRoutes>::Hold provider, std::string_view route);

  // --- Call ---
  void run(Channel& channel) noexcept override;
  void on_written() noexcept override;
  void on_gone() noexcept override;
  void on_closing_soon() noexcept override;
  void on_stream_written(size_t bytes) noexcept override { outbox_.written(bytes); }

  // --- Posted ---
  void on_posted() noexcept override { flush(); }

  // --- HttpExchange ---
  std::string_view method() const noexcept override { return channel_->head().method; }
  std::string_view path() const noexcept override { return channel_->head().path; }
  std::string_view query() const noexcept override;
  uint32_t header_count() const noexcept override;
  HttpHeader header(uint32_t index) const noexcept override;
  std::span<const std::byte> body() const noexcept override { return std::as_bytes(body_.bytes()); }
  std::string_view caller() const noexcept override { return caller_; }
  const Identity* identity() const noexcept override { return identity_of(identity_); }
  Cancellation& cancellation() noexcept override { return cancellation_; }
  void answer(const HttpReply& reply, std::string body) noexcept override;
  void begin(const HttpReply& reply) noexcept override;
  Status write(std::string piece) noexcept override;
  uint64_t waiting_bytes() const noexcept override { return outbox_.waiting_bytes(); }
  void end() noexcept override;

 private:
  /// What is still to happen before this object may be freed.
  enum Part : uint32_t { kHandling = 1, kAnswering = 2, kExchange = 4 };

  /// Of the answer; copied, as the provider only lends it.
  struct Head {
    int http_status = 200;
    std::string content_type;
    std::string headers;  ///< as lines
    uint32_t retry_after_ms = 0;

    ReplyHead reply() const noexcept {
      return {.http_status = http_status,
              .content_type = content_type,
              .extra = headers,
              .retry_after_ms = retry_after_ms};
    }
  };

  ~RouteCall() = default;

  void answer_error(const Status& status, uint32_t retry_after_ms) noexcept;
  void set_head(const HttpReply& reply) noexcept;
  /// Brings the piece, and what was set before, to the connection's thread.
  void deliver(std::string piece, uint32_t marks) noexcept;
  /// Gives it to the connection. [connection]
  void flush() noexcept;
  void send_pieces(std::vector<std::string> pieces, bool ended) noexcept;
  void done(uint32_t part) noexcept;

  ThreadContext& context_;
  Pass pass_;
  CallerIdentityPtr identity_;  ///< ends before the pass
  std::string caller_;
  Followed<HttpRoutes>::Hold provider_;  ///< ends before the pass
  const std::string route_;              ///< as the provider lists it; the list may be replaced

  // Of the connection's thread.
  uint32_t open_parts_ = kHandling | kAnswering | kExchange;
  Channel* channel_ = nullptr;  ///< null: the client has gone, or has all it will get
  bool answered_ = false;       ///< or the first piece was
  bool no_body_ = false;        ///< it is HEAD
  BodyBuffer body_;
  RequestCharge charge_;  ///< while nobody has answered, of the thread that does

  Cancellation cancellation_;

  // Written before the first deliver().
  Head head_;
  bool streams_ = false;

  std::atomic<bool> closes_soon_{false};  ///< cancelled, but its client still reads

  Outbox outbox_;
};

}  // namespace atl::frontends::http
