/// One load of one model: read, built beside what serves, swapped in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/catalog/states/lifecycle_state.h"

namespace atl::models {

/// One operation a model at a time; further loads of it are made after the running one. An unload takes
/// effect at once and makes all of them out of date. Building happens on worker threads with no lock held.
class ModelLoad : public std::enable_shared_from_this<ModelLoad> {
 public:
  using Ptr = std::shared_ptr<ModelLoad>;

  /// Starts a load, or lines it up; at the end all of `order` are told. [any]
  static void request(LifecycleState& state, const std::string& model, LoadOrder order);
  /// With the lock held: the load that the caller has to start(), without it; null: one of the model runs, and
  /// this one follows.
  static Ptr line_up(LifecycleState& state, const std::string& model, LoadOrder order);
  void start();

  ModelLoad(LifecycleState& state, std::string model, LoadOrder order);

 private:
  using Built = std::vector<std::unique_ptr<ServedModel>>;
  struct VersionFailure {
    int64_t version = 0;
    LoadFailure failure;
  };

  // The steps, on worker threads.
  void post(void (ModelLoad::*step)());
  void prepare();
  void await_members();
  void member_ended(const std::string& member, const Status& status);
  void check_members_and_build();
  void build();
  std::vector<VersionFailure> build_versions(Built& built);
  Status commit(Built& built, bool* changed);
  void fail_prepare(Status status, bool exists, Want want = {});
  void fail_versions(const std::vector<VersionFailure>& failures);
  void finish(const Status& status);

  // With the lock held.
  bool is_current() const;
  void select_needed();
  Status follow_services(const Built& built);
  bool adopt(Built& built);
  void publish(VersionRecord& version, std::unique_ptr<ServedModel> built);
  void retry_if_helped();
  void take_down_stranded(const std::string& failure, std::vector<LoadDone>* cancelled);
  ModelRecord& record() { return state_.records.at(model_); }

  void log_failure(const std::string& what, bool repeated, const std::string& reason, bool serving);

  LifecycleState& state_;
  const std::string model_;
  LoadOrder order_;
  const uint64_t operation_;
  const uint64_t services_seen_;  ///< ServiceChanges::last() when it began
  bool was_read_ = false;
  std::shared_ptr<const PreparedModel> prepared_;
  std::shared_ptr<AgentRun> agents_;  ///< that prepared it; null: none
  size_t members_left_ = 0;
  std::map<std::string, Status> member_failures_;
  std::map<std::string, uint64_t> built_on_;  ///< ModelRecord::committed of the members
  std::vector<ServedModel*> kept_;            ///< served versions that did not change
  std::vector<RepositoryVersion> needed_;     ///< versions to be built
  std::vector<ModelRef> bases_;   ///< of each, what is served and differs in its instances only; or empty
  std::vector<ModelRef> before_;  ///< of each, what is served and is the same but for a service; or empty
  std::shared_ptr<LeavingVersions> departure_;  ///< null: nothing goes that the load has to wait for
};

}  // namespace atl::models
