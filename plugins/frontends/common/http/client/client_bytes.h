/// What goes to one client and comes from it: as it is, or through TLS.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "frontends/common/tls/tls_channel.h"

namespace atl::frontends::http {

/// Of a socket that does not block, and that is another's. Of its loop's thread.
class ClientBytes {
 public:
  /// \param tls  of the same descriptor; null: none
  explicit ClientBytes(int fd, std::unique_ptr<TlsChannel> tls = nullptr) noexcept
      : fd_(fd), tls_(std::move(tls)) {}

  /// -1: closed
  int fd() const noexcept { return fd_; }
  /// Null: none, or it is over.
  TlsChannel* tls() const noexcept { return tls_.get(); }

  /// \returns bytes that are on their way or kept for it; -1: none, see errno. With no parts what is kept goes on.
  ssize_t send(std::span<const iovec> parts) noexcept;
  /// False: not all of it was taken.
  bool send_whole(std::string_view bytes) noexcept;
  /// Bytes that were taken wait for the socket.
  bool has_unsent() const noexcept { return tls_ != nullptr && tls_->has_unsent(); }
  /// \returns bytes received; 0: the client sends nothing more; -1: none, see errno. Of the socket itself
  ssize_t receive_plain(std::span<char> space) noexcept;

  /// Nothing more is sent, and the client sees that this is the end.
  void end() noexcept;
  /// The same before its descriptor is closed. \param is_whole  false: the client is to see that something is missing
  void close(bool is_whole) noexcept;

 private:
  ssize_t send_tls(std::span<const iovec> parts) noexcept;

  int fd_;
  std::unique_ptr<TlsChannel> tls_;
};

}  // namespace atl::frontends::http
