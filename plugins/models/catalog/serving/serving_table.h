/// The table that requests look models up in: the READY versions by name, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/catalog/serving/finishing_versions.h"
#include "models/catalog/serving/reader_shards.h"
#include "models/catalog/serving/served_model.h"

namespace atl::models {

/// Looking up takes the lock of the thread's own shard only. [any]
class ServingTable {
 public:
  /// \param finishing  gets the versions that are retired; outlives the table
  ServingTable(ReaderShards& shards, FinishingVersions& finishing) noexcept
      : shards_(shards), finishing_(finishing) {}

  /// \param version  ModelCatalog::kLatest: the highest
  /// \returns an empty reference if there is no such READY version.
  ModelRef acquire(std::string_view name, int64_t version) noexcept;

  /// From now on models are published by identifier; a plain name finds the only one of that name that
  /// serves. Before anything is published.
  void use_namespaces() noexcept { namespaces_ = true; }
  /// How many identifiers of a plain name serve.
  size_t holders(std::string_view name) const noexcept;
  /// Of all versions here.
  uint64_t open_sequences() const noexcept;

  /// Makes `versions` (ascending) the READY versions of a model, all at once, and retires those that are no
  /// longer among them; those that know sequences finish them before they go.
  void publish(const std::string& name, std::vector<ServedModel*> versions);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };

  /// With the write lock.
  void point_name_at_its_holder(const std::string& identifier, bool serves);

  ReaderShards& shards_;
  FinishingVersions& finishing_;
  bool namespaces_ = false;
  std::map<std::string, std::set<std::string>, std::less<>> holders_;  ///< identifiers by plain name
  std::unordered_map<std::string, std::vector<ServedModel*>, Hash, std::equal_to<>> models_;
};

}  // namespace atl::models
