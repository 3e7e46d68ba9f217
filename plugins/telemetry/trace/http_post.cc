#include "telemetry/trace/http_post.h"

#include <algorithm>

namespace atl::tracing {
namespace {

/// OTLP names these answers as those to try again after.
bool is_retryable(int code) noexcept { return code == 429 || code == 502 || code == 503 || code == 504; }

}  // namespace

Result<std::string> whole_url(const std::string& url) {
  std::string whole = url.find("://") == std::string::npos ? cat("http://", url) : url;
  if (is_http_url(whole)) return whole;
  return invalid_argument("option 'url' is '", url, "', expected [http://]host[:port]/path or https://...");
}

Result<std::unique_ptr<Transport>> HttpTransport::create(const std::string& url) {
  Result<std::string> whole = whole_url(url);
  if (!whole.ok()) return std::move(whole).status();
  std::unique_ptr<HttpTransport> transport(new HttpTransport);
  ATOLL_RETURN_IF_ERROR(transport->caller_.open());
  HttpRequest& request = transport->request_;
  request.url = std::move(whole).value();
  request.method = "POST";
  request.uses_proxy = true;
  // The answer's body is of no interest; its size must not matter.
  request.on_body = [](std::string& body) { body.clear(); };
  return std::unique_ptr<Transport>(std::move(transport));
}

PostResult HttpTransport::post(std::string_view body, int64_t timeout_ns) noexcept {
  request_.body = body;
  request_.timeout_ns = std::max<int64_t>(timeout_ns, 1);
  Result<HttpAnswer> answer = caller_.call(request_);
  if (!answer.ok()) return {unavailable("collector ", answer.status().message()), true};
  if (answer->status >= 200 && answer->status < 300) return {};
  return {unavailable("collector ", request_.url, " answered ", answer->status, ", expected 200"),
          is_retryable(answer->status)};
}

}  // namespace atl::tracing
