#include "launchers/kubernetes/http_cluster_calls.h"

#include <future>
#include <utility>
#include <vector>

#include "launchers/kubernetes/api_refusal.h"

namespace atl::launchers {
namespace {

constexpr int64_t kTokenIntervalNs = 60 * kNsPerSecond;
constexpr size_t kWatchLineBytesMax = size_t{4} << 20;

}  // namespace

Status HttpClusterCalls::start(ExecutorFactory& executors, SerialExecutor& executor) {
  executor_ = &executor;
  token_ = access_.token;
  return client_.start(executors, "cluster");
}

void HttpClusterCalls::stop() noexcept {
  if (executor_ == nullptr) return;
  std::promise<void> stopped;
  post([this, &stopped] {
    is_stopped_ = true;
    end_watch();
    stopped.set_value();
  });
  stopped.get_future().wait();
  client_.stop();
}

void HttpClusterCalls::renew_token(bool now) {
  if (access_.token_file.empty()) return;
  if (!now && token_is_of_ns_ != 0 && clock_.now_ns() - token_is_of_ns_ < kTokenIntervalNs) return;
  token_is_of_ns_ = clock_.now_ns();
  const Result<std::string> text = read_small_file(access_.token_file);
  Result<std::string> token = text.ok() ? checked_token(text.value()) : text.status().clone();
  if (!token.ok() && !std::exchange(has_token_failed_, true))
    log_.warning(access_.token_file, ": ", token.status().message(), "; the token before is used on");
  if (!token.ok()) return;
  has_token_failed_ = false;
  token_ = std::move(token).value();
}

HttpRequest HttpClusterCalls::request_of(const ApiCall& call) {
  renew_token(false);
  HttpRequest request;
  request.url = access_.server + call.path;
  request.method = call.method;
  request.headers = {"Accept: application/json", "User-Agent: atoll"};
  if (!token_.empty()) request.headers.push_back("Authorization: Bearer " + token_);
  request.body = call.body;
  request.ca_file = access_.ca_file;
  request.ca_text = access_.ca_text;
  request.cert_text = access_.cert_text;
  request.key_text = access_.key_text;
  request.answer_bytes_max = call.answer_bytes_max;
  request.answer_headers = {kRetryAfter};
  return request;
}

void HttpClusterCalls::call(ApiCall call, Done done) { send(std::move(call), true, std::move(done)); }

void HttpClusterCalls::send(ApiCall call, bool may_repeat, Done done) {
  if (is_stopped_) return;
  HttpRequest request = request_of(call);
  request.timeout_ns = timeout_ns_;
  client_.call(std::move(request), [this, call = std::move(call), may_repeat,
                                    done = std::move(done)](Result<HttpAnswer> answer) mutable {
    post([this, call = std::move(call), may_repeat, done = std::move(done),
          answer = std::move(answer)]() mutable {
      if (may_repeat && answer.ok() && answer->status == kHttpUnauthorized && !access_.token_file.empty()) {
        renew_token(true);
        return send(std::move(call), false, std::move(done));
      }
      done(std::move(answer));
    });
  });
}

void HttpClusterCalls::watch(std::string path, OnEvent on_event, Done done) {
  end_watch();
  if (is_stopped_) return;
  HttpRequest request = request_of({.path = std::move(path), .answer_bytes_max = kWatchLineBytesMax});
  request.silence_ns = silence_ns_;
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  request.given_up = watch_is_over_ = is_over;
  // What is no stream of events is kept as the text of a refusal.
  const auto is_stream = std::make_shared<bool>(false);
  request.on_head = [is_stream](const HttpAnswer& head) {
    *is_stream = is_success(head);
    return true;
  };
  request.on_body = [this, is_over, is_stream, on_event = std::move(on_event)](std::string& body) {
    if (!*is_stream) return;
    std::vector<WatchEvent> events = take_watch_events(body);
    if (events.empty()) return;
    post([is_over, on_event, events = std::move(events)]() mutable {
      for (WatchEvent& event : events) {
        if (!is_over->load(std::memory_order_acquire)) on_event(std::move(event));
      }
    });
  };
  client_.call(std::move(request),
               [this, is_over, done = std::move(done)](Result<HttpAnswer> answer) mutable {
                 post([this, is_over, done = std::move(done), answer = std::move(answer)]() mutable {
                   if (is_over->load(std::memory_order_acquire)) return;
                   if (answer.ok() && answer->status == kHttpUnauthorized) renew_token(true);
                   done(std::move(answer));
                 });
               });
}

void HttpClusterCalls::end_watch() {
  if (watch_is_over_ != nullptr) watch_is_over_->store(true, std::memory_order_release);
  watch_is_over_.reset();
}

}  // namespace atl::launchers
