#include "pools/leases/servers/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/stop_executor.h"
#include "atoll/pools/launcher.h"

namespace atl::pools {
namespace {

constexpr int kPollMs = 1'000;
constexpr long kConnectionsMax = 256;

Status failure_of(CURLcode code, const HttpRequest& request) {
  const std::string_view text = curl_easy_strerror(code);
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return make_status(Code::kDeadlineExceeded, request.server.text(), " did not answer in ",
                         request.timeout_ns / kNsPerMs, " ms");
    case CURLE_WRITE_ERROR:
      return make_status(Code::kResourceExhausted, request.server.text(), " answered more than ",
                         HttpClient::kAnswerBytesMax, " bytes");
    default:
      return unavailable(request.server.text(), ": ", text);
  }
}

}  // namespace

struct HttpClient::Call {
  HttpRequest request;
  Done done;
  std::string url;
  HttpAnswer answer;
  CURL* curl = nullptr;
  curl_slist* headers = nullptr;

  Call(HttpRequest asked, Done then) : request(std::move(asked)), done(std::move(then)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
  }
  static size_t receive(char* bytes, size_t size, size_t count, void* call) {
    std::string& body = static_cast<Call*>(call)->answer.body;
    if (body.size() + size * count > kAnswerBytesMax) return 0;
    body.append(bytes, size * count);
    return size * count;
  }
  /// \returns false if libcurl gives no handle
  bool prepare() {
    curl = curl_easy_init();
    if (curl == nullptr) return false;
    url = cat("http://", request.server.text(), request.path);
    const int64_t timeout_ms =
        std::clamp<int64_t>(request.timeout_ns / kNsPerMs, 1, std::numeric_limits<int32_t>::max());
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");  // whatever the environment says
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
    if (!request.key.empty())
      headers = curl_slist_append(headers, cat(kServerKeyHeader, ": ", request.key).c_str());
    if (request.is_post) {
      headers = curl_slist_append(headers, "Content-Type: application/json");
      headers = curl_slist_append(headers, "Expect:");  // else libcurl may wait for a "100 Continue"
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (!request.is_post) return true;
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    return true;
  }
};

HttpClient::HttpClient() noexcept = default;
HttpClient::~HttpClient() { stop(); }

Status HttpClient::start(ExecutorFactory& executors) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_ALL);
  if (initialized != CURLE_OK) return internal_error("libcurl: ", curl_easy_strerror(initialized));
  multi_ = curl_multi_init();
  if (multi_ == nullptr) return internal_error("libcurl gives no handle");
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, kConnectionsMax);
  Result<SerialExecutorPtr> thread = executors.create("pools-http", {});
  if (!thread.ok()) return std::move(thread).status();
  thread_ = std::move(thread).value();
  thread_->post(make_task([this] { run(); }));
  return {};
}

void HttpClient::stop() noexcept {
  if (multi_ == nullptr) return;
  stops_.store(true, std::memory_order_release);
  curl_multi_wakeup(multi_);
  stop_executor(thread_);
  for (const auto& [curl, call] : calls_) curl_multi_remove_handle(multi_, curl);
  calls_.clear();
  new_.clear();
  curl_multi_cleanup(std::exchange(multi_, nullptr));
}

void HttpClient::call(HttpRequest request, Done done) {
  {
    std::scoped_lock lock(mutex_);
    new_.push_back(std::make_unique<Call>(std::move(request), std::move(done)));
  }
  curl_multi_wakeup(multi_);
}

std::string HttpClient::escape(const std::string& text) {
  char* escaped = curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size()));
  std::string copy = escaped == nullptr ? std::string() : std::string(escaped);
  curl_free(escaped);
  return copy;
}

std::string HttpClient::unescape(std::string_view text) {
  if (text.empty()) return {};  // libcurl takes a size of 0 for a text that ends somewhere
  int size = 0;
  char* plain = curl_easy_unescape(nullptr, text.data(), static_cast<int>(text.size()), &size);
  if (plain == nullptr) return {};
  std::string copy(plain, static_cast<size_t>(size));
  curl_free(plain);
  return copy;
}

void HttpClient::run() noexcept {
  while (!stops_.load(std::memory_order_acquire)) {
    take_new();
    int running = 0;
    curl_multi_perform(multi_, &running);
    finish_done();
    curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
  }
}

void HttpClient::take_new() {
  std::vector<std::unique_ptr<Call>> taken;
  {
    std::scoped_lock lock(mutex_);
    taken.swap(new_);
  }
  for (std::unique_ptr<Call>& call : taken) {
    if (call->prepare()) {
      curl_multi_add_handle(multi_, call->curl);
      calls_[call->curl] = std::move(call);
    } else {
      call->done(internal_error("libcurl gives no handle"));
    }
  }
}

void HttpClient::finish_done() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CURL* curl = message->easy_handle;
    const std::unique_ptr<Call> call = std::move(calls_.at(curl));
    calls_.erase(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    call->answer.status = static_cast<int>(status);
    curl_multi_remove_handle(multi_, curl);
    if (code == CURLE_OK) {
      call->done(std::move(call->answer));
    } else {
      call->done(failure_of(code, call->request));
    }
  }
}

}  // namespace atl::pools
