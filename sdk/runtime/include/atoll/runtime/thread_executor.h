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

/// Makes executors of one plugin instance and counts them, because a thread that outlives its plugin would
/// run in unmapped code. [any]
class ThreadExecutorFactory final : public ExecutorFactory {
 public:
  /// How long a thread without tasks and timers is kept: long beside the pauses of a client, so that a thread
  /// is made for the first request after a silence only.
  static constexpr std::chrono::seconds kIdle{10};

  /// \param on_throw  told, on the executor's thread, of a task that let an exception out; may be empty.
  explicit ThreadExecutorFactory(const Clock& clock, std::function<void()> on_throw = {},
                                 std::chrono::nanoseconds idle = kIdle)
      : clock_(clock), on_throw_(std::move(on_throw)), idle_(idle) {}
  /// The thread is made at once, so that it is known whether there can be one; it ends when it has been idle
  /// for a while, and is made again, with the same placement, when there is work.
  Result<SerialExecutorPtr> create(std::string_view name, const ThreadPlacement& placement) noexcept override;
  /// Executors made and not destroyed yet.
  int64_t live() const noexcept { return live_->load(); }

 private:
  const Clock& clock_;
  std::function<void()> on_throw_;
  std::chrono::nanoseconds idle_;
  std::shared_ptr<std::atomic<int64_t>> live_ = std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace atl::runtime
