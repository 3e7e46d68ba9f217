/// TLS between one connection and its socket.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontends/common/call/body_buffer.h"
#include "frontends/common/tls/client_certificate.h"
#include "frontends/common/tls/handshake_turns.h"
#include "frontends/common/tls/tls_context.h"

namespace atl::frontends {

/// What the TLS connections of one thread share.
struct TlsThread {
  static constexpr size_t kReceiveBytes = size_t{64} << 10;
  static constexpr size_t kRecordBytes = size_t{16} << 10;  ///< the largest that TLS has

  /// \param most_handshakes  that are under way at a time
  explicit TlsThread(EventLoop& loop, uint32_t most_handshakes = HandshakeTurns::kMost) noexcept
      : handshakes(loop, most_handshakes) {}

  HandshakeTurns handshakes;
  BodyBuffer received;  ///< as the socket gave it
  BodyBuffer sent;      ///< for the socket
  BodyBuffer record;    ///< small pieces that become one
};

/// One end: a server's, or that of who calls one. Encrypts and decrypts; what the socket does not take at once is kept, everything else lies in buffers of the
/// thread. So OpenSSL never waits for the socket to take something. All functions on the thread.
class TlsChannel final {
 public:
  /// Of one encrypt().
  static constexpr size_t kMostPieces = 64;

  /// \param fd  of the connection, which does not block and outlives this
  static std::unique_ptr<TlsChannel> make(int fd, OpensslPtr<ssl_st> ssl, TlsThread& thread) noexcept;
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;
  /// Tells the other end that this is the end, if it can be told.
  ~TlsChannel();
  /// Its end does not: the client is to see that what it has got is not whole.
  void abandon() noexcept { broken_ = true; }

  HandshakeTurns& handshakes() noexcept { return thread_.handshakes; }
  /// The handshake is over.
  bool is_open() const noexcept { return open_; }
  /// Of a server's end: what the client's certificate says, once the handshake is over. Null: it was asked for none. May be kept for longer
  /// than this.
  const std::shared_ptr<const ClientCertificate>& client() const noexcept { return client_; }
  /// Goes on with it. False: it has failed, and the other end has been told; or that one has hung up.
  bool shake_hands() noexcept;
  /// Of a server's end: the client has begun as one does that knows nothing of TLS.
  bool speaks_plain_http() const noexcept { return speaks_plain_http_; }
  /// Why it has, or why the connection was broken off later; empty: it was closed.
  const std::string& failure() const noexcept { return failure_; }

  /// Takes what the socket has, at most so much as the thread's buffer holds, or what keep_rest() kept. False: nothing is
  /// left to come. Then read() until it gives nothing, or keep_rest().
  bool receive() noexcept;
  /// What has come and was not read stays for the next receive(), and the thread's buffer is free for others.
  void keep_rest() noexcept;
  /// Something that keep_rest() kept, or that was decrypted, can be had without the socket.
  bool has_rest() const noexcept;
  /// Decrypts as much as has come and fits. \returns bytes; 0: no more has come. After that has_ended() tells
  size_t read(std::span<uint8_t> room) noexcept;
  /// Nothing more comes: the other end has said so, or what came was no TLS.
  bool has_ended() const noexcept { return ended_; }

  /// Encrypts the first 64 KiB or less; send() then is owed. \param taken  so many bytes were
  /// False: nothing can be encrypted until something more was read, or never again.
  bool encrypt(std::span<const iovec> pieces, size_t* taken) noexcept;
  /// Gives the socket what is encrypted. \returns how much it took; -1: the connection is broken, or the other end
  /// lets more pile up than encrypt() would
  ssize_t send() noexcept;
  /// Encrypted bytes wait for the socket.
  bool has_unsent() const noexcept { return !unsent_.empty(); }

 private:
  friend struct TlsCallbacks;
  static constexpr size_t kMostEncrypted = size_t{64} << 10;
  /// With what OpenSSL answers to on its own, alerts for example.
  static constexpr size_t kMostUnsent = 2 * kMostEncrypted;
  /// Messages of handshakes without a byte of data between them, once it is over (changes of keys, attempts to
  /// renegotiate): each costs far more than its bytes.
  static constexpr uint32_t kMostLateMessages = 32;
  /// OpenSSL makes room for all of it when its first bytes have come, and would for eight times as much.
  static constexpr size_t kMostClientHello = size_t{16} << 10;
  static constexpr size_t kHelloHeadBytes = 9;  ///< of a record with a handshake message, and of the message

  TlsChannel(int fd, OpensslPtr<ssl_st> ssl, TlsThread& thread) noexcept
      : fd_(fd), ssl_(std::move(ssl)), thread_(thread) {}
  bool write_record(std::span<const uint8_t> bytes) noexcept;
  void fail(int result) noexcept;
  bool is_good_start(std::span<const uint8_t> bytes) noexcept;
  ssize_t send_some(std::span<const uint8_t> bytes) noexcept;

  const int fd_;
  const OpensslPtr<ssl_st> ssl_;
  TlsThread& thread_;
  std::span<const uint8_t> received_;  ///< of the thread's buffer, not decrypted yet
  std::vector<uint8_t> kept_;          ///< came, and others needed the thread's buffer
  std::vector<uint8_t> unsent_;
  uint8_t head_[kHelloHeadBytes] = {};  ///< how the other end has begun
  size_t head_size_ = 0;
  uint32_t late_messages_ = 0;
  std::shared_ptr<const ClientCertificate> client_;
  bool open_ = false;
  bool ended_ = false;
  bool speaks_plain_http_ = false;
  bool broken_ = false;  ///< OpenSSL is not to be asked for anything any more
  std::string failure_;
};

}  // namespace atl::frontends
