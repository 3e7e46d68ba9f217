#include "models/catalog/catalog_statistics.h"

#include <utility>

namespace atl::models {

Result<std::vector<ModelStatistics>> CatalogStatistics::of(
    std::string_view name, int64_t version, const std::function<bool(std::string_view)>& is_meant) const {
  // Which versions there are is looked up first and each is counted with a reference held, so that no lock is
  // held while a backend is asked for its memory.
  const Versions versions =
      versions_where([&](std::string_view model) { return name.empty() || is_meant(model); });
  if (!name.empty() && versions.empty()) {
    return invalid_argument("requested model '", name, "' is not available");
  }
  std::vector<ModelStatistics> all;
  // One takes 11 kB: the copies that a growing vector leaves behind would be more than all models are.
  size_t count = 0;
  for (const auto& [model, ready] : versions) count += ready.size();
  all.reserve(count);
  for (const auto& [model, ready] : versions) {
    for (int64_t candidate : ready) {
      if (version != ModelCatalog::kLatest && !name.empty() && candidate != version) continue;
      if (auto one = of_version(model, candidate)) all.push_back(std::move(*one));
    }
  }
  if (!name.empty() && version != ModelCatalog::kLatest && all.empty()) {
    return invalid_argument("requested model version is not available for model '", name, "'");
  }
  return all;
}

void CatalogStatistics::visit(const std::function<void(const ModelStatistics&)>& visit) const {
  for (const auto& [model, ready] : versions_where([](std::string_view) { return true; })) {
    for (int64_t version : ready) {
      if (const auto one = of_version(model, version)) visit(*one);
    }
  }
}

CatalogStatistics::Versions CatalogStatistics::versions_where(
    const std::function<bool(std::string_view)>& is_meant) const {
  return lifecycle_.read([&](const ModelRecords& records) {
    Versions ready;
    for (const auto& [model, record] : records.all()) {
      if (!is_meant(model)) continue;
      if (std::vector<int64_t> of_model = record.ready_versions(); !of_model.empty()) {
        ready.emplace_hint(ready.end(), model, std::move(of_model));
      }
    }
    return ready;
  });
}

std::optional<ModelStatistics> CatalogStatistics::of_version(const std::string& name, int64_t version) const {
  ModelRef model = table_.acquire(name, version);
  if (!model) return std::nullopt;
  std::optional<ModelStatistics> statistics = model->statistics();
  statistics->name = name;
  return statistics;
}

}  // namespace atl::models
