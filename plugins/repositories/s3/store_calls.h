/// Calls to stores, several at a time, each tried again until it went well or nothing helps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/status.h"
#include "atoll/lib/http_client.h"

namespace atl::s3 {

/// Something that is wanted of a store, by one call after the other. Only one thread calls it at a time.
class StoreTask {
 public:
  /// What is to be done after an answer.
  enum class Step : uint8_t { kDone, kNext, kAgain, kFailed };

  virtual ~StoreTask() = default;
  /// The next call. Its callbacks may use the task.
  virtual HttpRequest next() = 0;
  /// After kAgain and kFailed, `failure` says why. \returns kNext: one call more; kAgain: after a pause, and not for ever
  virtual Step answered(Result<HttpAnswer> answer, Status* failure) = 0;

  /// Whether the last call brought it further although it failed: then it is tried again as if it were the first time.
  virtual bool has_progressed() const { return false; }

  int retries_max = INT32_MAX;  ///< fewer than RunLimits has
  int64_t deadline_ns = 0;      ///< of StoreCalls::now_ns(); 0: none
};

/// How a number of tasks is worked on.
struct RunLimits {
  size_t side_by_side = 8;
  int retries = 5;                     ///< of a call, without an answer that helps
  bool needs_all = false;              ///< the first failure is the end of the others
  std::function<void()> on_tick = {};  ///< about once a second, by whoever waits; may be null
};

class StoreCalls {
 public:
  /// Errors: those of HttpClient::start().
  Status start(ExecutorFactory& executors) { return client_.start(executors, "object_store"); }
  /// All runs end at once, and further ones begin none. [any]
  void interrupt() noexcept;
  void stop() noexcept;

  /// Blocks until every task has ended. Those that were given up may be used for about a second more, by the client's thread.
  /// \returns how each ended. Errors: the task's; DEADLINE_EXCEEDED; CANCELLED it was interrupted, or another one failed. [worker]
  std::vector<Status> run(std::vector<std::shared_ptr<StoreTask>> tasks, const RunLimits& limits);
  /// \returns false: it was interrupted. [worker]
  bool pause(int64_t ns);
  /// A clock that never goes back.
  static int64_t now_ns() noexcept;

 private:
  struct Run;
  void begin(const std::shared_ptr<Run>& run, size_t index);
  void wait(Run& run, const RunLimits& limits);

  HttpClient client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_interrupted_ = false;
};

}  // namespace atl::s3
