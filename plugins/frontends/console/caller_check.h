/// Whether a request for the console may be answered at all, whatever it asks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/frontend/listeners.h"
#include "frontends/console/viewers.h"

namespace atl::frontends::console {

struct CallerRules {
  /// Names and addresses by which browsers may reach the console, without ports and brackets, in lower case.
  std::vector<std::string> allowed_hosts;
  /// Instances whose sockets do not serve the console.
  std::vector<std::string> ignored_listeners;
};

/// Whether a header Host names one of the hosts, with or without a port. A page of another site whose name was made to
/// point to this server (DNS rebinding) is known by the name that its browser sends.
bool is_allowed_host(std::string_view header, const std::vector<std::string>& allowed);

/// Whether the socket listens only for this machine: on an address of the loopback, or on a path.
bool is_local_socket(int fd) noexcept;

class CallerCheck {
 public:
  /// \param host  outlives this object
  CallerCheck(Host& host, CallerRules rules);

  /// Errors: as Followed::open(). [control]
  Status open() noexcept { return listeners_.open(); }
  void close() noexcept { listeners_.close(); }

  /// Whether the page that asks has a place among those that are open; scripts have one. [request, in HttpRoutes::handle()]
  bool admits(const HttpExchange& exchange);

  /// Why the request is refused, for its client; empty: it is not. [request, in HttpRoutes::handle()]
  std::string refusal(const HttpExchange& exchange) const;
  /// Whether callers are known, so that the page may do more than look. [any]
  bool may_act(const HttpExchange& exchange) const {
    return exchange.identity() != nullptr || has_identities();
  }

 private:
  bool has_identities() const;
  /// The instance that listens for other machines, too; empty: none does.
  std::string open_listener() const;

  Host& host_;
  const CallerRules rules_;
  Followed<Listeners> listeners_;
  Viewers viewers_;
};

}  // namespace atl::frontends::console
