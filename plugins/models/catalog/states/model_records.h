/// What is known of every model that was ever asked for: states, reasons and what it depends on.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/event_bus.h"
#include "atoll/core/log.h"
#include "atoll/models/model.h"
#include "models/catalog/loading/load_order.h"
#include "models/catalog/serving/prepared_model.h"
#include "models/catalog/serving/served_model.h"
#include "models/catalog/states/service_changes.h"
#include "models/catalog/states/version_state.h"

namespace atl::models {

/// Reason of a version that was unloaded on purpose; readiness does not mind it.
inline constexpr std::string_view kUnloadedReason = "unloaded";

/// Most UNAVAILABLE versions that are remembered. Clients choose the names and versions of models whose files
/// they bring, and repositories change for years.
inline constexpr size_t kUnavailableMax = 16 * 1024;

struct VersionRecord {
  VersionState state = VersionState::kUnknown;
  std::string reason;
  std::string end_reason;         ///< what reason becomes when an UNLOADING version has ended
  std::string reload_failure;     ///< of a READY version: why the last load has put no other in its place
  ServedModel* served = nullptr;  ///< READY only; alive while it is here
  uint64_t object = 0;            ///< which ServedModel the state is about
  uint64_t change = 0;            ///< grows with every change of the state

  /// A load of it has failed, which one that serves outlives.
  void note_failure(const std::string& why) {
    if (state == VersionState::kReady) reload_failure = why;
  }
};

/// What keeps the server from being ready where readiness is strict.
struct Unready {
  size_t models = 0;   ///< none: it is ready
  std::string model;   ///< the first of them by name
  std::string reason;  ///< that one's
};

struct ModelRecord {
  std::map<int64_t, VersionRecord> versions;
  std::shared_ptr<const PreparedModel> loaded;  ///< what the last load that went well was made of
  bool requested = false;                       ///< loaded by name, not only for an ensemble
  std::string failure;         ///< of the last load, when it failed before any version was known
  std::string logged_failure;  ///< attempts that fail alike are logged once; without numbers of processes
  std::vector<Want> wants;     ///< for which the last load failed, or the model was taken down
  std::vector<EnsembleMember>
      members;             ///< of an ensemble, as last loaded; ModelRecords::set_members() writes them
  bool suspended = false;  ///< an ensemble that was taken down with a member, and comes back with it
  uint64_t operation = 0;  ///< the newest; a load of an older one is out of date
  uint64_t committed = 0;  ///< the operation that last changed what is served
  std::map<std::string, uint64_t> built_on;  ///< of an ensemble: committed of its members
  bool loading = false;
  std::vector<LoadDone> running;  ///< told when the load that runs has ended
  /// Of ensembles that wait for it: these are told before what it takes away is gone, which they may hold.
  std::vector<LoadDone> running_above;
  std::deque<LoadOrder> waiting;  ///< made one by one after it

  std::vector<int64_t> ready_versions() const;
  bool has_ready() const;
  /// Its last load went wrong, and nothing serves.
  bool has_failed() const;
  /// Nothing but versions that were unloaded on purpose.
  bool is_unloaded() const;
  bool is_helped_by(const ChangedService& change) const;
  /// All that the last load that failed, or what took the model down, has left.
  void forget_failure();
  /// Notes why an attempt failed. \returns whether the attempt before failed for the same reason
  bool fails_alike(std::string_view reason);
};

/// Not locked: guarded by its owner. Every change of a state is published.
class ModelRecords {
 public:
  ModelRecords(EventBus& events, Log& log) noexcept : events_(events), log_(log) {}

  ModelRecord& at(const std::string& model) { return records_[model]; }
  ModelRecord* find(std::string_view model);
  const ModelRecord* find(std::string_view model) const;
  const std::map<std::string, ModelRecord, std::less<>>& all() const noexcept { return records_; }
  std::map<std::string, ModelRecord, std::less<>>& all() noexcept { return records_; }

  /// As the table of the states allows; anything else is a defect, which the log tells.
  void set_state(const std::string& model, int64_t version, VersionState state, std::string reason);
  /// Of a version that does not serve.
  void begin_load(const std::string& model, int64_t version);
  /// Of one that does. \param reason  of its end, when its last request has ended
  void begin_unload(const std::string& model, int64_t version, std::string reason);
  /// It is UNAVAILABLE: unloaded, if that is the reason, else failed.
  void end(const std::string& model, int64_t version, std::string reason);
  /// A version's object is destroyed: the version ends if it was unloading and nothing has become of it since.
  void ended(const std::string& model, int64_t version, uint64_t object);
  /// An ensemble's members, as it was last loaded; empty: it is none.
  void set_members(const std::string& ensemble, const std::vector<EnsembleMember>& members);
  /// The ensembles that use a model directly, by name.
  std::vector<std::string> ensembles_above(std::string_view model) const;
  /// Drops the record of a model about which there is nothing to say.
  void forget_if_empty(const std::string& model);
  /// Forgets the versions that have been UNAVAILABLE longest, as far as they are too many. May drop records.
  void trim();
  /// Withdraws the published states.
  void forget_events();

  /// Why a look-up of a READY version found none.
  /// \param shown  the name that the text says; empty: the model's
  Status lookup_failure(std::string_view model, int64_t version, std::string_view shown = {}) const;
  /// Models that have failed, whatever they failed at, unless what was loaded before keeps serving; and those
  /// that serve and cannot. What is on its way, or was unloaded on purpose, does not count: a model that is
  /// being loaded takes nothing from those that serve.
  Unready unready() const;
  /// Adds the index lines of a model. \returns false if there is none and the model is not known
  bool append_index(std::string_view model, bool ready_only, std::vector<ModelIndexEntry>* entries) const;

 private:
  struct Unavailable {
    std::string model;
    int64_t version = 0;
    uint64_t change = 0;
  };
  void forget_event(const std::string& model, int64_t version);

  EventBus& events_;
  Log& log_;
  std::map<std::string, ModelRecord, std::less<>> records_;
  /// By member. So that the load of one of 10,000 models does not look at all others.
  std::map<std::string, std::set<std::string>, std::less<>> above_;
  std::deque<Unavailable> unavailable_;  ///< the oldest first; some have changed since
  uint64_t last_change_ = 0;
};

}  // namespace atl::models
