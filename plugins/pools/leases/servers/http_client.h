/// Calls to HTTP servers, any number at a time on one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/host_port.h"
#include "atoll/core/status.h"

namespace atl::pools {

struct HttpRequest {
  HostPort server;
  std::string path;  ///< with percent codes
  bool is_post = false;
  std::string body;  ///< JSON; of a POST
  std::string key;   ///< of the server, shown to it; empty: none
  int64_t timeout_ns = 0;
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// By libcurl, without proxies, redirects or cookies. Connections are kept.
class HttpClient {
 public:
  /// An answer of any status; UNAVAILABLE there is no connection; DEADLINE_EXCEEDED it took too long;
  /// RESOURCE_EXHAUSTED the answer is too large.
  using Done = std::function<void(Result<HttpAnswer>)>;
  static constexpr size_t kAnswerBytesMax = size_t{4} << 20;

  HttpClient() noexcept;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  /// Errors: INTERNAL libcurl cannot be set up; those of ExecutorFactory::create().
  Status start(ExecutorFactory& executors);
  /// What has not been answered never is.
  void stop() noexcept;
  /// Returns at once; `done` is called once, on the client's thread. [any], after start()
  void call(HttpRequest request, Done done);
  /// A path's part with percent codes where it needs them.
  static std::string escape(const std::string& text);
  /// The text without them.
  static std::string unescape(std::string_view text);

 private:
  struct Call;

  void run() noexcept;
  void take_new();
  void finish_done();

  void* multi_ = nullptr;
  std::atomic<bool> stops_{false};
  std::mutex mutex_;                                        ///< guards what follows
  std::vector<std::unique_ptr<Call>> new_;                  ///< that the thread has not taken yet
  std::unordered_map<void*, std::unique_ptr<Call>> calls_;  ///< by handle; the thread's
  SerialExecutorPtr thread_;
};

}  // namespace atl::pools
