#include "frontends/http/contributed_routes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "atoll/text.h"
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

/// Why a path can not be a route's; empty: it can.
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

Status ContributedRoutes::open() noexcept {
  follow_new();
  return services_changed_.open(host_.events(), {.depth = 4096});
}

void ContributedRoutes::close() noexcept {
  services_changed_.reset();
  for (const auto& [instance, provider] : providers_) provider->close();
}

std::string ContributedRoutes::counted_name(uint32_t number) const noexcept {
  std::lock_guard lock(mutex_);
  if (number < kApiCategoryCount || number - kApiCategoryCount >= own_categories_.size()) return {};
  return own_categories_[number - kApiCategoryCount];
}

void ContributedRoutes::follow_new() noexcept {
  bool is_new = false;
  for (const ServiceInfo& info : host_.registry().list(HttpRoutes::kInterfaceId)) {
    auto& provider = providers_[info.instance];
    if (provider != nullptr) continue;
    is_new = true;
    provider = std::make_unique<Followed<HttpRoutes>>(
        host_, [this, name = info.instance] { return host_.registry().find<HttpRoutes>(name); },
        [this] { rebuild(); });
    if (Status status = provider->open(); !status.ok()) {
      host_.log().warning("changes of the routes of '", info.instance, "' are not seen: ", status.message());
    }
  }
  if (is_new) rebuild();
}

void ContributedRoutes::rebuild() noexcept {
  std::vector<ServiceInfo> infos = host_.registry().list(HttpRoutes::kInterfaceId);
  std::stable_sort(infos.begin(), infos.end(),
                   [](const ServiceInfo& left, const ServiceInfo& right) { return left.rank > right.rank; });
  RouteList list;
  std::set<std::string> refusals;
  for (const ServiceInfo& info : infos) add_routes_of(info.instance, list, refusals);
  for (const std::string& refusal : refusals) {
    if (!refusals_.contains(refusal)) host_.log().warning(refusal);
  }
  refusals_ = std::move(refusals);
  list_.replace(std::move(list));
}

void ContributedRoutes::add_routes_of(const std::string& instance, RouteList& list,
                                      std::set<std::string>& refusals) {
  const auto found = providers_.find(instance);
  if (found == providers_.end() || found->second == nullptr) return;
  const auto provider = found->second->hold();
  if (!provider) return;
  for (HttpRoute& listed : provider->routes()) {
    ContributedRoute route{.path = std::move(listed.path),
                           .methods = listed.methods,
                           .category = std::move(listed.category),
                           .known_category = {},
                           .provider = found->second.get()};
    std::string reason = complete(route);
    if (reason.empty()) {
      if (const ContributedRoute* other = list.listed(route.path); other != nullptr) {
        const auto of = std::find_if(providers_.begin(), providers_.end(), [&](const auto& known) {
          return known.second.get() == other->provider;
        });
        reason = of->first == instance ? "it is listed twice" : cat("'", of->first, "' has it already");
      }
    }
    if (!reason.empty()) {
      refusals.insert(cat("the route '", route.path, "' of '", instance, "' is not served: ", reason));
      continue;
    }
    list.add(std::move(route));
  }
}

std::string ContributedRoutes::complete(ContributedRoute& route) {
  if (std::string_view wrong = wrong_path(route.path); !wrong.empty()) return std::string(wrong);
  if (route.allowed_methods().empty()) return "it has no method";
  for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
    if (route.category != api_category_name(static_cast<ApiCategory>(i))) continue;
    route.known_category = static_cast<ApiCategory>(i);
    route.counted_as = i;
    return {};
  }
  if (!is_own_category(route.category)) {
    return cat("its category '", route.category,
               "' is none of the frontend's, and one of a plugin's own has a dot inside");
  }
  route.counted_as = number_of(route.category);
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
