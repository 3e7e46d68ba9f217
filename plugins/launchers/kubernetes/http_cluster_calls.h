/// Calls to a cluster's API, by HTTP.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "atoll/lib/http_client.h"
#include "launchers/kubernetes/cluster_access.h"
#include "launchers/kubernetes/cluster_calls.h"
#include "launchers/kubernetes/cluster_login.h"

namespace atl::launchers {

/// A call that is refused by 401 is sent once more, if there is something else to show.
class HttpClusterCalls final : public ClusterCalls {
 public:
  /// \param timeout_ns  for a call, and for a program that gives credentials \param silence_ns  the longest time in which a watch says nothing: the cluster sends bookmarks
  HttpClusterCalls(ClusterAccess access, int64_t timeout_ns, int64_t silence_ns, Clock& clock, Log& log)
      : access_(std::move(access)),
        timeout_ns_(timeout_ns),
        silence_ns_(silence_ns),
        login_(access_, timeout_ns, clock, log) {}
  HttpClusterCalls(const HttpClusterCalls&) = delete;
  HttpClusterCalls& operator=(const HttpClusterCalls&) = delete;
  virtual ~HttpClusterCalls() = default;

  /// Errors: those of HttpClient::start() and ClusterLogin::start(). [control] \param executor  outlives stop()
  Status start(ExecutorFactory& executors, SerialExecutor& executor);
  /// Waits for the thread. Not from the executor; afterwards calls are dropped. [control]
  void stop() noexcept;

  // --- ClusterCalls ---
  void call(ApiCall call, Done done) override;
  void watch(std::string path, OnEvent on_event, Done done) override;
  void end_watch() override;

 private:
  HttpRequest request_of(const ApiCall& call);
  void send(ApiCall call, bool may_repeat, Done done);
  void send_with_credential(ApiCall call, bool may_repeat, Done done);
  void begin_watch(std::string path, std::shared_ptr<std::atomic<bool>> is_over, OnEvent on_event, Done done);
  template <class Work>
  void post(Work work) {
    executor_->post(make_task(std::move(work)));
  }

  const ClusterAccess access_;
  const int64_t timeout_ns_, silence_ns_;
  SerialExecutor* executor_ = nullptr;
  bool is_stopped_ = false;  ///< the executor's, as all that follows
  ClusterLogin login_;
  std::shared_ptr<std::atomic<bool>> watch_is_over_;  ///< null: there is none
  HttpClient client_;
};

}  // namespace atl::launchers
