#include "thread_context.h"

#include <algorithm>
#include <array>

#include "common/wire_messages.h"
#include "generate_call.h"
#include "http_messages.h"
#include "infer_call.h"
#include "management_call.h"

namespace atl::frontends::http {
namespace {

bool same_name(std::string_view left, std::string_view right) noexcept {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(),
                                                   [&](char a, char b) { return lower(a) == lower(b); });
}

/// More than this many of the same header are as wrong as two.
constexpr size_t kMostPresented = 2;

bool has_key(const RestrictedAccess& restricted, ApiCategory category, std::string_view key,
             const RequestHead& head) noexcept {
  std::array<std::string_view, kMostPresented> presented;
  size_t count = 0;
  for (const HeaderField& field : head.fields) {
    if (count < kMostPresented && same_name(field.name, key)) presented[count++] = field.value;
  }
  return restricted.allows(category, {presented.data(), count});
}

}  // namespace

ThreadContext::ThreadContext(Backplane& shared, ServerThread& thread)
    : backplane(shared),
      infer_reader(InputLimits{shared.settings.max_input_bytes}),
      generate_reader(InputLimits{shared.settings.max_input_bytes}),
      buffers(thread.buffers),
      thread_(thread) {}

ThreadContext::~ThreadContext() = default;

void ThreadContext::judge(const RequestHead& head, Verdict& verdict) {
  if (has_unsafe_percent_code(head.path)) {
    return verdict.refuse(400, "the path has a percent code that no name can have");
  }
  Route& route = verdict.emplace_route<Route>();
  if (!find_route(head.path, &route)) {
    const bool known_method = head.method == "GET" || head.method == "POST";
    if (!known_method) verdict.extra = "Allow: GET, POST\r\n";
    return verdict.refuse(known_method ? 404 : 405,
                          known_method ? messages::kNotFound : messages::kMethodNotAllowed);
  }
  if (head.path.find('%') != std::string_view::npos && !decode_names(&route, &verdict.names)) {
    return verdict.refuse(400, "a name in the path is not UTF-8");
  }
  verdict.category = static_cast<uint32_t>(route.category);
  const RestrictedAccess& restricted = backplane.settings.restricted;
  const std::string* key = restricted.key_of(route.category);
  if (key != nullptr && !has_key(restricted, route.category, *key, head)) {
    verdict.refuse(403, frontends::messages::restricted("API", *key));
  } else if (!route.allows(head.method)) {
    verdict.refuse(405, messages::kMethodNotAllowed);
    verdict.extra = cat("Allow: ", route.allowed_methods(), "\r\n");
  }
}

Call* ThreadContext::make_call(const RequestHead&, Verdict& verdict) {
  const Route& route = verdict.route<Route>();
  switch (route.endpoint) {
    case Endpoint::kInfer:
      return InferCall::make(*this, route);
    case Endpoint::kGenerate:
    case Endpoint::kGenerateStream:
      return new GenerateCall(*this, route);
    default:
      return new ManagementCall(*this, route);
  }
}

}  // namespace atl::frontends::http
