/// What the configurations of the served models say about their metrics.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/models/model.h"
#include "frontends/metrics/page.h"

namespace atl::frontends::metrics {

struct ModelFacts {
  /// model, version, namespace if the name is an identifier, and _<tag> for each of metric_tags; by name.
  Labels labels;
  bool response_cache = false;
  bool decoupled = false;
  std::vector<double> first_response_bounds_ms;  ///< strictly ascending
};

/// \param config  serialized inference.ModelConfig; one that cannot be read has no tags. What is no use is
/// left out with a warning: a tag that makes no label, bounds that do not ascend, a family without any.
ModelFacts read_model_facts(std::string_view name, int64_t version, std::string_view config, Log& log);

/// Facts by model version, read once and again when a version was loaded with another configuration. One
/// thread.
class ModelFactsCache {
 public:
  explicit ModelFactsCache(Log& log) : log_(log) {}

  /// Holds the model for a moment to see its configuration. \returns null if it is no longer served; when the
  /// catalog gives no models any more because the server exits, what was known. Valid until forget_unused().
  const ModelFacts* find(ModelCatalog& catalog, const std::string& name, int64_t version);
  /// Forgets the versions that nobody asked for since the last call.
  void forget_unused();
  size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::string config;
    ModelFacts facts;
    bool used = false;
  };
  Log& log_;
  std::map<std::pair<std::string, int64_t>, Entry> entries_;
};

}  // namespace atl::frontends::metrics
