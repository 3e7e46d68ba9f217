/// A listening socket as asio uses it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string_view>

#include "atoll/core/status.h"
#include "frontends/common/sockets/listening_socket.h"

namespace atl::frontends {

/// \param note  goes before the acceptor is closed
/// Opens the acceptor with listen_on(), whose parameters and errors it has. The acceptor stays closed then.
inline Status open_listener(const ListenAddress& address, const ListenOptions& options, std::string_view who,
                            boost::asio::ip::tcp::acceptor* acceptor, ListenerNote* note, int* bound_port) {
  using boost::asio::ip::tcp;
  Result<ListeningSocket> socket = listen_on(address, options, who);
  if (!socket.ok()) return std::move(socket).status();
  boost::system::error_code error;
  // Assigned, asio knows that there may be other descriptors of the socket, and so takes this one out of its
  // epoll set before it closes it.
  acceptor->assign(socket->family == AF_INET ? tcp::v4() : tcp::v6(), socket->fd, error);
  if (error) {
    ::close(socket->fd);
    return internal_error(who, " cannot listen on '", address.text(address.port), "': ", error.message());
  }
  *note = std::move(socket->note);
  *bound_port = socket->port;
  return {};
}

}  // namespace atl::frontends
