/// One instance of a Python model: always one worker, and another one when it has ended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "backends/python/calls/executions.h"
#include "backends/python/calls/room_listeners.h"
#include "backends/python/model/instance_group.h"
#include "backends/python/model/model_worker.h"
#include "backends/python/process/worker.h"

namespace atl::python {

/// How an instance's workers are started.
struct InstancePlan {
  WorkerSpec worker;
  std::string start;  ///< kInitialize's JSON
  int64_t start_timeout_ns = 0, execute_timeout_ns = 0, stop_timeout_ns = 0;
};

class PythonInstance final : public BackendInstance, private WorkerOwner, private GroupMember {
 public:
  /// Returns when initialize() has. \param context, group  outlive it
  /// Errors: initialize()'s own text; UNAVAILABLE its worker has ended, or cannot be started; DEADLINE_EXCEEDED.
  static Result<std::unique_ptr<PythonInstance>> create(const WorkerContext& context, InstanceGroup& group,
                                                        ExecutionContext execution, InstancePlan plan);
  PythonInstance(const PythonInstance&) = delete;
  PythonInstance& operator=(const PythonInstance&) = delete;
  ~PythonInstance() override;

  Status execute(const Batch& batch) noexcept override;
  bool ready() const noexcept override;
  /// A model's execute() runs one batch at a time: any batch, or none.
  uint32_t room() const noexcept override;
  bool add_room_listener(RoomListener& listener) noexcept override {
    return listeners_.add_listener(listener);
  }
  void remove_room_listener(RoomListener& listener) noexcept override {
    listeners_.remove_listener(listener);
  }
  std::string unready_reason() const override;

 private:
  /// kWaiting: for the time when the next worker is started.
  enum class State : uint8_t { kStarting, kReady, kWaiting, kEnding };

  PythonInstance(const WorkerContext& context, InstanceGroup& group, ExecutionContext execution,
                 InstancePlan plan);
  void on_returned() noexcept override;
  void on_initialized(Status status) noexcept override;
  void on_gone(const std::string& how, bool has_worked) noexcept override;
  void on_ended(const std::string& how) noexcept override;
  void on_group_changed() noexcept override;

  bool has_worker() const noexcept { return state_.load(std::memory_order_acquire) == State::kReady; }
  Status start_worker();
  void renew();
  void restart();
  void arm_timers();
  void check_start();
  void check_execution();
  void check_idle();
  void set_state(State state);
  void set_reason(std::string reason);
  std::shared_ptr<ModelWorker> worker() const;
  Status execute(std::span<Request* const> requests, int64_t start_ns) noexcept;
  std::vector<Request*> take_good(std::span<Request* const> requests, bool& is_any_bad) noexcept;
  void refuse(Request& request, Status failure) noexcept;

  const WorkerContext context_;
  InstanceGroup& group_;
  const ExecutionContext execution_;
  const InstancePlan plan_;
  std::atomic<State> state_{State::kStarting};
  std::atomic<bool> is_busy_{false};
  RoomListeners listeners_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::shared_ptr<ModelWorker> worker_;
  std::string reason_;
  std::string last_end_;     ///< of the worker before; empty: there was none
  bool was_ready_ = false;   ///< ever
  bool first_ends_ = false;  ///< the first worker has ended before it was ready
  Status initialized_;       ///< of the newest worker

  std::atomic<uint32_t> failures_{0};  ///< workers in a row that have done nothing

  // On the loop's thread.
  WorkerLoop::Timer restart_timer_ = 0, start_timer_ = 0, look_timer_ = 0, idle_timer_ = 0;
  uint64_t batches_seen_ = 0;  ///< by check_idle()
};

}  // namespace atl::python
