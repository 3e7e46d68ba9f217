/// Serial executors over real threads.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"

namespace atl::runtime {

/// How many threads of executors may wait for work at a time; one beyond them ends as soon as it has none. So a
/// process whose 10,000 executors are all used has those threads that run something, and these. [any]
class IdleThreads {
 public:
  explicit IdleThreads(int64_t most) noexcept : most_(most) {}
  /// \returns whether the calling thread may wait; it calls leave() afterwards then
  bool enter() noexcept {
    if (waiting_.fetch_add(1, std::memory_order_relaxed) < most_) return true;
    leave();
    return false;
  }
  void leave() noexcept { waiting_.fetch_sub(1, std::memory_order_relaxed); }
  int64_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

  /// That of the process: two a CPU, and at least 32, because making a thread again costs a request some
  /// 100 us and a waiting one costs nothing but its stack.
  static IdleThreads& of_process() noexcept;

 private:
  const int64_t most_;
  std::atomic<int64_t> waiting_{0};
};

/// Makes executors of one plugin instance and counts them, because a thread that outlives its plugin would
/// run in unmapped code. [any]
class ThreadExecutorFactory final : public ExecutorFactory {
 public:
  /// How long a thread without tasks and timers is kept: long beside the pauses of a client, so that a thread
  /// is made for the first request after a silence only.
  static constexpr std::chrono::seconds kIdle{10};

  /// \param on_throw  told, on the executor's thread, of a task that let an exception out; may be empty.
  /// \param idle      how long a thread without work is kept  \param idle_threads  outlives the executors
  explicit ThreadExecutorFactory(const Clock& clock, std::function<void()> on_throw = {},
                                 std::chrono::nanoseconds idle = kIdle,
                                 IdleThreads& idle_threads = IdleThreads::of_process())
      : clock_(clock), on_throw_(std::move(on_throw)), idle_(idle), idle_threads_(idle_threads) {}
  /// The thread is made at once, so that it is known whether there can be one; it ends when it has been idle
  /// for a while, and is made again, with the same placement, when there is work.
  Result<SerialExecutorPtr> create(std::string_view name, const ThreadPlacement& placement) noexcept override;
  /// Executors made and not destroyed yet.
  int64_t live() const noexcept { return live_->load(); }

 private:
  const Clock& clock_;
  std::function<void()> on_throw_;
  std::chrono::nanoseconds idle_;
  IdleThreads& idle_threads_;
  std::shared_ptr<std::atomic<int64_t>> live_ = std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace atl::runtime
