/// Listening sockets of frontends, and how one instance hands its own to the next.
#pragma once

#include <string_view>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/frontend/listeners.h"
#include "frontends/common/sockets/listen_address.h"

namespace atl::frontends {

struct ListenOptions {
  /// Whose socket it is. The address may be that of an instance that retires. Its very socket is then used
  /// on, through a descriptor of our own: connections that wait in its queue are accepted by one of the two,
  /// whereas the queue of a socket that merely shares the port goes with that socket. Null: it has to be free.
  Host* host = nullptr;
  bool share_port = false;  ///< others may listen on the port as well, other processes too
  /// The socket is bound, so that nobody else gets the address, and clients are refused until start_listening().
  bool opens_later = false;
};

/// A socket's place among the Listeners, for as long as it is open.
class ListenerNote {
 public:
  ListenerNote() noexcept = default;
  ListenerNote(Service<Listeners> listeners, const Host& owner, int fd) noexcept
      : listeners_(std::move(listeners)), owner_(&owner), fd_(fd) {
    listeners_->add(owner, fd);
  }
  ListenerNote(ListenerNote&& other) noexcept = default;
  ListenerNote& operator=(ListenerNote&& other) noexcept {
    reset();
    listeners_ = std::move(other.listeners_);
    owner_ = other.owner_;
    fd_ = other.fd_;
    return *this;
  }
  ~ListenerNote() { reset(); }
  void reset() noexcept {
    if (listeners_) listeners_->remove(*owner_, fd_);
    listeners_.reset();
  }

 private:
  Service<Listeners> listeners_;
  const Host* owner_ = nullptr;
  int fd_ = -1;
};

/// A socket that the caller closes, after its note; it does not block. It listens, unless it opens later.
struct ListeningSocket {
  int fd = -1;
  int family = 0;  ///< AF_INET, AF_INET6
  int port = 0;    ///< what was bound
  ListenerNote note = {};
};

/// Listens on the first of the host's addresses that the system allows. Where an instance that does not
/// retire, or another process, listens, it is refused as it would be at the start of the server.
/// \param who  for the text of a failure: "HTTP". Errors: UNAVAILABLE "Socket '<host>:<port>' already in use
/// "; INVALID_ARGUMENT the host is unknown or not an address of this machine, the port is not allowed;
/// INTERNAL the system refuses.
Result<ListeningSocket> listen_on(const ListenAddress& address, const ListenOptions& options,
                                  std::string_view who) noexcept;

/// Whether clients can connect to a socket of listen_on().
bool is_listening(int fd) noexcept;
/// Opens a socket that opens later. \returns false: errno says why; EADDRINUSE: somebody else took the address,
/// which only a socket that had to be bound beside connections of an earlier server lets happen.
bool start_listening(int fd) noexcept;

}  // namespace atl::frontends
