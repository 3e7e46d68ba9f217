/// Calls to HTTP servers, any number at a time on one thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/status.h"
#include "atoll/lib/http_request.h"

namespace atl {

class HttpTransfer;

/// By libcurl, without redirects or cookies. Connections are kept.
class HttpClient {
 public:
  /// Gets an answer of any status, or the errors of HttpCaller::call().
  using Done = std::function<void(Result<HttpAnswer>)>;

  HttpClient() noexcept;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  /// \param thread_name  of the thread that works on the calls
  /// Errors: INTERNAL libcurl cannot be set up; those of ExecutorFactory::create().
  Status start(ExecutorFactory& executors, const char* thread_name);
  /// Waits for the thread. Calls that have no answer yet never get one.
  void stop() noexcept;
  /// Returns at once; `done` is called once, on the client's thread. [any], after start()
  void call(HttpRequest request, Done done);

 private:
  struct Call;

  void run() noexcept;
  void take_new();
  void finish_done();

  void* multi_ = nullptr;
  std::atomic<bool> stops_{false};
  std::mutex mutex_;                                        ///< guards new_
  std::vector<std::unique_ptr<Call>> new_;                  ///< that the thread has not taken yet
  std::unordered_map<void*, std::unique_ptr<Call>> calls_;  ///< by libcurl's handle; the thread's
  SerialExecutorPtr thread_;
};

}  // namespace atl
