#include "atoll/runtime/reload_counts.h"

#include <gtest/gtest.h>

namespace atl::runtime {
namespace {

TEST(ReloadChanges, EachKindIsNamedOnceWithItsInstances) {
  ReloadChanges changes;
  EXPECT_EQ(changes.text(), "nothing changed");
  changes.removed("d");
  EXPECT_EQ(changes.text(), "removed d");
  changes.planned("b", "options");
  changes.planned("stays", "");
  changes.planned("c", "file");
  changes.planned("a", ReloadChanges::kNew);
  EXPECT_EQ(changes.text(), "added a; replaced b (options), c (file); removed d");
}

TEST(ReloadCounts, BothResultsAreThereFromTheStart) {
  struct Sink final : MetricSink {
    void family(std::string_view name, std::string_view, MetricKind kind) noexcept override {
      EXPECT_EQ(kind, MetricKind::kCounter);
      text += cat(name, ":");
    }
    void sample(std::span<const MetricLabel> labels, double value) noexcept override {
      text += cat(" ", labels[0].name, "=", labels[0].value, " ", static_cast<int>(value));
    }
    void histogram(std::span<const MetricLabel>, const MetricHistogram&) noexcept override {}
    std::string text;
  };
  ReloadCounts counts;
  counts.add(false);
  counts.add(false);
  Sink sink;
  counts.collect(sink);
  EXPECT_EQ(sink.text, "atoll_reloads_total: result=applied 0 result=refused 2");
}

}  // namespace
}  // namespace atl::runtime
