/// The routes that other plugins bring (atoll.http_routes/1), as they come, are replaced and go.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/frontend/http_routes.h"
#include "frontends/common/call/contributed_providers.h"
#include "frontends/common/routes/route_path.h"

namespace atl::frontends::http {

struct ContributedRoute : Contribution<HttpRoutes> {
  uint32_t methods = 0;
  uint32_t methods_of_path = 0;  ///< those of the other routes of this path, too
  uint32_t counted_as = 0;       ///< for RequestCounters

  bool is_pattern() const noexcept { return path.find('*') != std::string::npos; }
  bool allows(std::string_view method) const noexcept;
  /// Of its path: "GET, POST"
  std::string allowed_methods() const;
};

/// All of them at one moment; never changed.
class RouteList {
 public:
  /// False: conflicting() finds another one.
  bool add(ContributedRoute route);
  /// Of the routes of the path that fits the one that takes the method, else its first. Null: none fits.
  /// \param path  without its query
  const ContributedRoute* find(std::string_view path, std::string_view method) const noexcept;
  /// One that has this path with one of these methods, or that another provider has; null: none.
  const ContributedRoute* conflicting(const ContributedRoute& route) const noexcept;

 private:
  /// All routes of one path: they are of one provider, and have no method in common.
  using PathRoutes = std::vector<ContributedRoute>;
  const PathRoutes* listed(std::string_view path) const noexcept;

  std::map<std::string, PathRoutes, std::less<>> whole_;
  std::vector<PathRoutes> patterns_;  ///< the one with the most bytes beside its stars first
};

class ContributedRoutes final : public ContributedProviders<HttpRoutes, RouteList, ContributedRoute> {
 public:
  explicit ContributedRoutes(Host& host) : ContributedProviders(host, "route") {}
  virtual ~ContributedRoutes() { close(); }

  /// Name of a number that a route is counted as; empty: none has it. [any]
  std::string counted_name(uint32_t number) const noexcept;

 private:
  std::vector<ContributedRoute> entries_of(const HttpRoutes& provider) override;
  std::string complete(ContributedRoute& route) override;
  uint32_t number_of(const std::string& category);

  mutable std::mutex mutex_;  ///< guards what follows
  std::vector<std::string> own_categories_;
};

}  // namespace atl::frontends::http
