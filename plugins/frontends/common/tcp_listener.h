/// Opening a listening TCP socket, for frontends over asio.
#pragma once

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/status.h"
#include "common/listen_address.h"

namespace atl::frontends {

/// Opens the acceptor on the first of the host's addresses that the system lets it listen on.
/// \param share_port  the address may be in use, by the instance that this one replaces
/// \param who         for the text of a failure: "HTTP"
/// Errors: as check_address_is_free(); INVALID_ARGUMENT the host has no address; INTERNAL the system refuses.
/// The acceptor is closed then.
inline Status open_listener(const ListenAddress& address, bool share_port, int backlog, std::string_view who,
                            boost::asio::ip::tcp::acceptor* acceptor, int* bound_port) {
  using boost::asio::ip::tcp;
  using ReusePort = boost::asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
  if (!share_port) ATOLL_RETURN_IF_ERROR(check_address_is_free(address));
  boost::system::error_code error;
  const auto flags = tcp::resolver::passive | tcp::resolver::numeric_service;
  const auto endpoints = tcp::resolver(acceptor->get_executor())
                             .resolve(address.host, std::to_string(address.port), flags, error);
  if (error) return invalid_argument("can not listen on '", address.host, "': ", error.message());
  for (const auto& entry : endpoints) {
    const tcp::endpoint endpoint = entry.endpoint();
    tcp::acceptor candidate(acceptor->get_executor());
    candidate.open(endpoint.protocol(), error);
    if (!error) candidate.set_option(tcp::acceptor::reuse_address(true), error);
    // Shared, so that the next generation of this instance can take over the port while this one drains; that
    // nobody else has it is checked before.
    if (!error) candidate.set_option(ReusePort(true), error);
    if (!error) candidate.bind(endpoint, error);
    if (!error) candidate.listen(backlog, error);
    if (error) continue;
    *bound_port = candidate.local_endpoint().port();
    *acceptor = std::move(candidate);
    return {};
  }
  return internal_error(who, " can not listen on '", address.text(address.port), "': ", error.message());
}

}  // namespace atl::frontends
