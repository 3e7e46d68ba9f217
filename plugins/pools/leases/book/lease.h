/// One lease: its models are loaded one after the other, and unloaded in the other direction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pools/leases/book/model_backends.h"
#include "pools/leases/book/records.h"
#include "pools/leases/servers/instance.h"

namespace atl::pools {

enum class ModelState : uint8_t { kPending, kLoading, kReady, kUnloading, kUnloaded, kFailed };
constexpr std::string_view name_of(ModelState state) noexcept {
  constexpr std::string_view kNames[] = {"PENDING", "LOADING", "READY", "UNLOADING", "UNLOADED", "FAILED"};
  return kNames[static_cast<size_t>(state)];
}

struct ModelStatus {
  ModelState state = ModelState::kPending;
  std::string reason;
};

/// What a lease needs done before it goes on. Whoever has done it calls the function that is named here, and asks for the next step.
struct LeaseStep {
  enum class Kind : uint8_t {
    kNothing,  ///< it waits for what was begun, or for its instance, or is over
    kChanged,  ///< its state or that of a model is another one: for those who watch it; the next step is there at once
    kLoad,          ///< the model is to be loaded; then loaded()
    kFindBackends,  ///< the backends of the model are to be found out; then found()
    kUnload,        ///< the model is to be unloaded; then unloaded()
    kRecordActive,  ///< all models are loaded, and that is to be recorded; then activated()
    kRecordEnd,     ///< nothing of it is loaded any more, and that is to be recorded; then ended()
    kWait           ///< something failed and is tried again after the time; then retry()
  };
  Kind kind = Kind::kNothing;
  const LeaseModel* model = nullptr;             ///< of kLoad, kFindBackends and kUnload
  int64_t wait_ns = 0;                           ///< of kWait
  std::span<const LeasedModel> found = {};       ///< of kRecordActive: the backends that were found out
  LeaseState end_state = LeaseState::kReleased;  ///< of kRecordEnd
};

/// Knows its instance and what is loaded there, and which step comes next. It takes none itself: it asks no server, records nothing and
/// has no timer. Where it goes, its time and its record are matters of others. It has no lock: it is used on the executor of the
/// PoolContext alone.
class Lease {
 public:
  Lease(const PoolContext& with, LeaseRecord from)
      : record(std::move(from)), models_(record.definition.models.size()), with_(with) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  LeaseRecord record;

  const std::string& id() const noexcept { return record.id; }
  LeaseState state() const noexcept { return record.state; }
  const std::vector<ModelStatus>& models() const noexcept { return models_; }
  /// Null: it has none, or had one that was lost.
  const PoolInstance* instance() const noexcept { return instance_; }
  bool is_ending() const noexcept { return final_ != LeaseState::kPending; }

  // --- what happens to it; after each of these it may have a next step ---
  /// It goes there, and is deployed as soon as the instance is ready.
  void place(PoolInstance& instance);
  /// What its instance says that it serves. An ACTIVE lease that has lost a model by that is DEPLOYING until the model is loaded again;
  /// if that cannot be done it fails. \param asked_ns  steady clock, when that was asked for
  void instance_seen(const ServedModels& models, int64_t asked_ns);
  /// Whatever was loaded there is gone; it has no instance. \param keeps_place  resume() says soon where; otherwise, it is PENDING unless it ends
  void instance_lost(bool keeps_place);
  /// It has another server in the same place, or the one that it had before a restart. \param is_loaded  its models may be loaded there
  void resume(PoolInstance& instance, bool is_loaded);
  /// Unloads what is loaded and is over. Another end that has begun stays.
  /// \param state  a final one
  /// \param failure  of kFailed
  void end(LeaseState state, const Status& failure = {});

  // --- its steps ---
  /// \param known  the models whose backends need not be found out
  LeaseStep next(const ModelBackends& known);
  /// Guards the callbacks of what next() has asked for: they do nothing once the lease is gone, or needs it no more.
  const Alive& asked() const noexcept { return alive_; }
  void loaded(const Status& status);
  void found(Result<std::vector<std::string>> backends);
  void unloaded(const Status& status);
  /// \param recorded  an error: it is tried again after a while
  void activated(const Status& recorded);
  /// Likewise. \param as  what was recorded
  void ended(const Status& recorded, LeaseRecord as);
  void retry() noexcept { turn_ = Turn::kOwn; }

 private:
  /// Who has the next word.
  enum class Turn : uint8_t {
    kOwn,
    kToWait,  ///< a timer that is still to be set
    kOthers   ///< the instance, the timer, or whoever records something
  };
  LeaseStep step_of(LeaseStep::Kind kind, size_t index, ModelState state);
  void set_state(LeaseState state);
  void set_model(size_t index, ModelState state, std::string_view reason = {});
  const LeaseModel& model(size_t index) const { return record.definition.models[index]; }
  void try_again();

  std::vector<ModelStatus> models_;  ///< in the order of the definition
  const PoolContext& with_;
  PoolInstance* instance_ = nullptr;
  size_t loaded_ = 0;               ///< the first so many models
  size_t looked_at_ = 0;            ///< of these: their backends are known
  std::vector<LeasedModel> found_;  ///< that were not known before
  int64_t active_since_ns_ = 0;     ///< steady clock
  std::vector<size_t> lost_;        ///< models that its instance has lost since then
  uint32_t failed_loads_ = 0;       ///< of these, in a row
  bool is_changed_ = false;         ///< since the last step
  Turn turn_ = Turn::kOwn;
  int64_t wait_ns_ = 0;                      ///< of the last try_again()
  LeaseState final_ = LeaseState::kPending;  ///< that it is on its way to; kPending: none
  Alive alive_;
};

}  // namespace atl::pools
