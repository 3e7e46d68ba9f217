/// One client's connection: its socket and its HTTP/2 session.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "frontends/common/loop/event_loop.h"
#include "frontends/common/tls/tls_channel.h"
#include "frontends/grpc_nghttp2/transport/connection_times.h"
#include "frontends/grpc_nghttp2/transport/frames/frame_tracker.h"
#include "frontends/grpc_nghttp2/transport/frames/receive_buffer.h"
#include "frontends/grpc_nghttp2/transport/out_queue.h"
#include "frontends/grpc_nghttp2/transport/session/session.h"

namespace atl::frontends::grpc_nghttp2 {

class Connection;

/// What a connection has from its thread.
class ConnectionHome {
 public:
  /// The connection is at its end: to be removed and freed.
  virtual void on_closed(Connection& connection) noexcept = 0;
  /// TLS has failed, in the handshake or later; on_closed() follows.
  virtual void on_tls_failure(const Connection& connection, std::string_view why) noexcept = 0;

 protected:
  ~ConnectionHome() = default;
};

/// Reads all that is there in one call, has it answered, and writes the answers in one call, or in two where the first
/// ones wake the client up. All functions on the loop's thread.
class Connection final
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>,
      private Watcher,
      private TurnEnd,
      private HandshakeTurns::Waiter,
      private SessionOwner {
 public:
  /// \param fd   becomes the connection's; does not block
  /// \param tls  of the same descriptor; null: none
  Connection(int fd, SessionContext& context, ReceiveBuffer& receive, const ConnectionSettings& settings,
             ConnectionHome& home, std::unique_ptr<TlsChannel> tls = nullptr) noexcept;
  virtual ~Connection();

  /// Once. The connection may be closed, and freed, before this returns.
  void start() noexcept;
  /// The client is to make its calls elsewhere; those it has, and makes until it knows, are answered.
  void go_away() noexcept;
  /// At once.
  void close() noexcept;
  /// The same, and counts why.
  void close_for(ClosedFor reason) noexcept;
  /// Closes it after what is answered already was written, as far as the socket takes it.
  void shut_down() noexcept;

  /// The client's address, as access checks get it.
  std::string peer() const override;
  std::shared_ptr<const ClientCertificate> certificate() const noexcept override {
    return tls_ == nullptr ? nullptr : tls_->client();
  }
  /// The server has ended its side, and waits for the client to end its own.
  bool lingers() const noexcept { return lingers_; }

 private:
  void on_ready(uint32_t events) noexcept override;
  void on_turn_end() noexcept override;
  void on_handshake_turn() noexcept override;
  void on_handshake_dropped() noexcept override;
  void on_output() noexcept override { loop_.at_turn_end(*this); }

  /// False: the connection is to be closed.
  bool read() noexcept;
  /// Ends this side and waits for the client to end its own. If the socket were closed while bytes of the client's are unread, the
  /// system would send a reset, and the client might lose the last answers.
  void linger() noexcept;
  /// False: the client has ended its side.
  bool discard() noexcept;
  /// \returns bytes read into the room, or as recv()
  ssize_t read_some(std::span<uint8_t> room) noexcept;
  bool take_some(size_t bytes, std::span<const uint8_t> room) noexcept;
  /// How much of it is to be answered before the rest is looked at. \param calls  or messages; 0: nothing
  size_t bytes_ahead(size_t calls, std::span<const uint8_t> bytes) noexcept;
  bool take(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  bool write() noexcept;
  // The same with TLS, in connection_tls.cc.
  bool read_tls() noexcept;
  bool decrypt() noexcept;
  bool write_tls() noexcept;
  void wait_for_room(bool waits) noexcept;

  EventLoop& loop_;
  ReceiveBuffer& receive_;
  ConnectionHome& home_;
  int fd_;
  std::unique_ptr<TlsChannel> tls_;
  Session session_;
  ConnectionTimes times_;
  FrameTracker tracker_;
  bool is_planned_ = false;  ///< the present read
  bool reads_much_ = false;  ///< the last read brought much
  OutQueue out_;
  bool waits_for_room_ = false;  ///< in the socket
  bool lingers_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
