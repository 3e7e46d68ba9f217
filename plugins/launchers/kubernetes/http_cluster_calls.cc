#include "launchers/kubernetes/http_cluster_calls.h"

#include <algorithm>
#include <future>
#include <utility>
#include <vector>

#include "launchers/kubernetes/api_refusal.h"

namespace atl::launchers {
namespace {

constexpr size_t kWatchLineBytesMax = size_t{4} << 20;

}  // namespace

Status HttpClusterCalls::start(ExecutorFactory& executors, SerialExecutor& executor) {
  executor_ = &executor;
  ATOLL_RETURN_IF_ERROR(login_.start(executors, executor));
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
  login_.stop();
  client_.stop();
}

HttpRequest HttpClusterCalls::request_of(const ApiCall& call) {
  HttpRequest request;
  request.url = access_.server + call.path;
  request.method = call.method;
  request.headers = {"Accept: application/json", "User-Agent: atoll"};
  const ClusterCredential& credential = login_.credential();
  if (!credential.token.empty()) request.headers.push_back("Authorization: Bearer " + credential.token);
  request.body = call.body;
  request.ca_file = access_.ca_file;
  request.ca_text = access_.ca_text;
  request.cert_text = credential.cert_text;
  request.key_text = credential.key_text;
  request.answer_bytes_max = call.answer_bytes_max;
  request.answer_headers = {kRetryAfter};
  return request;
}

void HttpClusterCalls::call(ApiCall call, Done done) { send(std::move(call), true, std::move(done)); }

void HttpClusterCalls::send(ApiCall call, bool may_repeat, Done done) {
  if (is_stopped_) return;
  login_.ask(
      [this, call = std::move(call), may_repeat, done = std::move(done)](const Status& status) mutable {
        if (status.ok()) return send_with_credential(std::move(call), may_repeat, std::move(done));
        // Never from within the call.
        post([done = std::move(done), status = status.clone()] { done(status.clone()); });
      });
}

void HttpClusterCalls::send_with_credential(ApiCall call, bool may_repeat, Done done) {
  HttpRequest request = request_of(call);
  request.timeout_ns = call.timeout_ns == 0 ? timeout_ns_ : std::min(call.timeout_ns, timeout_ns_);
  client_.call(std::move(request), [this, call = std::move(call), may_repeat, shown = login_.number(),
                                    done = std::move(done)](Result<HttpAnswer> answer) mutable {
    post([this, call = std::move(call), may_repeat, shown, done = std::move(done),
          answer = std::move(answer)]() mutable {
      const bool is_refused = answer.ok() && answer->status == kHttpUnauthorized;
      if (is_refused && login_.refused(shown) && may_repeat)
        return send(std::move(call), false, std::move(done));
      done(std::move(answer));
    });
  });
}

void HttpClusterCalls::watch(std::string path, OnEvent on_event, Done done) {
  end_watch();
  if (is_stopped_) return;
  const auto is_over = watch_is_over_ = std::make_shared<std::atomic<bool>>(false);
  login_.ask([this, path = std::move(path), is_over, on_event = std::move(on_event),
              done = std::move(done)](const Status& status) mutable {
    if (is_over->load(std::memory_order_acquire)) return;
    if (status.ok()) return begin_watch(std::move(path), is_over, std::move(on_event), std::move(done));
    post([is_over, done = std::move(done), status = status.clone()] {
      if (!is_over->load(std::memory_order_acquire)) done(status.clone());
    });
  });
}

void HttpClusterCalls::begin_watch(std::string path, std::shared_ptr<std::atomic<bool>> is_over,
                                   OnEvent on_event, Done done) {
  HttpRequest request = request_of({.path = std::move(path), .answer_bytes_max = kWatchLineBytesMax});
  request.silence_ns = silence_ns_;
  request.given_up = is_over;
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
  client_.call(std::move(request), [this, is_over, shown = login_.number(),
                                    done = std::move(done)](Result<HttpAnswer> answer) mutable {
    post([this, is_over, shown, done = std::move(done), answer = std::move(answer)]() mutable {
      if (is_over->load(std::memory_order_acquire)) return;
      if (answer.ok() && answer->status == kHttpUnauthorized) (void)login_.refused(shown);
      done(std::move(answer));
    });
  });
}

void HttpClusterCalls::end_watch() {
  if (watch_is_over_ != nullptr) watch_is_over_->store(true, std::memory_order_release);
  watch_is_over_.reset();
}

}  // namespace atl::launchers
