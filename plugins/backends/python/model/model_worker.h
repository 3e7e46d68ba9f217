/// One life of an instance's worker: what it is asked to do and what it answers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "atoll/core/status.h"
#include "backends/python/calls/control_calls.h"
#include "backends/python/calls/executions.h"
#include "backends/python/calls/inner_calls.h"
#include "backends/python/calls/metric_calls.h"
#include "backends/python/calls/metric_registry.h"
#include "backends/python/memory/short_wait.h"
#include "backends/python/model/model_probe.h"
#include "backends/python/process/worker.h"

namespace atl::python {

/// What a worker's life means to its instance. On the worker's reader thread.
class WorkerOwner : public Executions::Returned {
 public:
  /// initialize() has returned, or failed. Once.
  virtual void on_initialized(Status status) noexcept = 0;
  /// The process is gone, and what was inside is about to be answered so. \param has_worked  it has executed batches
  virtual void on_gone(const std::string& how, bool has_worked) noexcept = 0;
  /// Everything is answered. Once, the last call.
  virtual void on_ended(const std::string& how) noexcept = 0;

 protected:
  ~WorkerOwner() = default;
};

class ModelWorker final : private WorkerListener, private MetricNews {
 public:
  /// \param start  kInitialize's JSON \param execution, owner  outlive it. Errors: as Worker::start()
  static Result<std::unique_ptr<ModelWorker>> start(const WorkerContext& context, WorkerSpec spec,
                                                    const std::string& start,
                                                    const ExecutionContext& execution, WorkerOwner& owner);
  ModelWorker(const ModelWorker&) = delete;
  ModelWorker& operator=(const ModelWorker&) = delete;
  virtual ~ModelWorker();

  /// As BackendInstance::execute(), once it is initialised. One call at a time.
  Status execute(std::span<Request* const> requests, int64_t start_ns) noexcept;
  /// Asks it to finalise; it ends then, or is killed after the timeout. Returns when it is gone. Not on its threads.
  /// \returns why it was killed: "is killed because ..."; empty: it was not
  std::string finalize(int64_t timeout_ns);
  void kill(std::string reason) noexcept { worker_->kill(std::move(reason)); }
  int64_t running_since_ns() const noexcept { return executions_->running_since_ns(); }
  /// Batches that have returned.
  uint64_t batches() const noexcept { return batches_.load(std::memory_order_relaxed); }
  /// What the model's is_ready() has said lately; true if it has none. [any]
  bool is_model_ready() noexcept;
  /// Of an instance that does nothing: memory goes back to the system.
  void trim() noexcept { worker_->blocks().trim(kKeptBytes); }

 private:
  /// Memory of requests that stays for the next ones.
  static constexpr uint64_t kKeptBytes = 4 << 20;

  ModelWorker(const WorkerContext& context, const ExecutionContext& execution, WorkerOwner& owner)
      : context_(context),
        execution_(execution),
        owner_(owner),
        metrics_(context.metrics),
        node_(context.graph.add(execution.model)) {}
  void use(std::unique_ptr<Worker> worker);
  bool hurry() noexcept override { return worker_->look(); }
  Status on_message(const RingMessage& message) noexcept override;
  void on_end(const std::string& how) noexcept override;
  void wait_a_moment(uint64_t batch, int64_t time_ns) noexcept;
  Status take_initialized(const RingMessage& message) noexcept;
  Status take_responses(const RingMessage& message) noexcept;
  Status take_probed(const RingMessage& message) noexcept;
  Status take_log(const RingMessage& message) noexcept;

  const WorkerContext context_;
  const ExecutionContext& execution_;
  WorkerOwner& owner_;
  MetricCalls metrics_;  // of the reader's thread
  const std::shared_ptr<CallGraph::Node> node_;
  std::shared_ptr<InnerCalls> calls_;
  std::shared_ptr<Replies> replies_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::atomic<bool> is_ready_{false};  // worker_ and executions_ are there
  bool is_finalized_ = false;          // finalize() has returned
  bool has_ended_ = false;
  std::atomic<uint64_t> batches_{0};
  ShortWait short_wait_;
  ModelProbe probe_;
  std::string probe_failure_;  // as the log has it; of the reader's thread
  std::unique_ptr<Executions> executions_;
  std::unique_ptr<Worker> worker_;  // last, so that its threads end first
};

}  // namespace atl::python
