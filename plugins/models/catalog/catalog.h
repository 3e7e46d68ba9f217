/// The model catalog as the rest of the server sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/core/startup.h"
#include "atoll/models/model.h"
#include "atoll/models/repository.h"
#include "models/catalog/catalog_statistics.h"
#include "models/catalog/serving/serving_table.h"
#include "models/catalog/states/lifecycle.h"

namespace atl::models {

/// How far the server is.
enum class ServerPhase : uint32_t { kNotReady, kServing, kExiting, kEnded };

struct CatalogOptions {
  bool strict_readiness = true;
  int64_t sequence_time_ns =
      20 * kNsPerSecond;  ///< for the sequences of a version that is replaced or unloaded
  LoaderOptions loader;
};

/// Answers questions from the serving table and the records; changes go to the lifecycle.
class Catalog final : public ModelCatalog, public Startup {
 public:
  Catalog(Host& host, CatalogOptions options);

  /// \param repository, configs  outlive the catalog's use, until stop()
  void start(Repository& repository, ModelConfigs& configs);
  /// Goes on with other options; what is loaded stays as it is. [control]
  void follow(const CatalogOptions& next);
  /// An instance that models may depend on follows other options: what failed before is tried again, and what came from a
  /// repository that is not among `paths` goes. Reads the repository. [worker]
  /// \param paths  nothing: they are not known
  void look_again(const std::optional<std::vector<std::string>>& paths);
  /// Before start(). \param notes  told what threads do inside backends and schedulers; outlives stop()
  void note_faults(FaultNotes& notes) noexcept { serving_.requests.fault_notes = &notes; }
  /// Before start(). \param inputs  outlives stop()
  void use(const DeviceInputs& inputs) noexcept { serving_.requests.device_inputs = &inputs; }
  /// Tells from here on what takes long, until stop_watching().
  void watch() {
    work_.start([this](const LongWork::See& see) { lifecycle_.visit(see); });
  }
  void stop_watching() { work_.stop(); }
  /// Ends: nothing is acquired or loaded any more, what is loaded goes when its requests have ended.
  void drain();
  void server_state_changed(ServerStateChanged::State state);
  ModelLifecycle& lifecycle() noexcept { return lifecycle_; }
  ServingTable& table() noexcept { return table_; }
  Repository& repository() noexcept { return *repository_; }
  /// Errors: UNAVAILABLE nothing can be served yet, or any more.
  Status check_phase() const;
  /// A service came, was replaced or went. [control]
  void service_changed(const ServiceChanged& event);

  Result<ModelRef> acquire(std::string_view name, int64_t version) noexcept override;
  bool live() const noexcept override;
  bool ready() const noexcept override;
  bool exiting() const noexcept override;
  int64_t exit_began_ns() const noexcept override { return exit_began_ns_.load(std::memory_order_acquire); }
  Result<std::vector<int64_t>> ready_versions(std::string_view name) const noexcept override;
  Result<std::vector<ModelStatistics>> statistics(std::string_view name,
                                                  int64_t version) const noexcept override;
  Result<std::vector<ModelIndexEntry>> index(bool ready_only) noexcept override;
  void load(std::vector<std::string> models,
            std::function<void(std::vector<ModelLoadResult>)> done) noexcept override;
  void unload(std::vector<std::string> models,
              std::function<void(std::vector<ModelLoadResult>)> done) noexcept override;
  void set_startup_complete() noexcept override;
  bool complete() const noexcept override { return startup_complete_.load(std::memory_order_acquire); }
  void load_model(ModelLoadRequest request, std::function<void(ModelLoadOutcome)> done) noexcept override;
  void unload_model(std::string model, bool with_members, std::function<void(Status)> done) noexcept override;
  ModelRef finishing(std::string_view name, int64_t version, const SequenceId& sequence) noexcept override {
    return finishing_.find(name, version, sequence);
  }
  uint64_t open_sequences() const noexcept override {
    return table_.open_sequences() + finishing_.open_sequences();
  }
  void visit_statistics(const std::function<void(const ModelStatistics&)>& visit) const override {
    counts_.visit(visit);
  }
  RequestsNow requests_now() const noexcept override { return counts_.requests_now(); }

  /// As ready_versions(). \param shown  the name that a failure tells
  Result<std::vector<int64_t>> ready_versions_of(std::string_view model, std::string_view shown) const;
  const CatalogStatistics& counts() const noexcept { return counts_; }

 private:
  Unready unready() const;
  void follow_admission();
  void follow_observers();
  void log_listing(const Status& outcome);

  LoaderOptions loader_options_;  // until start()
  std::atomic<bool> strict_readiness_;
  ReaderShards shards_;
  std::atomic<ServerPhase> phase_{ServerPhase::kNotReady};
  std::atomic<int64_t> exit_began_ns_{0};
  std::atomic<bool> startup_complete_{false};
  std::atomic<bool> server_is_active_{false};  ///< every plugin has started
  AdmissionPoint admission_;
  ObserverPoint observers_;
  Followed<ResponseCache> cache_;
  LongWork work_;
  ServingContext serving_;
  FinishingVersions finishing_;
  mutable ServingTable table_;
  ModelLifecycle lifecycle_;
  CatalogStatistics counts_;
  Host& host_;
  Repository* repository_ = nullptr;
  std::optional<Loader> loader_;
  std::mutex listing_mutex_;
  std::string listing_failure_;  ///< why the index had to do without the repositories; empty: it had them
};

}  // namespace atl::models
