#include "thread_context.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/wire_messages.h"
#include "generate_call.h"
#include "http_messages.h"
#include "infer_call.h"
#include "management_call.h"
#include "route_call.h"

namespace atl::frontends::http {
namespace {

bool same_name(std::string_view left, std::string_view right) noexcept {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(),
                                                   [&](char a, char b) { return lower(a) == lower(b); });
}

/// More than this many of the same header are as wrong as two.
constexpr size_t kMostPresented = 2;

/// Whether the head has the key that calls of this category need; if not, the verdict is a refusal. The one
/// place where that is judged. \param category  an ApiCategory, or the name of one that a plugin brings
template <class Category>
bool may_call(const RestrictedAccess& restricted, Category category, const RequestHead& head,
              Verdict& verdict) {
  const std::string* key = restricted.key_of(category);
  if (key == nullptr) return true;
  std::array<std::string_view, kMostPresented> presented;
  size_t count = 0;
  for (const HeaderField& field : head.fields) {
    if (count < kMostPresented && same_name(field.name, *key)) presented[count++] = field.value;
  }
  if (restricted.allows(category, {presented.data(), count})) return true;
  verdict.refuse(403, frontends::messages::restricted("API", *key));
  return false;
}

void refuse_method(Verdict& verdict, std::string_view allowed) {
  verdict.refuse(405, messages::kMethodNotAllowed);
  verdict.extra = cat("Allow: ", allowed, "\r\n");
}

}  // namespace

ThreadContext::ThreadContext(Backplane& shared, ServerThread& thread)
    : backplane(shared),
      infer_reader(InputLimits{shared.settings.max_input_bytes}),
      generate_reader(InputLimits{shared.settings.max_input_bytes}),
      buffers(thread.buffers),
      thread_(thread),
      routes_(*shared.routes) {}

ThreadContext::~ThreadContext() = default;

void ThreadContext::judge(const RequestHead& head, Verdict& verdict) {
  if (has_unsafe_percent_code(head.path)) {
    return verdict.refuse(400, "the path has a percent code that no name can have");
  }
  Route& route = verdict.emplace_route<Route>();
  if (!find_route(head.path, &route)) {
    (void)judge_contributed(head, verdict);
    return;
  }
  if (head.path.find('%') != std::string_view::npos && !decode_names(&route, &verdict.names)) {
    return verdict.refuse(400, "a name in the path is not UTF-8");
  }
  verdict.category = static_cast<uint32_t>(route.category);
  if (!may_call(backplane.settings.restricted, route.category, head, verdict)) return;
  if (!route.allows(head.method)) refuse_method(verdict, route.allowed_methods());
}

const ContributedRoute* ThreadContext::judge_contributed(const RequestHead& head, Verdict& verdict) {
  const ContributedRoute* route = routes_.find(head.path);
  if (route == nullptr) {
    const bool known_method = head.method == "GET" || head.method == "POST";
    if (known_method) {
      verdict.refuse(404, messages::kNotFound);
    } else {
      refuse_method(verdict, "GET, POST");
    }
    return nullptr;
  }
  verdict.emplace_route<Route>().endpoint = Endpoint::kContributed;
  verdict.category = route->counted_as;
  const RestrictedAccess& restricted = backplane.settings.restricted;
  const bool may = route->known_category
                       ? may_call(restricted, *route->known_category, head, verdict)
                       : may_call(restricted, std::string_view(route->category), head, verdict);
  if (may && !route->allows(head.method)) refuse_method(verdict, route->allowed_methods());
  return route;
}

Call* ThreadContext::make_contributed(const RequestHead& head, Verdict& verdict) {
  // Routes may have changed while the body came: no provider is held for that long.
  verdict.reset();
  const ContributedRoute* route = judge_contributed(head, verdict);
  if (verdict.http_status != 0) return nullptr;
  if (auto provider = route->provider->hold()) {
    return new RouteCall(*this, std::move(provider), route->path);
  }
  verdict.refuse(404, messages::kNotFound);
  return nullptr;
}

Call* ThreadContext::make_call(const RequestHead& head, Verdict& verdict) {
  const Route& route = verdict.route<Route>();
  switch (route.endpoint) {
    case Endpoint::kInfer:
      return InferCall::make(*this, route);
    case Endpoint::kGenerate:
    case Endpoint::kGenerateStream:
      return new GenerateCall(*this, route);
    case Endpoint::kContributed:
      return make_contributed(head, verdict);
    default:
      return new ManagementCall(*this, route);
  }
}

}  // namespace atl::frontends::http
