/// Loads what requests ask for, and unloads what nobody asks for.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/gate.h"
#include "atoll/core/host.h"
#include "atoll/core/stop_executor.h"
#include "atoll/models/model_demand.h"
#include "atoll/models/repository.h"
#include "control/on_demand/unload_choice.h"

namespace atl::control {

struct DemandOptions {
  int64_t unload_after_ns = 0;              ///< 0: never
  uint64_t memory_budget_bytes = 0;         ///< of the loaded models, estimated; 0: none
  std::set<std::string> pinned;             ///< loaded at start, never unloaded
  uint32_t max_waiting = 1000;              ///< requests that wait for models
  int64_t max_wait_ns = 60 * kNsPerSecond;  ///< of one of them
  int64_t retry_after_ns = kNsPerSecond;    ///< after a failed load; doubled by each further one
  int64_t interval_ns =
      15 * kNsPerSecond;  ///< between two polls of the names in the repository; 0: one at start
};

/// Requests come on any thread and only take a lock; everything else is done on a thread of its own, one
/// thing after the other. A waiting request, and a load, hold a pass of the instance's gate.
class Demand final : public ModelDemand, private CancelListener {
 public:
  Demand(Host& host, DemandOptions options) : host_(host), options_(std::move(options)) {}
  virtual ~Demand() = default;

  /// Begins with a poll of the repository and the load of the pinned models. The services outlive stop().
  /// Errors: RESOURCE_EXHAUSTED no thread to be had.
  Status start(ModelCatalog& catalog, Repository& repository);
  /// Polls the repository at once. [control]
  void look_again() noexcept;
  /// Whoever waits is told that the server exits.
  void drain();
  /// When the gate is empty.
  void stop() { stop_executor(executor_); }

  Status await(const WantedModel& wanted, ModelWaiter& waiter) noexcept override;
  std::string unloaded_reason(std::string_view name) const noexcept override;

 private:
  enum class State : uint32_t { kAway, kLoading, kLoaded };
  struct Entry {
    State state = State::kAway;
    bool listed = true;        ///< the repository has it
    Status failure;            ///< of the last load
    uint32_t failures = 0;     ///< in a row
    int64_t retry_at_ns = 0;   ///< before that it is not tried again
    uint64_t bytes = 0;        ///< estimated
    uint64_t activity = 0;     ///< grows with what its statistics count
    int64_t last_used_ns = 0;  ///< when that was last seen
  };
  struct Waiting {
    std::string model;
    int64_t version = 0;
    ModelWaiter* waiter = nullptr;
    Cancellation* cancellation = nullptr;
    TimerId timer = 0;
    Pass pass;
  };
  /// A load that runs.
  struct Load {
    uint64_t resident_before = 0;
    uint64_t file_bytes = 0;
    uint64_t changes_before = 0;
    Pass pass;
  };

  void on_cancel(void* context) noexcept override;
  /// [any, locked] \returns the failure that ends the call, or OK: it waits
  Status wait_locked(const WantedModel& wanted, ModelWaiter& waiter, Pass pass);
  /// [any, locked] Of a name that the repository did not have when it was listed. \returns whether it may be listed
  /// again for this request
  bool may_look_locked() const;
  /// [any, locked] Errors: CANCELLED.
  Status add_waiting_locked(const WantedModel& wanted, ModelWaiter& waiter, Pass pass);
  /// [any, locked]
  void load_locked(const std::string& name, Entry& entry);

  // All of these on the executor.
  void begin();
  void poll_repository();
  bool list();
  void look_for_unknown();
  void load(const std::string& name);
  void loaded(const std::string& name, ModelLoadOutcome outcome);
  void notify(const std::string& name, const Status& failure);
  void end_waiting(uint64_t id, Result<ModelRef> result);
  void check_use();
  void watch_use();
  void unload(const std::vector<UnloadChoice>& choices);
  void make_room(const std::string& newcomer);
  std::vector<LoadedModel> loaded_models();
  void complete_startup();

  Host& host_;
  const DemandOptions options_;
  ModelCatalog* catalog_ = nullptr;
  Repository* repository_ = nullptr;

  mutable std::mutex mutex_;  ///< guards what follows
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<uint64_t, Waiting> waiting_;  ///< in the order they came
  uint64_t last_waiting_ = 0;
  bool is_looking_ = false;  ///< for names that are not among the entries; who comes until it begins joins it
  int64_t next_look_ns_ = 0;  ///< not before that

  // Of the executor.
  std::map<std::string, Load> loads_;
  uint64_t changes_ = 0;  ///< loads begun and unloads: what else moves the process's memory
  std::set<std::string> starting_;
  std::vector<ModelLoadResult> started_;
  bool startup_complete_ = false;
  std::string list_failure_;    ///< logged once
  SerialExecutorPtr executor_;  // last: its tasks use all of the above
};

}  // namespace atl::control
