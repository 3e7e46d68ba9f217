#include "telemetry/trace/http_post.h"

#include <curl/curl.h>

#include <algorithm>
#include <limits>

#include "atoll/core/clock.h"

namespace atl::tracing {
namespace {

/// The answer's body is of no interest; its size must not matter.
size_t swallow(char*, size_t size, size_t count, void*) { return size * count; }

constexpr int kPollMs = 1000;

/// Runs the request until it is over or interrupted.
CURLcode perform(CURLM* multi, CURL* curl, const std::atomic<bool>& interrupted) noexcept {
  curl_multi_add_handle(multi, curl);
  CURLcode result = CURLE_ABORTED_BY_CALLBACK;
  int running = 1;
  while (running != 0 && !interrupted.load(std::memory_order_acquire)) {
    if (curl_multi_perform(multi, &running) != CURLM_OK) break;
    if (running != 0) curl_multi_poll(multi, nullptr, 0, kPollMs, nullptr);
  }
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
    if (message->msg == CURLMSG_DONE) result = message->data.result;
  }
  curl_multi_remove_handle(multi, curl);
  return result;
}

/// OTLP names these answers as those to try again after.
bool is_retryable(long code) noexcept { return code == 429 || code == 502 || code == 503 || code == 504; }

}  // namespace

Result<std::string> whole_url(const std::string& url) {
  std::string whole = url.find("://") == std::string::npos ? cat("http://", url) : url;
  CURLU* parsed = curl_url();
  CURLUcode code = curl_url_set(parsed, CURLUPART_URL, whole.c_str(), 0);
  curl_url_cleanup(parsed);
  bool http = whole.starts_with("http://") || whole.starts_with("https://");
  if (code == CURLUE_OK && http) return whole;
  return invalid_argument("option 'url' is '", url, "', expected [http://]host[:port]/path or https://...");
}

Result<std::unique_ptr<Transport>> CurlTransport::create(const std::string& url) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_ALL);
  if (initialized != CURLE_OK) return internal_error("libcurl: ", curl_easy_strerror(initialized));
  Result<std::string> whole = whole_url(url);
  if (!whole.ok()) return std::move(whole).status();
  std::unique_ptr<CurlTransport> transport(new CurlTransport);
  CURL* curl = curl_easy_init();
  transport->url_ = std::move(whole).value();
  transport->curl_ = curl;
  transport->multi_ = curl_multi_init();
  if (curl == nullptr || transport->multi_ == nullptr) return internal_error("libcurl gives no handle");
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  // Without this libcurl waits a second for a "100 Continue" that small servers never send.
  headers = curl_slist_append(headers, "Expect:");
  transport->headers_ = headers;
  curl_easy_setopt(curl, CURLOPT_URL, transport->url_.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_POST, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &swallow);
  return std::unique_ptr<Transport>(std::move(transport));
}

CurlTransport::~CurlTransport() {
  curl_easy_cleanup(curl_);
  curl_multi_cleanup(multi_);
  curl_slist_free_all(static_cast<curl_slist*>(headers_));
}

void CurlTransport::interrupt(bool refuse) noexcept {
  interrupted_.store(refuse, std::memory_order_release);
  if (refuse) curl_multi_wakeup(multi_);
}

PostResult CurlTransport::post(std::string_view body, int64_t timeout_ns) noexcept {
  int64_t timeout_ms = std::clamp<int64_t>(timeout_ns / kNsPerMs, 1, std::numeric_limits<int32_t>::max());
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms));
  curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  CURLcode code = perform(multi_, curl_, interrupted_);
  if (code != CURLE_OK) return {unavailable("collector ", url_, ": ", curl_easy_strerror(code)), true};
  long answer = 0;
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &answer);
  if (answer >= 200 && answer < 300) return {};
  return {unavailable("collector ", url_, " answered ", answer, ", expected 200"), is_retryable(answer)};
}

}  // namespace atl::tracing
