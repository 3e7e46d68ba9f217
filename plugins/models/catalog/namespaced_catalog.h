/// The catalog where models are known by identifiers and clients name models.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/catalog/catalog.h"

namespace atl::models {

/// Makes identifiers of names on the way in, and names of identifiers on the way out. What is called by plain
/// name is for all models of the name; a request goes to the only one that serves.
class NamespacedCatalog final : public ModelCatalog {
 public:
  /// \param catalog  outlives this; takes and gives identifiers
  NamespacedCatalog(Host& host, Catalog& catalog) noexcept : host_(host), catalog_(catalog) {}

  Result<ModelRef> acquire(std::string_view name, int64_t version) noexcept override;
  bool live() const noexcept override { return catalog_.live(); }
  bool ready() const noexcept override { return catalog_.ready(); }
  bool exiting() const noexcept override { return catalog_.exiting(); }
  int64_t exit_began_ns() const noexcept override { return catalog_.exit_began_ns(); }
  Result<std::vector<int64_t>> ready_versions(std::string_view name) const noexcept override;
  Result<std::vector<ModelStatistics>> statistics(std::string_view name,
                                                  int64_t version) const noexcept override;
  Result<std::vector<ModelIndexEntry>> index(bool ready_only) noexcept override;
  void load(std::vector<std::string> models,
            std::function<void(std::vector<ModelLoadResult>)> done) noexcept override;
  void unload(std::vector<std::string> models,
              std::function<void(std::vector<ModelLoadResult>)> done) noexcept override;
  void set_startup_complete() noexcept override { catalog_.set_startup_complete(); }
  void load_model(ModelLoadRequest request, std::function<void(ModelLoadOutcome)> done) noexcept override;
  void unload_model(std::string model, bool with_members, std::function<void(Status)> done) noexcept override;
  ModelRef finishing(std::string_view name, int64_t version, const SequenceId& sequence) noexcept override;
  uint64_t open_sequences() const noexcept override { return catalog_.open_sequences(); }
  void visit_statistics(const std::function<void(const ModelStatistics&)>& visit) const override {
    catalog_.visit_statistics(visit);
  }
  RequestsNow requests_now() const noexcept override { return catalog_.requests_now(); }

 private:
  /// Ensembles that went with a member which no repository has any more are loaded with the model that their member's name means
  /// now. [worker]
  void relink_ensembles() const;
  std::string the_only_identifier(std::string_view name) const;
  std::vector<std::string> loaded_identifiers(const std::vector<std::string>& models) const;

  Host& host_;
  Catalog& catalog_;
};

}  // namespace atl::models
