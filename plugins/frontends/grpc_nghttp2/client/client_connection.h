/// A connection to another server, for the calls that one thread passes on.
#pragma once

#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "atoll/core/host_port.h"
#include "frontends/common/call/buffer_pool.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/common/tls/tls_clients.h"
#include "frontends/grpc_nghttp2/client/client_stream.h"
#include "frontends/grpc_nghttp2/client/name_lookup.h"
#include "frontends/grpc_nghttp2/transport/frames/header_list.h"
#include "frontends/grpc_nghttp2/transport/out_queue.h"

namespace atl::frontends::grpc_nghttp2 {

/// What all connections of one thread to other servers share.
struct ClientContext {
  EventLoop& loop;
  BufferPool& buffers;
  GrpcCallContext& frontend;
  ReceiveBuffer receive{};
  BufferPool frames{};  ///< for what goes to sockets
  TlsClients tls{loop, TlsProtocol::kHttp2};
};

/// What goes before the messages of a call.
struct ClientRequest {
  std::string_view path;
  const HeaderList& metadata;  ///< what of it is passed on is chosen here
  int64_t deadline_ns = 0;     ///< on the loop's clock; 0: none
};

/// Calls may be begun at once: they go out when it is connected, and end if that fails. Connects once; when it is lost
/// it is so for good. [loop]
class ClientConnection final : public std::enable_shared_from_this<ClientConnection>,
                               private Watcher,
                               private TurnEnd,
                               private LookupUser {
 public:
  /// \param rules  of TLS; null: it goes without
  ClientConnection(ClientContext& context, HostPort server, std::shared_ptr<const RemoteTls> rules);
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;
  virtual ~ClientConnection();

  /// Once. Errors: RESOURCE_EXHAUSTED no memory.
  Status open(const nghttp2_session_callbacks* callbacks) noexcept;
  /// Errors: UNAVAILABLE it takes no more calls.
  Result<std::shared_ptr<ClientStream>> begin(const ClientRequest& request, ClientCall& call) noexcept;

  bool takes_calls() const noexcept {
    return lost_.ok() && nghttp2_session_check_request_allowed(session_) != 0;
  }
  bool is_unused() const noexcept { return streams_.empty(); }
  /// Why it was lost; OK: it is not.
  const Status& lost() const noexcept { return lost_; }
  bool was_connected() const noexcept { return is_connected_; }
  const std::shared_ptr<const RemoteTls>& rules() const noexcept { return rules_; }

  // --- its streams ---
  nghttp2_session* raw() noexcept { return session_; }
  BufferPool& buffers() noexcept { return context_.buffers; }
  /// Of what the other server sends: as of what clients do.
  MessageLimits message_limits() const noexcept {
    return {.max_bytes = static_cast<uint64_t>(context_.frontend.settings.max_message_bytes),
            .budgets = context_.frontend.server.request_memory.get()};
  }
  void output() noexcept { context_.loop.at_turn_end(*this); }
  /// Nothing more is to be sent before the socket has taken something.
  bool is_full() const noexcept { return out_.is_full(); }

 private:
  friend struct ClientCallbacks;
  class ConnectLimit final : public Timer {
   public:
    explicit ConnectLimit(ClientConnection& connection) noexcept : connection_(connection) {}
    virtual ~ConnectLimit() = default;
    void on_time() noexcept override { connection_.lose("it does not take the connection in time"); }

   private:
    ClientConnection& connection_;
  };

  void on_ready(uint32_t events) noexcept override;
  void on_turn_end() noexcept override;
  // --- LookupUser ---
  void on_found(const SocketAddress& address) noexcept override { connect(address); }
  void on_not_found(std::string reason) noexcept override { lose(reason); }

  void connect(const SocketAddress& address) noexcept;
  void on_connected() noexcept;
  /// The server can be told and asked from now on.
  void on_opened() noexcept;
  void read() noexcept;
  /// What is in the buffer for what is received. False: it is lost.
  bool take(std::span<const uint8_t> bytes) noexcept;
  void write() noexcept;
  /// What nghttp2 has to say. False: it is lost.
  bool fill_queue() noexcept;
  void wait_for_room(bool waits) noexcept;
  // --- with TLS ---
  void begin_tls() noexcept;
  void shake_hands() noexcept;
  void lose_tls() noexcept;
  void read_tls() noexcept;
  void read_decrypted() noexcept;
  void write_tls() noexcept;
  /// Its end: all calls are told, in this turn.
  void lose(std::string_view reason) noexcept;
  void notify_lost() noexcept;
  ClientStream* find(int32_t id) noexcept {
    return static_cast<ClientStream*>(nghttp2_session_get_stream_user_data(session_, id));
  }

  ClientContext& context_;
  const HostPort server_;
  const std::shared_ptr<const RemoteTls> rules_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<int32_t, std::shared_ptr<ClientStream>> streams_;
  NameLookup lookup_;
  ConnectLimit connect_limit_{*this};
  int fd_ = -1;
  std::unique_ptr<TlsChannel> tls_;  ///< null: there is none, or it is not connected
  bool is_connected_ = false;
  bool waits_for_room_ = false;
  bool is_notified_ = false;
  Status lost_;
  ChunkRef chunk_;  ///< of what is being received
  OutQueue out_;
};

/// What nghttp2 tells connections; freed by nghttp2_session_callbacks_del(). Null: there is no memory.
nghttp2_session_callbacks* make_client_callbacks() noexcept;

}  // namespace atl::frontends::grpc_nghttp2
