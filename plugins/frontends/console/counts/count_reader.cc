#include "frontends/console/counts/count_reader.h"

#include <algorithm>
#include <cmath>

#include "atoll/request/queue_metrics.h"

namespace atl::frontends::console {
namespace {

constexpr int64_t kShortestReadingNs = kNsPerSecond;
/// A reading may take 1 % of a processor.
constexpr int64_t kReadingPause = 100;

constexpr std::string_view kOwnPrefix = "atoll_";
/// What the names of the families begin with that are kept, behind the prefix.
constexpr std::string_view kWantedFamilies[] = {"admission_", "rate_limiter_resource_copies",
                                                "rate_limiter_waiting_instances", "sequence"};

/// Keeps the samples of the families that are wanted.
class KeptSamples final : public MetricSink {
 public:
  explicit KeptSamples(CountReading& reading) : reading_(reading) {}

  void family(std::string_view name, std::string_view, MetricKind kind) noexcept override {
    current_ = nullptr;
    const bool is_own = kind != MetricKind::kHistogram && name.starts_with(kOwnPrefix);
    const bool is_wanted =
        is_own && std::any_of(std::begin(kWantedFamilies), std::end(kWantedFamilies),
                              [own = name.substr(kOwnPrefix.size())](std::string_view beginning) {
                                return own.starts_with(beginning);
                              });
    if (is_wanted) current_ = &reading_.families[std::string(name)];
  }
  void sample(std::span<const MetricLabel> labels, double value) noexcept override {
    if (current_ == nullptr || !std::isfinite(value)) return;
    const bool is_of_model = std::any_of(labels.begin(), labels.end(),
                                         [](const MetricLabel& label) { return label.name == "model"; });
    if (is_of_model && value == 0) return;
    if (kept_ == CountReader::kMostSamples) {
      ++reading_.left_out;
      return;
    }
    ++kept_;
    CountedSample& made = current_->emplace_back();
    made.value = value;
    for (const MetricLabel& label : labels)
      made.labels.emplace_back(std::string(label.name), std::string(label.value));
  }
  void histogram(std::span<const MetricLabel>, const MetricHistogram&) noexcept override {}

  /// Samples belong to the families of their own source.
  void end_source() noexcept { current_ = nullptr; }

 private:
  CountReading& reading_;
  std::vector<CountedSample>* current_ = nullptr;  ///< null: the samples are not wanted
  size_t kept_ = 0;
};

}  // namespace

std::string_view CountedSample::label(std::string_view name) const noexcept {
  for (const auto& one : labels) {
    if (one.first == name) return one.second;
  }
  return {};
}

const std::vector<CountedSample>& CountReading::of(std::string_view family) const noexcept {
  static const std::vector<CountedSample> kNone;
  const auto found = families.find(family);
  return found == families.end() ? kNone : found->second;
}

const CountReading& CountReader::read() {
  const int64_t age_ns = clock_.now_ns() - reading_.taken_ns;
  if (is_read_ && age_ns < std::max(kShortestReadingNs, kReadingPause * reading_.took_ns)) return reading_;
  CountReading made;
  made.taken_ns = clock_.now_ns();
  made.wall_ms = clock_.wall_ns() / kNsPerMs;
  KeptSamples kept(made);
  for (const ServiceInfo& info : registry_.list(QueueMetrics::kInterfaceId)) {
    const Result<Service<QueueMetrics>> source = registry_.find<QueueMetrics>(info.instance);
    if (!source.ok()) continue;  // it has just gone
    (*source.value()).collect(kept);
    kept.end_source();
  }
  made.took_ns = clock_.now_ns() - made.taken_ns;
  reading_ = std::move(made);
  is_read_ = true;
  return reading_;
}

}  // namespace atl::frontends::console
