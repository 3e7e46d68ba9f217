/// What was counted of the versions that serve, and what they have to do now.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "models/catalog/serving/active_models.h"
#include "models/catalog/serving/serving_table.h"
#include "models/catalog/states/lifecycle.h"

namespace atl::models {

/// [any]
class CatalogStatistics {
 public:
  /// All of them outlive this object.
  CatalogStatistics(ReaderShards& shards, ServingTable& table, const ModelLifecycle& lifecycle) noexcept
      : shards_(shards), table_(table), lifecycle_(lifecycle) {}

  /// As ModelCatalog::statistics(). \param is_meant  the models that `name` stands for
  Result<std::vector<ModelStatistics>> of(std::string_view name, int64_t version,
                                          const std::function<bool(std::string_view)>& is_meant) const;
  /// As ModelCatalog::visit_statistics().
  void visit(const std::function<void(const ModelStatistics&)>& visit) const;
  /// As ModelCatalog::requests_now().
  RequestsNow requests_now() const noexcept { return active_.count(shards_); }

  /// Told by versions of their first requests.
  ActiveModels& active() noexcept { return active_; }

 private:
  using Versions = std::map<std::string, std::vector<int64_t>>;
  /// The READY ones.
  Versions versions_where(const std::function<bool(std::string_view)>& is_meant) const;
  /// Nothing, if it is no longer READY.
  std::optional<ModelStatistics> of_version(const std::string& name, int64_t version) const;

  ReaderShards& shards_;
  ServingTable& table_;
  const ModelLifecycle& lifecycle_;
  mutable ActiveModels active_;
};

}  // namespace atl::models
