/// Loads, reloads and unloads: which versions are there, in which state, and how they change.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "atoll/events.h"
#include "atoll/host.h"
#include "models/catalog/loading/loader.h"
#include "models/catalog/serving/serving_table.h"
#include "models/catalog/states/ensembles.h"
#include "models/catalog/states/load_call.h"
#include "models/catalog/states/memory_return.h"
#include "models/catalog/states/model_records.h"

namespace atl::models {

/// One operation a model at a time; further loads of it are made after the running one. An unload takes
/// effect at once and makes all of them out of date. Building happens on worker threads with no lock held.
/// [any]
class Lifecycle {
 public:
  Lifecycle(Host& host, ServingContext& serving, ServingTable& table);
  ~Lifecycle();

  /// Before anything else; the loader outlives the last operation.
  void use(Loader* loader) noexcept { loader_ = loader; }

  using ModelDone = std::function<void(ModelLoadOutcome)>;
  void load(const std::vector<std::string>& models, LoadCall::Done done);
  void load(ModelLoadRequest request, ModelDone done);
  /// From now on a name that no repository has is not remembered when its load fails.
  void end_startup();
  void unload(const std::vector<std::string>& models, LoadCall::Done done);
  void unload(const std::string& model, bool with_members);
  /// The server begins to drain: schedulers take nothing new. Members of ensembles still do, for the sake of
  /// the ensembles' requests that run.
  void stop_accepting();
  /// Ends: no more loads, everything is unloaded as its requests end.
  void end();
  /// When the instance's gate is empty.
  void stop() { memory_.stop(); }
  /// [control] Does not block.
  void service_changed(const ServiceChanged& event);

  /// What keeps the plugin from being stopped: "2 requests of resnet50".
  std::string holding() const;
  /// Looks at the records under the lock.
  template <class Look>
  auto look(Look&& look_at) const {
    std::scoped_lock lock(mutex_);
    return look_at(records_);
  }

 private:
  /// What was served and shares its instances with what took its place, but for some that go: who has to be
  /// told when they are gone.
  struct Departure {
    size_t left = 0;  ///< so many versions are still there
    std::vector<LoadDone> told = {};
  };
  /// One load of one model.
  struct Attempt {
    std::string model;
    LoadOrder order;
    uint64_t operation = 0;
    uint64_t services_seen = 0;  ///< last_change_ when it began
    bool was_read = false;
    std::shared_ptr<const PreparedModel> prepared;
    size_t members_left = 0;
    std::map<std::string, Status> member_failures;
    std::map<std::string, uint64_t> built_on;  ///< committed of the members
    std::vector<ServedModel*> kept;            ///< served versions that did not change
    std::vector<RepositoryVersion> needed;     ///< versions to be built
    std::shared_ptr<Departure> departure;      ///< null: nothing goes that the load has to wait for
    std::vector<ModelRef> bases;  ///< of each, what is served and differs in its instances only; or empty
  };
  using AttemptPtr = std::shared_ptr<Attempt>;
  using Built = std::vector<std::unique_ptr<ServedModel>>;
  using Step = void (Lifecycle::*)(const AttemptPtr&);
  struct VersionFailure {
    int64_t version = 0;
    Status status;
    MissingService missing;
  };
  struct Change {
    uint64_t number = 0;
    ServiceChanged::Kind kind = ServiceChanged::Kind::kPublished;
  };
  /// What becomes of a model with the schedulers that there are now.
  struct SchedulerMove {
    enum class Kind { kNone, kLoad, kMove, kTakeDown } kind = Kind::kNone;
    std::string from = {};
    std::string to = {};
  };
  struct Live {
    std::string model;
    const ServedModel* object = nullptr;
  };

