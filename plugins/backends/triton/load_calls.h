/// Calls into foreign code that may never return.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/status.h"
#include "backends/triton/foreign_context.h"

namespace atl::triton {

/// Calls into one library that were left behind. [any]
struct LeftCalls {
  std::atomic<uint32_t> inside{0};  ///< that have not returned yet
  std::atomic<bool> any{false};     ///< since the library was opened
};

/// Calls of foreign code while something is loaded, each on a thread of its own that inherits where its caller's may
/// run. One that does not return in time is left behind: whoever waits for it gets a failure, and the call keeps its
/// thread, what it was given and this plugin's code until it returns, if it ever does.
class LoadCalls {
 public:
  /// Calls of one library that may be left behind before no more are made.
  static constexpr uint32_t kLeftMost = 8;
  /// How long those that wait go on when the server ends.
  static constexpr int64_t kEndNs = 5 * kNsPerSecond;

  /// \param timeout_ns  0: a call is made on its caller's thread and lasts as long as it will
  LoadCalls(Clock& clock, ExecutorFactory& executors, int64_t timeout_ns) noexcept
      : clock_(clock), executors_(executors), timeout_ns_(timeout_ns) {}
  LoadCalls(const LoadCalls&) = delete;
  LoadCalls& operator=(const LoadCalls&) = delete;
  ~LoadCalls() { close(); }

  /// [control] Errors: ExecutorFactory::create()
  Status open();
  /// The server ends: calls that have not returned kEndNs from now are left behind. Once. [control]
  void hurry() noexcept;
  /// Nobody calls any more. [control]
  void close() noexcept;

  /// Who is called.
  struct Callee {
    std::string backend;
    const char* function = "";
    std::shared_ptr<LeftCalls> left;
    std::shared_ptr<ForeignContext> around;
  };
  /// Between open() and close(). [worker]
  /// \param call  makes the call, and owns whatever it needs. It is destroyed on the thread that ran it, and if it
  ///              was left behind nobody else may touch what it owns.
  /// Errors: the call's; UNAVAILABLE "backend '<b>' has not returned from <function> within <n> s", or too many calls
  /// were left behind; RESOURCE_EXHAUSTED no thread.
  Status run(Callee callee, std::function<Status()> call);

 private:
  class Call;
  Status refuse(const Callee& callee) const;
  Status left_behind(const Callee& callee);
  int64_t deadline_ns();

  Clock& clock_;
  ExecutorFactory& executors_;
  const int64_t timeout_ns_;
  SerialExecutorPtr timers_;
  std::atomic<int64_t> end_ns_{INT64_MAX};  ///< of the server
  std::mutex mutex_;
  std::vector<std::shared_ptr<Call>> waited_for_;
};

}  // namespace atl::triton
