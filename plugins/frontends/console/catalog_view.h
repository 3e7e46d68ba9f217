/// What the console shows of all models together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/models/model.h"

namespace atl::frontends::console {

/// Sums over the READY versions.
struct ModelSums {
  StatisticDuration success, fail, queue, compute_input, compute_infer, compute_output;
  uint64_t failures[4] = {};  ///< by FailureReason
  uint64_t inferences = 0, executions = 0, pending = 0;
  LatencyHistogram total;

  void add(const ModelStatistics& one) noexcept;
};

/// Of an entry of the index; -1: it has none.
int64_t version_number(const std::string& version) noexcept;

/// A version with requests that no instance executes yet.
struct WaitingModel {
  std::string name;
  int64_t version = 0;
  uint64_t pending = 0;
  StatisticDuration queue;  ///< of successful requests, since it was loaded
};

/// A version with memory of its own, as its backend says.
struct ModelMemory {
  std::string name;
  int64_t version = 0;
  uint64_t bytes = 0;         ///< of the host
  uint64_t device_bytes = 0;  ///< of GPUs
};

struct CatalogLook {
  static constexpr size_t kMostPending = 100;
  static constexpr size_t kMostMemory = 100;

  int64_t taken_ns = 0;  ///< when it was begun, by Clock::now_ns()
  int64_t wall_ms = 0;   ///< when it was begun, in milliseconds since 1970
  int64_t took_ns = 0;
  std::vector<ModelIndexEntry> entries;    ///< by name, then by version
  std::map<std::string, uint64_t> states;  ///< how many entries; "NOT LOADED" of those without a state
  ModelSums sums;
  std::vector<WaitingModel> pending;  ///< those with the most, the most first
  uint64_t pending_models = 0;        ///< how many there are
  std::vector<ModelMemory> memory;    ///< those with the most, the most first
  ModelMemory all_memory;             ///< of all models, without a name
  uint64_t memory_models = 0;         ///< how many have any
};

struct ModelName {
  std::string name, version;
};

/// Looks at the catalog only when somebody asks, and seldom enough that it costs little however many ask: the next look is
/// taken 100 times as long after the last one as that took. For one thread at a time.
class CatalogView {
 public:
  /// Both outlive this object.
  CatalogView(ModelCatalog& catalog, const Clock& clock) : catalog_(catalog), clock_(clock) {}

  /// Reads the repository, and statistics of a model at a time. [worker]
  /// Errors: those of ModelCatalog::index(), if there was no look yet or the last one is too old.
  Result<const CatalogLook*> look();
  /// Those of the last look that are ensembles and still served. [worker]
  const std::vector<ModelName>& ensembles();

 private:
  Status renew();

  ModelCatalog& catalog_;
  const Clock& clock_;
  CatalogLook look_;
  bool is_taken_ = false;
  std::vector<ModelName> ensembles_;
  int64_t ensembles_ns_ = -1;  ///< CatalogLook::taken_ns of the look of which they are
};

}  // namespace atl::frontends::console
