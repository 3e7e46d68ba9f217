#include "pools/leases/book/lease_routes.h"

#include <algorithm>
#include <mutex>

#include "pools/leases/servers/instance.h"

namespace atl::pools {
namespace {

bool is_ending(const Lease& lease) { return lease.is_ending() || is_final(lease.state()); }

bool is_at(const PoolInstance& instance, const RemoteServer& server) {
  const HostPort& now = instance.address().http;
  // Its address is found out once more after a restart of this plugin.
  return now.host.empty() || (now.host == server.http.host && now.port == server.http.port);
}

Status not_ready(std::string_view model, std::string_view lease, std::string_view state) {
  return unavailable("model '", model, "' is not ready: lease '", lease, "' is ", state);
}

}  // namespace

void LeaseRoutes::add(const std::string& lease, Route route) {
  Owned& owned = owners_[route.owner];
  for (const std::string& name : route.names) owned.names[name] = lease;
  for (const std::string& model : route.models) owned.models[model].emplace(route.order, lease);
  routes_.insert_or_assign(lease, std::move(route));
}

void LeaseRoutes::erase(Routes::iterator route) {
  const auto owner = owners_.find(route->second.owner);
  Owned& owned = owner->second;
  for (const std::string& name : route->second.names) {
    const auto found = owned.names.find(name);
    if (found != owned.names.end() && found->second == route->first) owned.names.erase(found);
  }
  for (const std::string& model : route->second.models) {
    const auto found = owned.models.find(model);
    if (found == owned.models.end()) continue;
    found->second.erase({route->second.order, route->first});
    if (found->second.empty()) owned.models.erase(found);
  }
  // Each lease has a model, so an owner without models has no lease.
  if (owned.models.empty()) owners_.erase(owner);
  routes_.erase(route);
}

void LeaseRoutes::inherit(const LeaseRoutes& earlier) {
  Routes inherited;
  {
    const std::shared_lock lock(earlier.mutex_);
    inherited = earlier.routes_;
  }
  std::erase_if(inherited, [](const auto& route) { return !route.second.is_ready; });
  const std::unique_lock lock(mutex_);
  for (auto& [lease, route] : inherited) {
    route.is_inherited = true;
    route.state.clear();  // settle() removes it, unless it is updated before
    add(lease, std::move(route));
  }
}

void LeaseRoutes::settle() {
  const std::unique_lock lock(mutex_);
  for (auto route = routes_.begin(); route != routes_.end();) {
    const auto next = std::next(route);
    if (route->second.state.empty()) erase(route);
    route = next;
  }
}

void LeaseRoutes::update(const Lease& lease, uint64_t order,
                         const std::set<std::string, std::less<>>& names) {
  if (is_ending(lease)) return remove(lease.id());
  Route route;
  route.order = order;
  route.names = names;
  for (const LeaseModel& model : lease.record.definition.models) route.models.push_back(model.name);
  route.state = name_of(lease.state());
  route.owner = lease.record.definition.owner;
  const PoolInstance* const instance = lease.instance();
  const std::unique_lock lock(mutex_);
  const auto known = routes_.find(lease.id());
  if (lease.state() == LeaseState::kActive && instance != nullptr) {
    route.is_ready = true;
    route.server = {instance->address().http, instance->address().grpc};
  } else if (known != routes_.end() && known->second.is_inherited && instance != nullptr &&
             is_at(*instance, known->second.server)) {
    // Its models are loaded there, and are only being asked for again.
    route.is_ready = route.is_inherited = true;
    route.server = known->second.server;
  }
  if (known != routes_.end()) erase(known);
  add(lease.id(), std::move(route));
}

void LeaseRoutes::remove(std::string_view lease) {
  const std::unique_lock lock(mutex_);
  if (const auto found = routes_.find(lease); found != routes_.end()) erase(found);
}

Result<RemoteServer> LeaseRoutes::find_of(std::string_view owner, std::string_view model,
                                          std::string_view lease) const {
  const auto owned = owners_.find(owner);
  if (owned == owners_.end()) return not_found("lease '", lease, "' is not found, or has ended");
  const auto named = owned->second.names.find(lease);
  const auto route =
      routes_.find(named == owned->second.names.end() ? lease : std::string_view(named->second));
  if (route == routes_.end() || route->second.owner != owner)
    return not_found("lease '", lease, "' is not found, or has ended");
  if (std::ranges::find(route->second.models, model) == route->second.models.end())
    return not_found("lease '", lease, "' has no model '", model, "'");
  if (!route->second.is_ready) return not_ready(model, lease, route->second.state);
  return route->second.server;
}

Result<RemoteServer> LeaseRoutes::find_for(std::string_view owner, std::string_view model,
                                           std::string_view lease) noexcept {
  const std::shared_lock lock(mutex_);
  if (!lease.empty()) return find_of(owner, model, lease);
  const auto owned = owners_.find(owner);
  if (owned == owners_.end()) return not_found("no lease has a model '", model, "'");
  const auto leases = owned->second.models.find(model);
  if (leases == owned->second.models.end()) return not_found("no lease has a model '", model, "'");
  for (const auto& [order, id] : leases->second) {
    const Route& route = routes_.find(id)->second;
    if (route.is_ready) return route.server;
  }
  const std::string& oldest = leases->second.begin()->second;
  return not_ready(model, oldest, routes_.find(oldest)->second.state);
}

std::vector<RemoteModel> LeaseRoutes::list_for(std::string_view owner) noexcept {
  const std::shared_lock lock(mutex_);
  std::multimap<uint64_t, Routes::const_iterator> by_age;
  for (auto route = routes_.cbegin(); route != routes_.cend(); ++route) {
    if (route->second.owner == owner) by_age.emplace(route->second.order, route);
  }
  std::vector<RemoteModel> models;
  for (const auto& [order, found] : by_age) {
    const Route& route = found->second;
    for (const std::string& name : route.models) {
      RemoteModel& model = models.emplace_back();
      model.name = name;
      model.lease = found->first;
      model.lease_names = {route.names.begin(), route.names.end()};
      model.is_ready = route.is_ready;
      if (!route.is_ready) model.reason = cat("lease ", found->first, " is ", route.state);
      model.server = route.server;
    }
  }
  return models;
}

}  // namespace atl::pools
