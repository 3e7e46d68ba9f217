#include "dispatch.h"

#include <algorithm>
#include <array>

#include "common/wire_messages.h"
#include "generate_call.h"
#include "http_messages.h"
#include "infer_call.h"
#include "management_call.h"
#include "request_counters.h"
#include "thread_context.h"

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

void refuse(Verdict* verdict, int http_status, std::string_view text) {
  verdict->http_status = http_status;
  verdict->text = text;
}

}  // namespace

Verdict judge(const Settings& settings, const RequestHead& head) {
  Verdict verdict;
  verdict.category = RequestCounters::kOther;
  if (has_unsafe_percent_code(head.path)) {
    refuse(&verdict, 400, "the path has a percent code that no name can have");
    return verdict;
  }
  if (!find_route(head.path, &verdict.route)) {
    const bool known_method = head.method == "GET" || head.method == "POST";
    refuse(&verdict, known_method ? 404 : 405,
           known_method ? messages::kNotFound : messages::kMethodNotAllowed);
    if (!known_method) verdict.extra = "Allow: GET, POST\r\n";
    return verdict;
  }
  if (head.path.find('%') != std::string_view::npos && !decode_names(&verdict.route, &verdict.names)) {
    refuse(&verdict, 400, "a name in the path is not UTF-8");
    return verdict;
  }
  const ApiCategory category = verdict.route.category;
  verdict.category = static_cast<uint32_t>(category);
  const std::string* key = settings.restricted.key_of(category);
  if (key != nullptr && !has_key(settings.restricted, category, *key, head)) {
    refuse(&verdict, 403, frontends::messages::restricted("API", *key));
  } else if (!verdict.route.allows(head.method)) {
    refuse(&verdict, 405, messages::kMethodNotAllowed);
    verdict.extra = cat("Allow: ", verdict.route.allowed_methods(), "\r\n");
  }
  return verdict;
}

Call* make_call(ThreadContext& context, const Route& route) {
  switch (route.endpoint) {
    case Endpoint::kInfer:
      return InferCall::make(context, route);
    case Endpoint::kGenerate:
    case Endpoint::kGenerateStream:
      return new GenerateCall(context, route);
    default:
      return new ManagementCall(context, route);
  }
}

}  // namespace atl::frontends::http
