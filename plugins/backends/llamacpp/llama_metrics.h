/// The metrics of all models that generate.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/core/metrics.h"
#include "backends/llamacpp/loop/llama_counts.h"

namespace atl::llamacpp {

/// Counts of a model's version stay as long as the plugin, so that counters never fall when a model is loaded anew. [any]
class LlamaMetrics final : public MetricSource {
 public:
  /// Those of a version of a model, of all its instances together; made with the first call.
  std::shared_ptr<LlamaCounts> counts_of(const std::string& model, int64_t version);
  void collect(MetricSink& sink) const noexcept override;

 private:
  struct Row {
    std::string model, version;
    std::shared_ptr<LlamaCounts> counts;
  };
  static constexpr size_t kRowsMax = 1000;

  mutable std::mutex mutex_;
  std::vector<Row> rows_;
};

}  // namespace atl::llamacpp
