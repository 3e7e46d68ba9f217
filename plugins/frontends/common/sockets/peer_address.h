/// Who is at the other end of a socket.
#pragma once

#include <string>

namespace atl::frontends {

/// As gRPC writes it: "ipv4:127.0.0.1:4711", "ipv6:[::1]:4711"; "unknown" of one that is not connected.
std::string peer_address(int fd);

}  // namespace atl::frontends
