#include "frontends/console/caller_check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/header_values.h"
#include "atoll/lib/http_origin.h"
#include "frontends/common/http/header_name.h"

namespace atl::frontends::console {
namespace {

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return made;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

bool is_allowed_host(std::string_view header, const std::vector<std::string>& allowed) {
  const std::string_view host = host_without_port(header);
  return !host.empty() && contains(allowed, lower(host));
}

bool is_local_socket(int fd) noexcept {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family == AF_UNIX) return true;
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(four.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  if (address.ss_family != AF_INET6) return false;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == IN_LOOPBACKNET);
}

CallerCheck::CallerCheck(Host& host, CallerRules rules)
    : host_(host), rules_(std::move(rules)), listeners_(host) {}

std::string CallerCheck::refusal(const HttpExchange& exchange) const {
  const std::vector<std::string_view> hosts = header_values(exchange, "host");
  if (hosts.size() != 1 || !is_allowed_host(hosts.front(), rules_.allowed_hosts))
    return cat("The console does not answer under this name. Add it to the option allowed_hosts of [plugin.",
               host_.instance_name(), "] if it is the server's.");
  for (const std::string_view origin : header_values(exchange, "origin")) {
    if (!is_origin_of(origin, hosts.front())) return "The console does not answer pages of another origin.";
  }
  // Where callers are known, whoever is let in without an identity may be so.
  if (may_act(exchange)) return {};
  const std::string open = open_listener();
  if (open.empty()) return {};
  return cat(
      "Without identities of callers the console answers only where the server listens on the loopback, and ",
      open,
      ". Set its option address to 127.0.0.1:PORT, or add a source of identities such as "
      "security/keys and give the permission console.read.");
}

bool CallerCheck::admits(const HttpExchange& exchange) {
  const std::vector<std::string_view> ids = header_values(exchange, Viewers::kHeader);
  return ids.empty() || viewers_.admits(ids.front(), host_.clock().now_ns());
}

bool CallerCheck::has_identities() const {
  Registry& registry = host_.registry();
  for (const ServiceInfo& info : registry.list(Access::kInterfaceId)) {
    const Result<Service<Access>> provider = registry.find<Access>(info.instance);
    if (provider.ok() && provider.value().minor() >= 1 && (provider.value()->roles() & kKnowsCallers) != 0)
      return true;
  }
  return false;
}

std::string CallerCheck::open_listener() const {
  const auto listeners = listeners_.hold();
  if (!listeners) return "it is not known where it listens";
  std::string open;
  bool any = false;
  listeners->visit([&](const Host& owner, int fd) {
    if (contains(rules_.ignored_listeners, owner.instance_name())) return;
    any = true;
    if (open.empty() && !is_local_socket(fd))
      open = cat("[plugin.", owner.instance_name(), "] listens for other machines, too");
  });
  if (!any) return "it is not known where it listens";
  return open;
}

}  // namespace atl::frontends::console
