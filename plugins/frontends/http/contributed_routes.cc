#include "frontends/http/contributed_routes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/common/http/request_counters.h"
#include "frontends/http/route_table.h"

namespace atl::frontends::http {
namespace {

/// Categories of plugins that are counted by name; further ones are counted as "other".
constexpr uint32_t kMostOwnCategories = RequestCounters::kUnjudged - kApiCategoryCount;

struct Method {
  uint32_t bit;
  std::string_view name;
};
constexpr Method kMethods[] = {{kHttpGet, "GET"},        {kHttpPost, "POST"}, {kHttpPut, "PUT"},
                               {kHttpDelete, "DELETE"},  {kHttpHead, "HEAD"}, {kHttpPatch, "PATCH"},
                               {kHttpOptions, "OPTIONS"}};

/// Why a path cannot be another plugin's route; empty: it can.
std::string_view wrong_path(std::string_view path) noexcept {
  if (std::string_view wrong = wrong_route_path(path); !wrong.empty()) return wrong;
  Route route;
  if (path.find('*') == std::string_view::npos && find_route(path, &route))
    return "the path is this frontend's own";
  return {};
}

/// Bytes of a pattern that a path has to have as they are.
size_t fixed_bytes(std::string_view pattern) noexcept {
  return pattern.size() - static_cast<size_t>(std::count(pattern.begin(), pattern.end(), '*'));
}

}  // namespace

bool ContributedRoute::allows(std::string_view method) const noexcept {
  return std::any_of(std::begin(kMethods), std::end(kMethods),
                     [&](const Method& known) { return (methods & known.bit) != 0 && known.name == method; });
}

std::string ContributedRoute::allowed_methods() const {
  std::string names;
  for (const Method& known : kMethods) {
    if (((methods | methods_of_path) & known.bit) != 0) names += cat(names.empty() ? "" : ", ", known.name);
  }
  return names;
}

bool RouteList::add(ContributedRoute route) {
  if (conflicting(route) != nullptr) return false;
  auto* routes = const_cast<PathRoutes*>(listed(route.path));
  if (routes == nullptr && !route.is_pattern()) {
    routes = &whole_[route.path];
  } else if (routes == nullptr) {
    const size_t fixed = fixed_bytes(route.path);
    const auto at = std::find_if(patterns_.begin(), patterns_.end(), [&](const PathRoutes& other) {
      const size_t others = fixed_bytes(other.front().path);
      return others < fixed || (others == fixed && other.front().path > route.path);
    });
    routes = &*patterns_.insert(at, PathRoutes());
  }
  routes->push_back(std::move(route));
  uint32_t methods = 0;
  for (const ContributedRoute& one : *routes) methods |= one.methods;
  for (ContributedRoute& one : *routes) one.methods_of_path = methods;
  return true;
}

const ContributedRoute* RouteList::find(std::string_view path, std::string_view method) const noexcept {
  const PathRoutes* routes = nullptr;
  if (const auto whole = whole_.find(path); whole != whole_.end()) routes = &whole->second;
  for (size_t i = 0; routes == nullptr && i < patterns_.size(); ++i) {
    if (fits_route(patterns_[i].front().path, path)) routes = &patterns_[i];
  }
  if (routes == nullptr) return nullptr;
  const auto found = std::find_if(routes->begin(), routes->end(),
                                  [&](const ContributedRoute& one) { return one.allows(method); });
  return found == routes->end() ? &routes->front() : &*found;
}

const ContributedRoute* RouteList::conflicting(const ContributedRoute& route) const noexcept {
  const PathRoutes* const routes = listed(route.path);
  if (routes == nullptr) return nullptr;
  for (const ContributedRoute& one : *routes) {
    if (one.provider != route.provider || (one.methods & route.methods) != 0) return &one;
  }
  return nullptr;
}

const RouteList::PathRoutes* RouteList::listed(std::string_view path) const noexcept {
  if (const auto whole = whole_.find(path); whole != whole_.end()) return &whole->second;
  for (const PathRoutes& routes : patterns_) {
    if (routes.front().path == path) return &routes;
  }
  return nullptr;
}

std::string ContributedRoutes::counted_name(uint32_t number) const noexcept {
  std::lock_guard lock(mutex_);
  if (number < kApiCategoryCount || number - kApiCategoryCount >= own_categories_.size()) return {};
  return own_categories_[number - kApiCategoryCount];
}

std::vector<ContributedRoute> ContributedRoutes::entries_of(const HttpRoutes& provider) {
  std::vector<ContributedRoute> routes;
  for (HttpRoute& listed : provider.routes()) {
    ContributedRoute& route = routes.emplace_back();
    route.path = std::move(listed.path);
    route.category = std::move(listed.category);
    route.methods = listed.methods;
  }
  return routes;
}

std::string ContributedRoutes::complete(ContributedRoute& route) {
  if (std::string_view wrong = wrong_path(route.path); !wrong.empty()) return std::string(wrong);
  if (route.allowed_methods().empty()) return "it has no method";
  if (std::string wrong = route.judge_category(); !wrong.empty()) return wrong;
  route.counted_as =
      route.known_category ? static_cast<uint32_t>(*route.known_category) : number_of(route.category);
  return {};
}

uint32_t ContributedRoutes::number_of(const std::string& category) {
  std::lock_guard lock(mutex_);
  const auto known = std::find(own_categories_.begin(), own_categories_.end(), category);
  if (known == own_categories_.end()) {
    if (own_categories_.size() == kMostOwnCategories) return RequestCounters::kUnjudged;
    own_categories_.push_back(category);
    return kApiCategoryCount + static_cast<uint32_t>(own_categories_.size() - 1);
  }
  return kApiCategoryCount + static_cast<uint32_t>(known - own_categories_.begin());
}

}  // namespace atl::frontends::http
