/// The routes that other plugins bring (atoll.http_routes/1), as they come, are replaced and go.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/access.h"
#include "atoll/followed_service.h"
#include "atoll/http_routes.h"
#include "atoll/replaceable.h"

namespace atl::frontends::http {

struct ContributedRoute {
  std::string path;  ///< as the provider lists it
  uint32_t methods = 0;
  std::string category;                       ///< its name
  std::optional<ApiCategory> known_category;  ///< of the frontend's own; none: the plugin's
  uint32_t counted_as = 0;                    ///< for RequestCounters
  const Followed<HttpRoutes>* provider = nullptr;

  bool is_prefix() const noexcept { return path.back() == '*'; }
  bool allows(std::string_view method) const noexcept;
  /// "GET, POST"
  std::string allowed_methods() const;
};

/// All of them at one moment; never changed.
class RouteList {
 public:
  /// False: another one has this path.
  bool add(ContributedRoute route);
  /// Null: none fits. \param path  without its query
  const ContributedRoute* find(std::string_view path) const noexcept;
  /// Null: none is listed so.
  const ContributedRoute* listed(std::string_view path) const noexcept;

 private:
  std::map<std::string, ContributedRoute, std::less<>> whole_;
  std::vector<ContributedRoute> prefixes_;  ///< the longest first
};

class ContributedRoutes {
 public:
  explicit ContributedRoutes(Host& host) : host_(host) {}
  ~ContributedRoutes() { close(); }

  /// Takes what is there and follows the changes. [control] Errors: as EventBus::subscribe().
  Status open() noexcept;
  /// There are none from here on; returns when no request holds a provider. [control]
  void close() noexcept;

  /// The list that there is now; empty: none. [any]
  Replaceable<RouteList>::Hold list() const noexcept { return list_.hold(); }
  /// Name of a number that a route is counted as; empty: none has it. [any]
  std::string counted_name(uint32_t number) const noexcept;

 private:
  struct OnService {
    ContributedRoutes& routes;
    void operator()(const ServiceChanged& event) const noexcept {
      if (event.interface_id.view() == HttpRoutes::kInterfaceId) routes.follow_new();
    }
  };

  /// Follows providers that were not known yet; the others tell of their changes themselves.
  void follow_new() noexcept;
  void rebuild() noexcept;
  void add_routes_of(const std::string& instance, RouteList& list, std::set<std::string>& refusals);
  /// Why a route can not be served; empty: it can. Sets what the category decides.
  std::string complete(ContributedRoute& route);
  uint32_t number_of(const std::string& category);

  Host& host_;
  std::map<std::string, std::unique_ptr<Followed<HttpRoutes>>> providers_;  ///< by instance; kept
  std::set<std::string> refusals_;                                          ///< that were logged
  Replaceable<RouteList> list_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::vector<std::string> own_categories_;
  Subscription<ServiceChanged, OnService> services_changed_{OnService{*this}};
};

}  // namespace atl::frontends::http
