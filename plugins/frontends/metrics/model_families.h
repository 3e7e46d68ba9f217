/// The metrics of model versions.
#pragma once

#include <vector>

#include "atoll/request/statistics.h"
#include "frontends/metrics/model_facts.h"
#include "frontends/metrics/page.h"
#include "frontends/metrics/settings.h"

namespace atl::frontends::metrics {

/// Begins the families nv_inference_*, nv_cache_*_per_model, nv_model_* and atoll_inference_* of a page, as
/// far as the settings want them, and writes one model version after another. One thread.
class ModelFamilies {
 public:
  ModelFamilies(Page& page, const MetricsSettings& settings);

  /// \param recent  latencies of the summaries' window; null: no summaries
  void add(const ModelStatistics& model, const ModelFacts& facts, const LatencyHistograms* recent);

 private:
  /// The histograms of the phases: native ones on a page of protobuf, those with `le` where settings ask for them.
  void add_phases(const ModelStatistics& model, const Labels& labels);
  /// HELP and TYPE of the histograms that the version will have.
  void announce_histograms();
  void add_summaries(const ModelStatistics& model, const ModelFacts& facts, const LatencyHistograms& recent);

  Page& page_;
  const MetricsSettings& settings_;
  std::vector<Page::FamilyId> numbers_, durations_, caches_, summaries_, cache_summaries_, histograms_;
  Page::FamilyId failures_ = Page::kNone, first_response_ = Page::kNone;
};

}  // namespace atl::frontends::metrics
