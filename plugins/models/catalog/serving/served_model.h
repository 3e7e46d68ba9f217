/// One loaded model version while it is served, and its end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/gate.h"
#include "atoll/core/registry.h"
#include "atoll/models/model.h"
#include "atoll/request/scheduler.h"
#include "models/catalog/requests/request_path.h"
#include "models/catalog/serving/active_models.h"
#include "models/catalog/serving/agent_run.h"
#include "models/catalog/serving/counted_instance.h"
#include "models/catalog/serving/dependencies.h"
#include "models/catalog/serving/ensemble_members.h"
#include "models/catalog/serving/long_work.h"
#include "models/catalog/serving/prepared_model.h"
#include "models/catalog/serving/reader_shards.h"
#include "models/catalog/serving/scheduler_choice.h"
#include "models/catalog/serving/statistics.h"
#include "models/catalog/serving/version_admission.h"

namespace atl::models {

/// What all versions share; outlives them.
struct ServingContext {
  ReaderShards& shards;  ///< guards reference counts against retirement
  WorkerPool& workers;
  RequestContext requests;
  LongWork* work = nullptr;        ///< told of loads and unloads; null: nobody
  ActiveModels* active = nullptr;  ///< told of models that get requests; null: nobody
};

/// Everything a version is made of. Members end in the reverse order of their declaration. What is shared is
/// so with the object that took this one's place when only the instances changed.
struct ModelParts {
  Pass pass;                                    ///< into the plugin's gate
  std::shared_ptr<const PreparedModel> source;  ///< its files stay where they are
  std::shared_ptr<AgentRun> agents;             ///< that prepared it; null: none
  std::shared_ptr<Service<Backend>> backend;    ///< null: none
  BackendTraits traits;                         ///< of the backend, for this model
  Service<SchedulerProvider> scheduler_provider;
  std::vector<Dependency> dependencies;
  std::unique_ptr<const ModelInfo> info;
  WantedScheduler wanted_scheduler;  ///< borrows from `info`
  PriorityLevels priorities;         ///< of the scheduler's queue
  std::shared_ptr<StatisticsRecorder> statistics;
  std::shared_ptr<BackendModel> backend_model;
  std::vector<std::shared_ptr<InstanceSpec>> specs;
  std::vector<std::shared_ptr<CountedInstance>> instances;  ///< passive ones too
  std::vector<ScheduledInstance> scheduled;                 ///< what the scheduler borrows
  VersionAdmission admission;
  EnsembleMembers members;
  std::unique_ptr<Scheduler> scheduler;
};

/// Created by the loader, published by the serving table, retired by it, and destroyed on a worker thread
/// when the last reference has gone after that.
class ServedModel final : public Model {
 public:
  /// Called with false right before this object is destroyed and with true right after.
  using OnDestroyed = std::function<void(bool destroyed)>;

  /// \param keeps_order  answers leave in the order of their requests
  ServedModel(ServingContext& context, ModelParts parts, CorrelationControl correlation,
              bool keeps_order = false);
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;
  /// For a version that was never published; a published one ends through destroy_later().
  ~ServedModel();

  const ModelInfo& info() const noexcept override { return info_; }
  Status infer(Request& request) noexcept override {
    if (!activity_.is_seen.load(std::memory_order_relaxed) && context_.active != nullptr)
      context_.active->add(*this);
    return path_.infer(request);
  }
  ModelStatistics statistics() const noexcept override;
  bool ready() const noexcept override;
  /// "an instance is not ready: <what its backend says of it>"; empty: ready.
  std::string unready_reason() const;
  /// By a holder of a reference.
  void add_reference() noexcept override;
  void drop_reference() noexcept override;
  void report_first_response(const Request& request) noexcept override {
    parts_.statistics->report_first_response(request);
  }
  bool has_sequence(const SequenceId& id) const noexcept override;

  const ModelParts& parts() const noexcept { return parts_; }
  const Validator& validator() const noexcept { return path_.validator(); }
  /// References held by others than the table and ensembles, which are requests. A moment's value.
  uint64_t holders() const noexcept;
  /// Its own requests, now.
  RequestsNow requests_now() const noexcept;

  /// What ActiveModels knows of the version.
  struct Activity {
    std::atomic<bool> is_seen{false};  ///< its requests need not say that they are there
    // With the list's lock:
    bool is_listed = false;
    bool is_idle = false;
    ServedModel* next = nullptr;
  };
  Activity& activity() noexcept { return activity_; }
  void stop_accepting() noexcept { parts_.scheduler->stop_accepting(); }
  /// Its configuration has sequence_batching, or that of one of its members.
  bool knows_sequences() const noexcept { return knows_sequences_; }
  /// Of an ensemble: of its members, who may have them for others, too.
  uint64_t open_sequences() const noexcept;

  // --- by ensembles' versions that hold it, in addition to a reference ---
  void add_ensemble() noexcept { ensembles_.fetch_add(1, std::memory_order_relaxed); }
  void drop_ensemble() noexcept { ensembles_.fetch_sub(1, std::memory_order_relaxed); }
  /// Whether it serves an ensemble, be it that it serves nobody else any more.
  bool serves_ensembles() const noexcept { return ensembles_.load(std::memory_order_relaxed) != 0; }

  // --- by the serving table ---
  /// Takes a reference in the shard of a read lock that the caller holds.
  void add_reference(const ReaderShards::Read& lock) noexcept {
    if (retired_) {
      remaining_.fetch_add(1, std::memory_order_relaxed);
    } else {
      ++counts_[lock.shard()].references;
    }
  }
  /// Before it is retired.
  void add_reference(const ReaderShards::Write&) noexcept { ++counts_[0].references; }
  int64_t references(const ReaderShards::Write&) const noexcept;
  /// From now on the last reference that goes ends the version. Under a write lock.
  /// \returns true if there is none: the caller calls destroy_later().
  bool retire(const ReaderShards::Write&) noexcept;
  /// Before publication.
  void set_load_duration_ns(uint64_t ns) noexcept { load_duration_ns_ = ns; }
  /// Told on the worker thread that destroys. To be set before publication.
  void on_destroyed(OnDestroyed told) { on_destroyed_ = std::move(told); }
  /// Destroys everything and this object on a worker thread.
  void destroy_later() noexcept;

 private:
  struct alignas(64) Count {
    int64_t references = 0;  ///< may be negative: a reference may be dropped on another thread
  };
  bool destroy_now() noexcept;
  bool is_ensemble() const noexcept { return !parts_.members.by_step().empty(); }

  ServingContext& context_;
  ModelParts parts_;
  const ModelInfo& info_;
  RequestPath path_;
  const bool knows_sequences_;
  Activity activity_;
  uint64_t load_duration_ns_ = 0;
  OnDestroyed on_destroyed_;
  std::array<Count, ReaderShards::kShards> counts_;  ///< each guarded by its shard's lock
  bool retired_ = false;                             ///< guarded by any shard's lock
  std::atomic<int64_t> remaining_{0};                ///< references, once retired
  std::atomic<uint32_t> ensembles_{0};               ///< versions of ensembles that hold it
};

}  // namespace atl::models
