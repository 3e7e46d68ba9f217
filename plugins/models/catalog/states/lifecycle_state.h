/// What the parts of the lifecycle share.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/core/host.h"
#include "models/catalog/loading/loader.h"
#include "models/catalog/serving/serving_table.h"
#include "models/catalog/states/ensembles.h"
#include "models/catalog/states/live_versions.h"
#include "models/catalog/states/memory_return.h"
#include "models/catalog/states/model_records.h"
#include "models/catalog/states/service_changes.h"

namespace atl::models {

struct LifecycleState {
  LifecycleState(Host& the_host, ServingTable& the_table)
      : host(the_host), table(the_table), records(host.events(), host.log()) {}

  Host& host;
  ServingTable& table;
  Loader* loader = nullptr;

  mutable std::mutex mutex;  // guards what follows, up to the memory
  ModelRecords records;
  WaitGraph waits;
  ServiceChanges services;
  LiveVersions live;
  uint64_t last_operation = 0;
  bool starting = true;
  bool ending = false;

  MemoryReturn memory{host};  // has a lock of its own
};

/// The end of loads that an unload made out of date.
Status outdated();

// --- With the lock held; `cancelled` gets those who waited for loads, to be told when the lock is gone. ---

/// Takes a model out of service and the ensembles above it with it. \param reason  of the versions' end
void unload(LifecycleState& state, const std::string& model, const std::string& reason,
            std::vector<LoadDone>* cancelled);
/// On purpose: what a client made the model ends, too.
void unload_by_name(LifecycleState& state, const std::string& model, std::vector<LoadDone>* cancelled);
/// Those that nothing else needs.
void unload_members(LifecycleState& state, const std::vector<EnsembleMember>& members,
                    std::vector<LoadDone>* cancelled);
/// A version that is not given to new requests any more: with the last one of a load its agents are told.
void release_agents(LifecycleState& state, const ServedModel& served);
/// Until there is what it wants.
void take_down(LifecycleState& state, const std::string& model, Want want, const std::string& reason,
               std::vector<LoadDone>* cancelled);

// --- Without it. ---

void notify_all(const std::vector<LoadDone>& callbacks, const Status& status, bool was_read = false);
/// ServedModel::OnDestroyed of a published version. [worker]
void version_ended(LifecycleState& state, const std::string& model, int64_t version, uint64_t object,
                   bool destroyed);

}  // namespace atl::models
