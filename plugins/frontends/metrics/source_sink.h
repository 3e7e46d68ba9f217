/// Takes what other plugins count.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "atoll/core/metrics.h"
#include "atoll/core/registry.h"
#include "frontends/metrics/page.h"

namespace atl::frontends::metrics {

/// Writes the samples of all sources to a page. What would make the page unreadable is left out and counted:
/// names that are none, a label twice, a label set twice, a family of another kind than before, or of a name
/// that was on the page before the sources came; samples of another kind than their family; histograms whose
/// bounds are not ascending or do not fit the counts; and families beyond the 1000th. A label "model" with an
/// identifier (atoll/models/model_identifier.h) becomes "model" and "namespace". One thread.
class SourceSink final : public MetricSink {
 public:
  static constexpr size_t kMaxFamilies = 1000;

  explicit SourceSink(Page& page) : page_(page) {}

  void family(std::string_view name, std::string_view help, MetricKind kind) noexcept override;
  void sample(std::span<const MetricLabel> labels, double value) noexcept override;
  void histogram(std::span<const MetricLabel> labels, const MetricHistogram& value) noexcept override;

  /// Between two sources: samples belong to the families of their own source.
  void end_source() noexcept { current_ = nullptr; }

 private:
  struct Family {
    Page::FamilyId id = Page::kNone;
    MetricKind kind = MetricKind::kGauge;
    std::unordered_set<std::string> label_sets;
  };
  /// \returns the labels as they are on the page; none: the sample is left out, and is counted as such
  std::optional<Labels> accepted(std::span<const MetricLabel> given, bool is_of_its_kind) noexcept;

  Page& page_;
  std::unordered_map<std::string, Family> families_;
  Family* current_ = nullptr;  ///< null: samples are left out
};

/// Asks every provider of atoll.metric_source/1, holding each for as long as it writes.
void write_sources(Registry& registry, Page& page);
/// The pool of pinned memory; no provider, no metrics.
void write_pinned_memory(Registry& registry, Page& page);

}  // namespace atl::frontends::metrics