  void start_load(const std::string& model, LoadOrder order);
  void rebuild(const std::string& model);
  void post(const AttemptPtr& attempt, Step step);
  void run(const AttemptPtr& attempt, Step step) noexcept;
  void prepare(const AttemptPtr& attempt);
  void await_members(const AttemptPtr& attempt);
  void member_ended(const AttemptPtr& attempt, const std::string& member, const Status& status);
  void check_members_and_build(const AttemptPtr& attempt);
  void build(const AttemptPtr& attempt);
  std::vector<VersionFailure> build_versions(const Attempt& attempt, Built& built);
  Status commit(const AttemptPtr& attempt, Built& built, bool* changed);
  bool adopt(const AttemptPtr& attempt, ModelRecord& record, Built& built);
  void fail_prepare(const AttemptPtr& attempt, Status status, bool exists);
  void fail_versions(const AttemptPtr& attempt, const std::vector<VersionFailure>& failures);
  void log_failure(const std::string& model, bool repeated, const std::string& reason, bool serving);
  void finish(const AttemptPtr& attempt, const Status& status);
  void reload_above(const std::string& model);

  /// All of these with the lock held.
  AttemptPtr begin(const std::string& model, LoadOrder order);
  AttemptPtr begin_or_wait(const std::string& model, LoadOrder order);
  bool current(const Attempt& attempt) const;
  bool select_needed(Attempt& attempt);
  bool needs_load(const ModelRecord& record, const LoadOrder& order) const;
  Status outdated() const;
  void unload_locked(const std::string& model, const std::string& reason, std::vector<LoadDone>* cancelled);
  void unload_by_name_locked(const std::string& model, std::vector<LoadDone>* cancelled);
  void unload_members_locked(const std::vector<EnsembleMember>& members, std::vector<LoadDone>* cancelled);
  bool changed_since(const Attempt& attempt, std::string_view interface_id, std::string_view instance,
                     ServiceChanged::Kind kind) const;
  bool may_go_well_since(const Attempt& attempt, const MissingService& missing) const;
  bool scheduler_changed_since(const Attempt& attempt, const ModelParts& parts) const;
  bool scheduler_is_gone(const ModelParts& parts) const;
  void take_down_stranded(const std::string& model, const std::string& failure,
                          std::vector<LoadDone>* cancelled);
  void take_down_locked(const std::string& model, const MissingService& gone, const std::string& reason,
                        std::vector<LoadDone>* cancelled);
  bool admission_changed_since(const Attempt& attempt, const ModelParts& parts) const;
  MissingService gone_since(const Attempt& attempt, const ModelParts& parts) const;
  bool uses_backend(const ModelRecord& record, const ServiceChanged& event) const;
  SchedulerMove move_of(const std::string& model, const ModelRecord& record,
                        const ServiceChanged& event) const;
  bool is_admitted_otherwise(const ModelRecord& record, const ServiceChanged& event) const;

  void admission_changed(const ServiceChanged& event);
  void scheduler_changed(const ServiceChanged& event);
  void backend_changed(const ServiceChanged& event);
  void tell_taken_down(const std::vector<std::string>& models, const std::string& reason,
                       const std::vector<LoadDone>& cancelled);
  void ended(const std::string& model, int64_t version, uint64_t object, bool destroyed);
  void note_ended(const std::string& model, int64_t version, uint64_t object, std::vector<LoadDone>* told);

  Host& host_;
  ServingContext& serving_;
  ServingTable& table_;
  Loader* loader_ = nullptr;

  mutable std::mutex mutex_;  // guards everything below
  ModelRecords records_;
  WaitGraph waits_;
  std::map<std::string, Change, std::less<>> changes_;         // by ServiceChanged::key_text
  std::vector<SchedulerOffer> schedulers_;                     // as of the last change of one
  std::map<uint64_t, Live> live_;                              // published and not yet destroyed
  std::set<uint64_t> succeeded_;                               ///< of these, by one with other instances
  std::map<uint64_t, std::shared_ptr<Departure>> departures_;  ///< of these, those that somebody waits for
  uint64_t last_operation_ = 0;
  uint64_t last_change_ = 0;
  uint64_t last_object_ = 0;
  bool starting_ = true;
  bool ending_ = false;

  MemoryReturn memory_{host_};  // has a lock of its own
};

}  // namespace atl::models
