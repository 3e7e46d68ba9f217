/// One lease: its models are loaded one after the other, and unloaded in the other direction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

class Lease;

class LeaseOwner {
 public:
  /// Whether its backends need not be asked for.
  virtual bool is_known(const LeaseModel& model) const = 0;
  /// All models are loaded; the backends of those that were not known are there. Makes the lease ACTIVE.
  /// Errors: it is asked again after a while.
  virtual Status lease_deployed(Lease& lease, const std::vector<LeasedModel>& found) = 0;
  /// Nothing of it is loaded any more, and it is to be in this state. Errors: likewise.
  virtual Status lease_ended(Lease& lease, LeaseState state) = 0;
  /// Its state or that of a model is another one; for those who watch it.
  virtual void lease_changed(Lease& lease) = 0;

 protected:
  ~LeaseOwner() = default;
};

/// Knows its instance and what is loaded there; where it goes is its owner's matter, and so are its place, its time and
/// its record.
class Lease {
 public:
  Lease(const PoolContext& with, LeaseOwner& owner, LeaseRecord from)
      : record(std::move(from)), models_(record.definition.models.size()), with_(with), owner_(owner) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  LeaseRecord record;

  const std::string& id() const noexcept { return record.id; }
  LeaseState state() const noexcept { return record.state; }
  const std::vector<ModelStatus>& models() const noexcept { return models_; }
  /// Null: it has none, or had one that was lost.
  const PoolInstance* instance() const noexcept { return instance_; }
  bool is_ending() const noexcept { return final_ != LeaseState::kPending; }

  /// It goes there: at once if the instance is ready, else with instance_ready().
  void place(PoolInstance& instance);
  /// It is ending, and its models may be loaded there.
  void find_again(PoolInstance& instance);
  void instance_ready() { advance(); }
  /// What its instance says that it serves. An ACTIVE lease that has lost a model by that is DEPLOYING until the model is loaded again;
  /// if that cannot be done it fails. \param asked_ns  steady clock, when that was asked for
  void instance_seen(const ServedModels& models, int64_t asked_ns);
  /// Another server has taken its instance's place, and has nothing loaded.
  void move_to(PoolInstance& instance);
  /// Whatever was loaded there is gone. \returns false if it has ended by that
  [[nodiscard]] bool instance_lost();
  /// Unloads what is loaded and is over. Another end that has begun stays.
  /// \param state  a final one
  /// \param failure  of kFailed
  void end(LeaseState state, const Status& failure = {});

 private:
  void advance();
  void forget_loaded();
  void load_next();
  void loaded(Status status);
  void load_lost();
  void loaded_again(Status status);
  void find_next();
  void found(Result<std::vector<std::string>> backends);
  void activate();
  void unload_last();
  void unloaded(Status status);
  void finish();
  void set_state(LeaseState state);
  void set_model(size_t index, ModelState state, std::string_view reason = {});
  const LeaseModel& model(size_t index) const { return record.definition.models[index]; }
  /// Calls back after the wait, if nothing else has happened.
  void try_again();

  std::vector<ModelStatus> models_;  ///< in the order of the definition
  const PoolContext& with_;
  LeaseOwner& owner_;
  PoolInstance* instance_ = nullptr;
  size_t loaded_ = 0;                        ///< the first so many models
  size_t looked_at_ = 0;                     ///< of these: their backends are known
  std::vector<LeasedModel> found_;           ///< that were not known before
  int64_t active_since_ns_ = 0;              ///< steady clock
  std::vector<size_t> lost_;                 ///< models that its instance has lost since then
  uint32_t failed_loads_ = 0;                ///< of these, in a row
  bool is_busy_ = false;                     ///< the instance, or a timer, has the next word
  int64_t wait_ns_ = 0;                      ///< of the last try_again()
  LeaseState final_ = LeaseState::kPending;  ///< that it is on its way to; kPending: none
  Alive alive_;
};

}  // namespace atl::pools
