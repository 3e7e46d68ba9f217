/// Listening sockets of frontends, and how one instance hands its own to the next.
#pragma once

#include <string_view>

#include "atoll/status.h"
#include "frontends/common/listen_address.h"

namespace atl::frontends {

struct ListenOptions {
  /// The address may be that of the instance that this one replaces. Its very socket is then used on, through
  /// a descriptor of our own: connections that wait in its queue are accepted by one of the two, whereas the
  /// queue of a socket that merely shares the port goes with that socket.
  bool take_over = false;
  bool share_port = false;  ///< others may listen on the port as well, other processes too
  int backlog = 1024;       ///< connections that may wait to be accepted
};

/// A socket in the state of listening that the caller closes; it does not block.
struct ListeningSocket {
  int fd = -1;
  int family = 0;  ///< AF_INET, AF_INET6
  int port = 0;    ///< what was bound
};

/// Listens on the first of the host's addresses that the system allows. \param who  for the text of a
/// failure: "HTTP". Errors: as check_address_is_free(); INVALID_ARGUMENT the host has no address; INTERNAL
/// the system refuses.
Result<ListeningSocket> listen_on(const ListenAddress& address, const ListenOptions& options,
                                  std::string_view who) noexcept;

}  // namespace atl::frontends
