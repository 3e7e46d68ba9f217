/// Loads, reloads and unloads: which versions are there, in which state, and how they change.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/events.h"
#include "atoll/host.h"
#include "ensembles.h"
#include "load_call.h"
#include "loader.h"
#include "model_records.h"
#include "serving_table.h"

namespace atl::models {

/// One operation a model at a time; further loads of it are answered by one more load after the running one.
/// An unload takes effect at once and makes a running load out of date. Building happens on worker threads
/// with no lock held. [any]
class Lifecycle {
 public:
  Lifecycle(Host& host, ServingContext& serving, ServingTable& table);
  ~Lifecycle();

  /// Before anything else; the loader outlives the last operation.
  void use(Loader* loader) noexcept { loader_ = loader; }

  void load(std::vector<std::string> models, LoadCall::Done done);
  void unload(std::vector<std::string> models, LoadCall::Done done);
  /// The server begins to drain: schedulers take nothing new. Members of ensembles still do, for the sake of
  /// the ensembles' requests that run.
  void stop_accepting();
  /// Ends: no more loads, everything is unloaded as its requests end.
  void end();
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
  /// One load of one model.
  struct Attempt {
    std::string model;
    uint64_t operation = 0;
    uint64_t services_seen = 0;  ///< last_change_ when it began
    PreparedModel prepared;
    size_t members_left = 0;
    std::map<std::string, Status> member_failures;
  };
  using AttemptPtr = std::shared_ptr<Attempt>;
  using Built = std::vector<std::unique_ptr<ServedModel>>;
  using Step = void (Lifecycle::*)(const AttemptPtr&);
  struct Change {
    uint64_t number = 0;
    ServiceChanged::Kind kind = ServiceChanged::Kind::kPublished;
  };
  struct Live {
    std::string model;
    const ServedModel* object = nullptr;
  };

  void start_load(const std::string& model, LoadDone done);
  AttemptPtr begin(const std::string& model, ModelRecord& record, std::vector<LoadDone> told);
  void post(const AttemptPtr& attempt, Step step);
  void run(const AttemptPtr& attempt, Step step) noexcept;
  void prepare(const AttemptPtr& attempt);
  void await_members(const AttemptPtr& attempt);
  void member_ended(const AttemptPtr& attempt, const std::string& member, const Status& status);
  void check_members_and_build(const AttemptPtr& attempt);
  void build(const AttemptPtr& attempt);
  Status commit(const AttemptPtr& attempt, Built& built);
  void adopt(const AttemptPtr& attempt, ModelRecord& record, Built& built);
  void fail_prepare(const AttemptPtr& attempt, Status status, bool exists);
  void fail_version(const AttemptPtr& attempt, int64_t version, const Status& status,
                    const MissingService& missing);
  void finish(const AttemptPtr& attempt, const Status& status);
  void reload_above(const std::string& model);

  /// All of these with the lock held.
  bool current(const Attempt& attempt) const;
  Status outdated() const;
  void unload_locked(const std::string& model, const std::string& reason, std::vector<LoadDone>* cancelled);
  bool changed_since(const Attempt& attempt, std::string_view interface_id, std::string_view instance,
                     ServiceChanged::Kind kind) const;
  bool wants_published(const ModelRecord& record, const ServiceChanged& event) const;
  bool uses(const ModelRecord& record, const ServiceChanged& event) const;

  void ended(const std::string& model, int64_t version, uint64_t object, bool destroyed);

  Host& host_;
  ServingContext& serving_;
  ServingTable& table_;
  Loader* loader_ = nullptr;

  mutable std::mutex mutex_;  // guards everything below
  ModelRecords records_;
  WaitGraph waits_;
  std::map<std::string, Change, std::less<>> changes_;  // by ServiceChanged::key_text
  std::map<uint64_t, Live> live_;                       // published and not yet destroyed
  uint64_t last_operation_ = 0;
  uint64_t last_change_ = 0;
  uint64_t last_object_ = 0;
  bool ending_ = false;
};

}  // namespace atl::models
