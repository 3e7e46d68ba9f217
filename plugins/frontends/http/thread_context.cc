#include "frontends/http/thread_context.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/http/header_name.h"
#include "frontends/common/management/remote_server.h"
#include "frontends/http/generate_call.h"
#include "frontends/http/http_messages.h"
#include "frontends/http/infer_call.h"
#include "frontends/http/management/page_rule.h"
#include "frontends/http/management_call.h"
#include "frontends/http/management_endpoints.h"
#include "frontends/http/pass_on_call.h"
#include "frontends/http/route_call.h"

namespace atl::frontends::http {
namespace {

constexpr std::string_view kUnsafeCode = "the path has a percent code that no name can have";

void refuse_method(Verdict& verdict, std::string_view allowed) {
  verdict.refuse(405, messages::kMethodNotAllowed);
  verdict.extra = cat("Allow: ", allowed, "\r\n");
}

/// Whether another server that has the model can answer.
bool is_about_a_model(Endpoint endpoint) noexcept {
  switch (endpoint) {
    case Endpoint::kModelReady:
    case Endpoint::kModelMetadata:
    case Endpoint::kModelConfig:
    case Endpoint::kStatistics:
    case Endpoint::kInfer:
    case Endpoint::kGenerate:
    case Endpoint::kGenerateStream:
      return true;
    default:
      return false;
  }
}

}  // namespace

ThreadContext::ThreadContext(HttpContext& shared, ServerThread& thread)
    : frontend(shared),
      infer_reader(InputLimits{shared.settings.max_input_bytes}),
      generate_reader(InputLimits{shared.settings.max_input_bytes}),
      buffers(thread.buffers),
      remote_connections(thread.loop, shared.server),
      thread_(thread) {}

ThreadContext::~ThreadContext() = default;

void ThreadContext::judge(RequestHead& head, Verdict& verdict) {
  Route& route = verdict.emplace_route<Route>();
  if (!frontend.settings.only_routes.empty() && !answers(head.path)) {
    return verdict.refuse(404, messages::kNotFound);
  }
  if (find_route(head.path, &route)) return judge_own(head, verdict);
  const auto routes = frontend.routes->list();
  const ContributedRoute* const contributed = routes ? routes->find(head.path, head.method) : nullptr;
  const bool takes_any_rest = contributed != nullptr && contributed->is_pattern();
  if (has_unsafe_percent_code(head.path, takes_any_rest)) return verdict.refuse(400, kUnsafeCode);
  judge_contributed(contributed, head, verdict);
  if (contributed == nullptr || verdict.http_status != 0) return;
  if (rewrite(*contributed, head, verdict)) judge_own(head, verdict);
}

bool ThreadContext::answers(std::string_view path) const noexcept {
  const auto& paths = frontend.settings.only_routes;
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& pattern) { return fits_route(pattern, path); });
}

bool ThreadContext::rewrite(const ContributedRoute& route, RequestHead& head, Verdict& verdict) {
  const auto provider = route.provider->hold();
  if (!provider || provider.minor() < 2) return false;
  verdict.rewrite = provider->rewrite(route.path, {head.method, head.path, head.fields});
  if (verdict.rewrite.path.empty()) return false;
  head.path = head.target = verdict.rewrite.path;
  head.binary_type = verdict.rewrite.binary_type;
  if (!verdict.rewrite.json_length.empty()) {
    head.has_json_length = true;
    head.json_length = verdict.rewrite.json_length;
  }
  verdict.own_category = {};
  if (!find_route(head.path, &verdict.emplace_route<Route>())) verdict.refuse(404, messages::kNotFound);
  return verdict.http_status == 0;
}

void ThreadContext::judge_own(const RequestHead& head, Verdict& verdict) {
  Route& route = verdict.route<Route>();
  if (has_unsafe_percent_code(head.path)) return verdict.refuse(400, kUnsafeCode);
  if (head.path.find('%') != std::string_view::npos && !decode_names(&route, &verdict.names)) {
    return verdict.refuse(400, "a name in the path is not UTF-8");
  }
  verdict.category = static_cast<uint32_t>(route.category);
  verdict.guarded = route.category;
  verdict.is_probe = is_health(route.endpoint);
  verdict.goes_on = route.endpoint == Endpoint::kGenerateStream;
  // Where the request only stands for the call, the method is that of its own route.
  if (verdict.rewrite.path.empty() && !route.allows(head.method))
    refuse_method(verdict, route.allowed_methods());
  refuse_page(head, verdict);
}

