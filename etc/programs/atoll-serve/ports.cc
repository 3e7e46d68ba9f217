#include "ports.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/host_port.h"

namespace atl::serve {
namespace {

constexpr uint16_t kStep = 10;  // 8000, 8010, ...: three endpoints keep their last digits
constexpr int kSteps = 100;

struct AddressDeleter {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressDeleter>;

/// Without the brackets of an IPv6 address.
std::string host_of(const std::string& address) {
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  return bracketed ? address.substr(1, address.size() - 2) : address;
}

Result<AddressList> resolve(const ServeEndpoint& endpoint) {
  const std::string host = host_of(endpoint.address);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  const int failure = host.empty() ? EAI_NONAME : ::getaddrinfo(host.c_str(), "0", &hints, &found);
  if (failure == 0) return AddressList(found);
  return invalid_argument("--", endpoint.instance, "-address: found '", endpoint.address,
                          "', expected an address of this machine: ", ::gai_strerror(failure));
}

/// \param port  0: any; it becomes the one that the socket had \returns 0, or the number of the error
int try_port(const addrinfo& address, uint16_t* port) {
  const FileDescriptor socket(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return errno;
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage where{};
  std::memcpy(&where, address.ai_addr, address.ai_addrlen);
  auto& number = address.ai_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(where).sin6_port
                                               : reinterpret_cast<sockaddr_in&>(where).sin_port;
  number = htons(*port);
  socklen_t size = address.ai_addrlen;
  auto* generic = reinterpret_cast<sockaddr*>(&where);
  // Two may bind a port with SO_REUSEADDR, and one listen.
  if (::bind(socket.get(), generic, size) != 0 || ::listen(socket.get(), 1) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0)
    return errno;
  *port = ntohs(number);
  return 0;
}

class Choice {
 public:
  Result<std::vector<std::string>> run(std::span<ServeEndpoint> endpoints) {
    // What was asked for comes first, so that no endpoint is given a port that another one asks for.
    for (ServeEndpoint& endpoint : endpoints) {
      if (endpoint.allowed && endpoint.asked.value_or(0) != 0) ATOLL_RETURN_IF_ERROR(take_asked(endpoint));
    }
    for (ServeEndpoint& endpoint : endpoints) {
      if (endpoint.allowed && endpoint.asked.value_or(0) == 0) ATOLL_RETURN_IF_ERROR(take_free(endpoint));
    }
    return std::move(lines_);
  }

 private:
  Status take_asked(ServeEndpoint& endpoint) {
    auto address = resolve(endpoint);
    if (!address.ok()) return std::move(address).status();
    endpoint.port = *endpoint.asked;
    taken_.insert(endpoint.port);
    if (!asked_.emplace(host_of(endpoint.address), endpoint.port).second)
      return invalid_argument("--", endpoint.instance, "-port=", endpoint.port,
                              " is the port of another endpoint as well");
    const int failure = try_port(**address, &endpoint.port);
    if (failure == 0) return {};
    return unavailable("--", endpoint.instance, "-port=", endpoint.port, ": ",
                       failure == EADDRINUSE ? "the port is taken; --" : cat(std::strerror(failure), "; --"),
                       endpoint.instance, "-port=0 takes a free one");
  }

  Status take_free(ServeEndpoint& endpoint) {
    auto address = resolve(endpoint);
    if (!address.ok()) return std::move(address).status();
    int failure = EADDRINUSE;
    for (int step = 0; !endpoint.asked && step < kSteps && failure != 0; ++step) {
      endpoint.port = static_cast<uint16_t>(endpoint.usual + step * kStep);
      if (taken_.contains(endpoint.port)) continue;
      failure = try_port(**address, &endpoint.port);
      if (failure != 0 && failure != EADDRINUSE && failure != EACCES) break;
    }
    for (int tries = 0; failure == EADDRINUSE && tries < kSteps; ++tries) {
      endpoint.port = tries < kSteps / 2 ? quiet_port() : 0;
      failure = try_port(**address, &endpoint.port);
      if (failure == 0 && taken_.contains(endpoint.port)) failure = EADDRINUSE;
    }
    if (failure != 0)
      return invalid_argument("--", endpoint.instance, "-address=", endpoint.address, ": ",
                              std::strerror(failure));
    taken_.insert(endpoint.port);
    if (!endpoint.asked && endpoint.port != endpoint.usual)
      lines_.push_back(
          cat("port ", endpoint.usual, " is taken; ", endpoint.word, " is at port ", endpoint.port));
    return {};
  }

  /// One that Linux gives no connection by itself, so that nobody takes it before the server listens there.
  static uint16_t quiet_port() { return static_cast<uint16_t>(20'000 + ::arc4random_uniform(12'768)); }

  std::set<uint16_t> taken_;                          // no endpoint is given one of these
  std::set<std::pair<std::string, uint16_t>> asked_;  // two addresses may have one port
  std::vector<std::string> lines_;
};

}  // namespace

std::string ServeEndpoint::text() const { return host_port_text(host_of(address), port); }

std::string ServeEndpoint::client_text() const {
  const std::string host = host_of(address);
  const bool is_any = host == "0.0.0.0" || host == "::" || host == "*";
  return host_port_text(is_any ? "localhost" : host, port);
}

Result<std::vector<std::string>> choose_ports(std::span<ServeEndpoint> endpoints) {
  return Choice().run(endpoints);
}

}  // namespace atl::serve
