/// The socket of one client, and what its loop is asked to watch it for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "frontends/common/http/client/client_bytes.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/common/tls/tls_listener.h"

namespace atl::frontends::http {

/// Does not block. Of its loop's thread. With TLS the handshake goes on as the client's bytes come, and meanwhile nothing
/// is there for whoever receives.
class ClientSocket final : private HandshakeTurns::Waiter, private TurnEnd {
 public:
  /// Told of events without being asked for: the connection is broken.
  static constexpr uint32_t kBroken = EPOLLERR | EPOLLHUP;

  /// \param fd  becomes this object's \param watcher  told of what happens; both outlive the watching
  ClientSocket(EventLoop& loop, Watcher& watcher, int fd) noexcept
      : loop_(loop), watcher_(watcher), bytes_(fd) {}
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;
  virtual ~ClientSocket();

  /// Before start(): connections of this listener have TLS. False: no memory.
  bool secure(TlsListener& listener, TlsThread& thread) noexcept;
  /// Watches for what comes. Errors: as EventLoop::watch().
  Status start() noexcept;
  /// What is sent.
  ClientBytes& bytes() noexcept { return bytes_; }
  /// -1: closed
  int fd() const noexcept { return bytes_.fd(); }
  bool watches(uint32_t events) const noexcept { return (events_ & events) != 0; }
  /// Asks for more events, or for fewer: a call of the system, where that changes anything.
  void watch(uint32_t events) noexcept { set_events(events_ | events); }
  void unwatch(uint32_t events) noexcept { set_events(events_ & ~events); }

  /// \returns bytes received; 0: none are there, or ever will be; -1: the connection is broken
  ssize_t receive(std::span<char> space) noexcept {
    return bytes_.tls() != nullptr ? receive_tls(space) : receive_plain(space);
  }
  /// No more is received in this turn. If something is there that needs no event of the socket, the watcher is told at the
  /// turn's end as of one.
  void end_receiving() noexcept {
    if (bytes_.tls() != nullptr) keep_rest();
  }
  /// receive() has found that the client sends nothing more.
  bool input_ended() const noexcept { return input_ended_; }
  /// Whether bytes are there that receive() would give.
  bool has_input() const noexcept;
  /// The client is still to show that it speaks TLS.
  bool is_shaking_hands() const noexcept { return begun_at != nullptr; }
  /// It has shown it. Told once; never without TLS.
  bool take_opened() noexcept { return bytes_.tls() != nullptr && std::exchange(has_opened_, false); }
  /// What was sent and waits for the socket goes on. False: the connection is broken.
  bool flush() noexcept;
  /// The client sees that nothing more is sent.
  void end_output() noexcept { bytes_.end(); }
  /// \param is_whole  false: the client is to see that something is missing
  void close(bool is_whole) noexcept;

 private:
  void set_events(uint32_t events) noexcept;
  ssize_t receive_plain(std::span<char> space) noexcept;
  ssize_t receive_tls(std::span<char> space) noexcept;
  void keep_rest() noexcept;
  /// \returns as receive()
  ssize_t fail(std::string_view why) noexcept;
  void on_handshake_turn() noexcept override;
  void on_handshake_dropped() noexcept override;
  void on_turn_end() noexcept override { watcher_.on_ready(EPOLLIN); }

  EventLoop& loop_;
  Watcher& watcher_;
  ClientBytes bytes_;
  TlsListener* tls_listener_ = nullptr;
  uint32_t events_ = EPOLLIN;
  bool input_ended_ = false;
  bool has_failed_ = false;  ///< TLS
  bool has_opened_ = false;
};

}  // namespace atl::frontends::http
