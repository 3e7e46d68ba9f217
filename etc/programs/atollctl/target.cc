#include "target.h"

#include <algorithm>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/lib/http_caller.h"
#include "atoll/runtime/escape.h"

namespace atl::ctl {
namespace {

constexpr size_t kAnswerBytesMax = size_t{256} << 20;
constexpr size_t kShownBytesMax = 200;
constexpr std::string_view kEvent = "data: ", kEventEnd = "\n\n";

/// Takes the whole events away from the beginning of what has come.
void take_events(std::string& text, const std::function<void(nlohmann::json)>& on_event) {
  for (size_t end; text.starts_with(kEvent) && (end = text.find(kEventEnd)) != std::string::npos;) {
    nlohmann::json event =
        nlohmann::json::parse(text.substr(kEvent.size(), end - kEvent.size()), nullptr, false);
    text.erase(0, end + kEventEnd.size());
    if (!event.is_discarded()) on_event(std::move(event));
  }
}

/// The failure of an answer without JSON, such as that of a proxy or of a port that speaks TLS; it shows the first line.
Status no_json(const std::string& url, int status, std::string_view body) {
  std::string shown;
  runtime::append_escaped(shown, body.substr(0, std::min(body.find_first_of("\r\n"), kShownBytesMax)));
  return unavailable(url, " answers with status ", status, " and something that is no JSON: ", shown);
}

/// libcurl's words for a port of another protocol are no help to who has written the wrong port.
std::string explained(std::string_view message) {
  const auto has = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  if (has("HTTP/0.9")) return cat(message, ": what answers there is no HTTP; is it the port of gRPC?");
  if (has("wrong version number")) return cat(message, ": the port speaks no TLS; use http:// as scheme");
  return std::string(message);
}

}  // namespace

Result<Answer> HttpTarget::call(const char* method, const std::string& path, const nlohmann::json& body) {
  return perform({.method = method}, path, body);
}

Result<Answer> HttpTarget::follow(const std::string& path, const nlohmann::json& body,
                                  const std::function<void(const nlohmann::json&)>& on_event) {
  nlohmann::json last;
  HttpRequest request{.method = "POST", .headers = {"Accept: text/event-stream"}};
  request.on_body = [&](std::string& text) {
    take_events(text, [&](nlohmann::json event) {
      on_event(event);
      last = std::move(event);
    });
  };
  Result<Answer> answer = perform(std::move(request), path, body);
  if (answer.ok() && answer->body.is_null()) answer->body = std::move(last);
  return answer;
}

Result<Answer> HttpTarget::perform(HttpRequest request, const std::string& path, const nlohmann::json& body) {
  const bool has_scheme = settings_.url.find("://") != std::string::npos;
  request.url = cat(has_scheme ? "" : "http://", settings_.url, path);
  if (!body.is_null()) request.body = body.dump();
  if (!settings_.token.empty()) request.headers.push_back("Authorization: Bearer " + settings_.token);
  if (!settings_.header.empty()) request.headers.push_back(settings_.header);
  request.timeout_ns = settings_.timeout_s * kNsPerSecond;
  request.answer_bytes_max = kAnswerBytesMax;
  request.uses_proxy = true;
  request.ca_file = settings_.ca_file;
  request.cert_file = settings_.cert_file;
  request.key_file = settings_.key_file;
  HttpCaller caller;
  ATOLL_RETURN_IF_ERROR(caller.open());
  Result<HttpAnswer> found = caller.call(request);
  if (!found.ok()) return unavailable(explained(found.status().message()));
  Answer answer{found->status, {}};
  if (!found->body.empty()) answer.body = nlohmann::json::parse(found->body, nullptr, false);
  if (answer.body.is_discarded()) return no_json(settings_.url, answer.status, found->body);
  return answer;
}

}  // namespace atl::ctl
