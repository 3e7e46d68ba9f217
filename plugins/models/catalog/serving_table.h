/// The table that requests look models up in: the READY versions by name, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reader_shards.h"
#include "served_model.h"

namespace atl::models {

/// Looking up takes the lock of the thread's own shard only. [any]
class ServingTable {
 public:
  explicit ServingTable(ReaderShards& shards) noexcept : shards_(shards) {}

  /// \param version  ModelCatalog::kLatest: the highest
  /// \returns an empty reference if there is no such READY version.
  ModelRef acquire(std::string_view name, int64_t version) noexcept;

  /// Makes `versions` (ascending) the READY versions of a model, all at once, and retires those that are no
  /// longer among them.
  void publish(const std::string& name, std::vector<ServedModel*> versions);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };

  ReaderShards& shards_;
  std::unordered_map<std::string, std::vector<ServedModel*>, Hash, std::equal_to<>> models_;
};

}  // namespace atl::models
