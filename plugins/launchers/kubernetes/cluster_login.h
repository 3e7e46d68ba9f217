/// What calls show to a cluster, kept fresh.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "launchers/kubernetes/cluster_access.h"

namespace atl::launchers {

/// A token of a file is read again each minute, and once more when it is refused: it lives for an hour or so, and is renewed
/// in its file. A program is run when what it gave has expired or is refused, one at a time and at most every few seconds; it is
/// waited for on a thread of its own. On one executor, but for start() and stop().
class ClusterLogin {
 public:
  using Then = std::function<void(const Status&)>;

  /// \param access  outlives it \param timeout_ns  for the program
  ClusterLogin(const ClusterAccess& access, int64_t timeout_ns, Clock& clock, Log& log)
      : access_(access), timeout_ns_(timeout_ns), clock_(clock), log_(log) {}
  ClusterLogin(const ClusterLogin&) = delete;
  ClusterLogin& operator=(const ClusterLogin&) = delete;

  /// Errors: those of ExecutorFactory::create(). [control]
  Status start(ExecutorFactory& executors, SerialExecutor& executor);
  /// The program is killed, and whoever waits is not called any more. [control]
  void stop() noexcept;

  /// Calls back once there is something to show: at once, or when the program has ended. With UNAVAILABLE if there is not.
  void ask(Then then);
  /// What the next call shows, and its number.
  const ClusterCredential& credential() const noexcept { return credential_; }
  uint64_t number() const noexcept { return number_; }
  /// The cluster has refused what has that number. \returns whether asking may bring something else
  bool refused(uint64_t number);

 private:
  void read_token(bool now);
  bool is_usable() const;
  void run();
  void has_run(Result<ExecCredential> got);

  const ClusterAccess& access_;
  const int64_t timeout_ns_;
  Clock& clock_;
  Log& log_;
  SerialExecutor* executor_ = nullptr;
  SerialExecutorPtr thread_;  ///< the program is waited for there; null: there is no program
  std::atomic<bool> is_stopped_{false};
  ClusterCredential credential_;  ///< the executor's, as all that follows
  uint64_t number_ = 0;           ///< 0: a program has given none yet
  bool is_stale_ = false;         ///< it was refused
  int64_t expires_wall_ns_ = 0;
  int64_t tried_ns_ = 0;  ///< the file was read, or the program was run, last; 0: never
  Status failure_ = {};   ///< of the last try
  bool is_running_ = false;
  std::vector<Then> waiting_;  ///< for the program; there are as many as calls
};

}  // namespace atl::launchers