void ThreadContext::refuse_page(const RequestHead& head, Verdict& verdict) {
  const std::string_view why =
      page_refusal(head, *verdict.guarded, frontend.settings.server.cors, frontend.settings.is_loopback);
  if (!why.empty() && verdict.http_status == 0) verdict.refuse(403, why);
}

void ThreadContext::judge_contributed(const ContributedRoute* route, const RequestHead& head,
                                      Verdict& verdict) {
  if (route == nullptr) {
    // Of the protocol's own paths a method that none of them has is told first, as Triton does.
    const bool known_method = head.method == "GET" || head.method == "POST" ||
                              (head.path.starts_with('/') && !head.path.starts_with("/v2"));
    if (known_method) {
      verdict.refuse(404, messages::kNotFound);
    } else {
      refuse_method(verdict, "GET, POST");
    }
    return;
  }
  verdict.emplace_route<Route>().endpoint = Endpoint::kContributed;
  verdict.category = route->counted_as;
  verdict.guarded = route->known_category.value_or(ApiCategory::kOther);
  verdict.goes_on = true;
  verdict.names.assign(route->category.begin(), route->category.end());
  verdict.own_category = {verdict.names.data(), verdict.names.size()};
  if (!route->allows(head.method)) refuse_method(verdict, route->allowed_methods());
  refuse_page(head, verdict);
}

Call* ThreadContext::make_contributed(const RequestHead& head, Verdict& verdict) {
  // Routes may have changed while the body came: no provider is held for that long. What the caller may call was
  // asked about the category that it had then.
  const std::string asked(verdict.names.begin(), verdict.names.end());
  verdict.reset();
  const auto routes = frontend.routes->list();
  const ContributedRoute* route = routes ? routes->find(head.path, head.method) : nullptr;
  judge_contributed(route, head, verdict);
  if (route != nullptr && route->category != asked) verdict.refuse(404, messages::kNotFound);
  if (verdict.http_status != 0) return nullptr;
  if (auto provider = route->provider->hold()) {
    return new RouteCall(*this, std::move(provider), route->path);
  }
  verdict.refuse(404, messages::kNotFound);
  return nullptr;
}

void ThreadContext::on_refused(const RequestHead& head, Verdict& verdict) {
  if (verdict.route<Route>().endpoint != Endpoint::kContributed) return;
  const auto routes = frontend.routes->list();
  const ContributedRoute* route = routes ? routes->find(head.path, head.method) : nullptr;
  if (route == nullptr) return;
  const auto provider = route->provider->hold();
  if (!provider || provider.minor() < 1) return;
  HttpReply reply{.status = verdict.http_status};
  verdict.body = provider->refusal(route->path, reply, verdict.text);
  verdict.body_type = reply.content_type.empty() ? kJsonType : reply.content_type;
}

void ThreadContext::describe(const Verdict& verdict, CallReport& report) {
  const Route& route = verdict.route<Route>();
  report.set_model(route.model, route.version);
}

Call* ThreadContext::make_passed_on(const RequestHead& head, Verdict& verdict) {
  const Route route = verdict.route<Route>();
  std::string_view lease;
  for (const HeaderField& field : head.fields) {
    if (is_named(field.name, RemoteModels::kLeaseHeader)) lease = field.value;
  }
  Result<std::optional<RemoteServer>> server =
      find_remote_server(frontend.server, identity_of(head.identity), route.model, lease);
  if (server.ok()) return *server ? new PassOnCall(*this, route, std::move(**server)) : nullptr;
  // One that is not ready is no failure of the question whether it is.
  if (route.endpoint != Endpoint::kModelReady)
    verdict.refuse(http_status(server.status().code()), client_text(server.status()));
  return nullptr;
}

Call* ThreadContext::make_call(const RequestHead& head, Verdict& verdict) {
  const Route& route = verdict.route<Route>();
  // Where a model is that the caller may not see is nothing to be told either.
  if (has_remote_models(frontend.server) && is_about_a_model(route.endpoint) &&
      may_use(identity_of(head.identity), route.category, route.model)) {
    Call* const call = make_passed_on(head, verdict);
    if (call != nullptr || verdict.http_status != 0) return call;
  }
  switch (route.endpoint) {
    case Endpoint::kInfer:
      return HttpInferCall::make(*this, route);
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
