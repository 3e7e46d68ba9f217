/// A connection to another server, over which requests of clients of this one are passed on, one at a time.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host_port.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/common/management/remote_server.h"
#include "frontends/common/tls/tls_clients.h"
#include "frontends/http/host_lookup.h"
#include "frontends/http/remote_reply.h"

namespace atl::frontends::http {

/// Whose request it is. Any of these may be the last one: after the call the connection calls nobody any more.
class RemoteExchange : public RemoteReplyUser {
 public:
  /// All of the answer was there. \param reusable  the connection may take another request
  virtual void on_reply_end(bool reusable) noexcept = 0;
  /// There is no answer, or not all of it.
  virtual void on_reply_failure(std::string_view reason) noexcept = 0;

 protected:
  ~RemoteExchange() = default;
};

/// What the connections of one server thread share. Outlives them.
struct RemoteConnectionContext {
  EventLoop& loop;
  HostLookup& lookup;
  std::span<char> scratch;  ///< what is received comes through it
  TlsClients& tls;
  const ServerAccess& access;
};

/// Lives on its server thread.
class RemoteConnection final : public std::enable_shared_from_this<RemoteConnection>,
                               private Watcher,
                               private Timer,
                               private RemoteReplyUser {
 public:
  /// \param rules  of TLS; null: it goes without
  RemoteConnection(const RemoteConnectionContext& context, HostPort server,
                   std::shared_ptr<const RemoteTls> rules);
  ~RemoteConnection() override { close(); }

  const HostPort& server() const noexcept { return server_; }
  const std::shared_ptr<const RemoteTls>& rules() const noexcept { return rules_; }
  /// Sends a request, connecting before if need be. It stays where it is until the exchange ends.
  void send(std::span<const iovec> request, RemoteExchange& exchange);
  /// Nothing is received until resume(), but for what is being received already.
  void pause() noexcept { is_paused_ = true; }
  void resume() noexcept;
  /// The exchange ends before its time, or nobody wants the connection any more. Calls nobody.
  void close() noexcept;
  /// Of one that has no exchange: nothing has come that nobody asked for, nor its end.
  bool is_usable() noexcept;
  /// The same: it closes as soon as it is not usable any more.
  void wait_unused() noexcept { watch(); }

 private:
  void connect();
  void connect_to(const SocketAddress& address);
  void connected();
  /// The server can be told and asked from now on.
  void opened();
  // --- Watcher ---
  void on_ready(uint32_t events) noexcept override;
  // --- Timer ---
  void on_time() noexcept override;
  /// For what there is to be done now.
  void watch() noexcept;
  void write();
  /// So much of what is left of the request has gone.
  void take_sent(size_t bytes);
  void receive_all();
  /// \returns false: there is nothing more to be read now
  bool receive();
  std::string_view early_end() const;
  // --- with TLS ---
  void shake_hands();
  void fail_tls();
  void write_tls();
  bool receive_tls();
  /// \returns false: the exchange is over
  bool parse(std::string_view received);
  void end(bool reusable);
  void fail(std::string_view reason);
  // --- RemoteReplyUser ---
  void on_reply_head(const RemoteReplyHead& head) noexcept override;
  bool on_reply_body(std::string_view bytes) noexcept override;

  const HostPort server_;
  const std::shared_ptr<const RemoteTls> rules_;
  const RemoteConnectionContext& context_;
  int fd_ = -1;
  uint32_t watched_ = 0;   ///< 0: it is not watched at all
  int connect_error_ = 0;  ///< which the timer tells
  RemoteExchange* exchange_ = nullptr;
  std::optional<RemoteReplyParser> parser_;
  std::vector<iovec> request_;  ///< what is not sent yet, from sent_ on
  size_t sent_ = 0;
  std::unique_ptr<TlsChannel> tls_;  ///< null: there is none, or it is not connected
  std::string input_;                ///< received, and too little of a line to be read
  bool is_connected_ = false;
  bool is_sending_ = false;  ///< the socket takes no more of the request now
  bool is_paused_ = false;
};

}  // namespace atl::frontends::http
