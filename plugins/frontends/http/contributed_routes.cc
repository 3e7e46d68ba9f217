#include "frontends/http/contributed_routes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/common/http/request_counters.h"
#include "frontends/http/route_table.h"

namespace atl::frontends::http {
namespace {

constexpr size_t kMostPathBytes = 1024;
/// Categories of plugins that are counted by name; further ones are counted as "other".
constexpr uint32_t kMostOwnCategories = RequestCounters::kUnjudged - kApiCategoryCount;

struct Method {
  uint32_t bit;
  std::string_view name;
};
constexpr Method kMethods[] = {{kHttpGet, "GET"},        {kHttpPost, "POST"}, {kHttpPut, "PUT"},
                               {kHttpDelete, "DELETE"},  {kHttpHead, "HEAD"}, {kHttpPatch, "PATCH"},
                               {kHttpOptions, "OPTIONS"}};

/// Why a path cannot be a route's; empty: it can.
std::string_view wrong_path(std::string_view path) noexcept {
  if (path.empty() || path.front() != '/') return "its path does not begin with '/'";
  if (path.size() > kMostPathBytes) return "its path has more than 1,024 bytes";
  const size_t star = path.find('*');
  if (star != std::string_view::npos && star + 1 != path.size()) return "'*' is not at its path's end";
  for (char c : path) {
    if (c <= ' ' || c == 0x7F || c == '?') return "its path has a character that no path can have";
  }
  Route route;
  if (star == std::string_view::npos && find_route(path, &route)) return "the path is this frontend's own";
  return {};
}

}  // namespace

bool ContributedRoute::allows(std::string_view method) const noexcept {
  return std::any_of(std::begin(kMethods), std::end(kMethods),
                     [&](const Method& known) { return (methods & known.bit) != 0 && known.name == method; });
}

std::string ContributedRoute::allowed_methods() const {
  std::string names;
  for (const Method& known : kMethods) {
    if ((methods & known.bit) != 0) names += cat(names.empty() ? "" : ", ", known.name);
  }
  return names;
}

bool RouteList::add(ContributedRoute route) {
  if (listed(route.path) != nullptr) return false;
  if (!route.is_prefix()) {
    std::string path = route.path;
    whole_.emplace(std::move(path), std::move(route));
    return true;
  }
  auto at = std::find_if(prefixes_.begin(), prefixes_.end(),
                         [&](const auto& other) { return other.path.size() < route.path.size(); });
  prefixes_.insert(at, std::move(route));
  return true;
}

const ContributedRoute* RouteList::find(std::string_view path) const noexcept {
  if (const auto whole = whole_.find(path); whole != whole_.end()) return &whole->second;
  for (const ContributedRoute& route : prefixes_) {
    if (path.starts_with(std::string_view(route.path).substr(0, route.path.size() - 1))) return &route;
  }
  return nullptr;
}

const ContributedRoute* RouteList::listed(std::string_view path) const noexcept {
  if (const auto whole = whole_.find(path); whole != whole_.end()) return &whole->second;
  for (const ContributedRoute& route : prefixes_) {
    if (route.path == path) return &route;
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
