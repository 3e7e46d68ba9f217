#include "atoll/lib/http_client.h"

#include <utility>

#include "atoll/core/stop_executor.h"
#include "http_transfer.h"

namespace atl {
namespace {

constexpr long kConnectionsMax = 256;

}  // namespace

struct HttpClient::Call {
  const HttpRequest request;
  const Done done;
  HttpTransfer transfer{request};

  Call(HttpRequest asked, Done then) : request(std::move(asked)), done(std::move(then)) {}
};

HttpClient::HttpClient() noexcept = default;
HttpClient::~HttpClient() { stop(); }

Status HttpClient::start(ExecutorFactory& executors, const char* thread_name) {
  ATOLL_RETURN_IF_ERROR(set_up_curl());
  multi_ = curl_multi_init();
  if (multi_ == nullptr) return internal_error("libcurl gives no handle");
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, kConnectionsMax);
  Result<SerialExecutorPtr> thread = executors.create(thread_name, {});
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

void HttpClient::run() noexcept {
  while (!stops_.load(std::memory_order_acquire)) {
    take_new();
    int running = 0;
    curl_multi_perform(multi_, &running);
    finish_done();
    curl_multi_poll(multi_, nullptr, 0, kCurlPollMs, nullptr);
  }
}

void HttpClient::take_new() {
  std::vector<std::unique_ptr<Call>> taken;
  {
    std::scoped_lock lock(mutex_);
    taken.swap(new_);
  }
  for (std::unique_ptr<Call>& call : taken) {
    CURL* const curl = call->transfer.prepare();
    if (curl != nullptr) {
      curl_multi_add_handle(multi_, curl);
      calls_[curl] = std::move(call);
    } else {
      call->done(internal_error("libcurl gives no handle"));
    }
  }
}

void HttpClient::finish_done() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CURL* const curl = message->easy_handle;
    const std::unique_ptr<Call> call = std::move(calls_.at(curl));
    calls_.erase(curl);
    curl_multi_remove_handle(multi_, curl);
    call->done(call->transfer.finish(code));
  }
}

}  // namespace atl
