/// The suites of the small services, against providers that are right and ones that are broken on purpose.
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/testing/conformance/console_page.h"
#include "atoll/testing/conformance/log_control.h"
#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/conformance/model_router.h"

namespace atl::test {
namespace {

template <class Provider>
Provider expected(Provider provider, const std::vector<std::string>& fails) {
  for (const std::string& check : fails) provider.exceptions.push_back(expected_failure(check, "on purpose"));
  return provider;
}

// --- pages of the console ---

class OnePage final : public ConsolePage {
 public:
  OnePage(std::string title, std::vector<ConsoleFile> files)
      : title_(std::move(title)), files_(std::move(files)) {}
  virtual ~OnePage() = default;
  std::string_view title() const noexcept override { return title_; }
  std::span<const ConsoleFile> files() const noexcept override { return files_; }

 private:
  const std::string title_;
  const std::vector<ConsoleFile> files_;
};

ConsolePageProvider page_of(std::string name, std::string title, std::vector<ConsoleFile> files) {
  return {std::move(name), [title, files] { return std::make_shared<OnePage>(title, files); }, {}};
}

constexpr ConsoleFile kScript{"a.js", "export function show(view) {}", "\x1f\x8b"};

INSTANTIATE_TEST_SUITE_P(
    Pages, ConsolePageConformance,
    ::testing::Values(page_of("right", "Mine", {kScript, {"b.css", "b {}", ""}}),
                      expected(page_of("nameless", "", {kScript}), {"ItHasATitle"}),
                      expected(page_of("empty", "Mine", {}), {"TheFirstFileIsAModuleThatShows"}),
                      expected(page_of("twice", "Mine", {kScript, kScript}),
                               {"FilesHaveNamesThatAnAddressMayHave"}),
                      expected(page_of("folder", "Mine", {kScript, {"a/b.js", "1", ""}}),
                               {"FilesHaveNamesThatAnAddressMayHave"}),
                      expected(page_of("markup", "Mine", {kScript, {"b.js", "view.innerHTML = name", ""}}),
                               {"NothingComesFromAnotherOrigin"})));

// --- metrics ---

enum class MetricFault {
  kNone,
  kMilliseconds,
  kNoHelp,
  kTwice,
  kOtherLabels,
  kForgets,
  kStuck,
  kNotANumber,
  kBuckets
};

class CountedMetrics final : public MetricSourceUnderTest, public MetricSource {
 public:
  explicit CountedMetrics(MetricFault fault) : fault_(fault) {}
  virtual ~CountedMetrics() = default;
  MetricSource& source() override { return *this; }
  void use() override {
    if (fault_ != MetricFault::kStuck) ++count_;
    if (fault_ == MetricFault::kForgets && count_ == 5) count_ = 0;
  }
  void collect(MetricSink& sink) const noexcept override {
    sink.family("atoll_things_total", fault_ == MetricFault::kNoHelp ? "" : "Things.", MetricKind::kCounter);
    const MetricLabel one[] = {{"kind", "one"}}, two[] = {{"kind", "two"}}, other[] = {{"sort", "two"}};
    sink.sample(one, count_);
    const bool twice = fault_ == MetricFault::kTwice;
    sink.sample(fault_ == MetricFault::kOtherLabels ? std::span(other) : std::span(twice ? one : two), 0);
    sink.family(fault_ == MetricFault::kMilliseconds ? "atoll_delay_ms" : "atoll_delay_seconds", "A delay.",
                MetricKind::kGauge);
    sink.sample({}, fault_ == MetricFault::kNotANumber ? NAN : 0.5);
    sink.family("atoll_wait_seconds", "Waits.", MetricKind::kHistogram);
    const double bounds[] = {1, fault_ == MetricFault::kBuckets ? 1.0 : 2.0};
    const uint64_t counts[] = {static_cast<uint64_t>(count_), 0, 0};
    sink.histogram({}, {bounds, counts, 0.5 * count_});
  }

 private:
  const MetricFault fault_;
  std::atomic<int> count_{0};
};

MetricSourceProvider metrics(std::string name, MetricFault fault,
                             const std::vector<std::string>& fails = {}) {
  return expected(
      MetricSourceProvider{std::move(name), [fault] { return std::make_shared<CountedMetrics>(fault); }, {}},
      fails);
}

const std::vector<std::string> kMisnamed = {"NamesUnitsLabelsAndValuesAreAsPrometheusWantsThem",
                                            "ManyThreadsCollectWhileItCounts"};
INSTANTIATE_TEST_SUITE_P(Fakes, MetricSourceConformance,
                         ::testing::Values(metrics("right", MetricFault::kNone),
                                           metrics("milliseconds", MetricFault::kMilliseconds, kMisnamed),
                                           metrics("no help", MetricFault::kNoHelp, kMisnamed),
                                           metrics("a sample twice", MetricFault::kTwice,
                                                   {"NamesUnitsLabelsAndValuesAreAsPrometheusWantsThem",
                                                    "CountersDoNotGoBack",
                                                    "ManyThreadsCollectWhileItCounts"}),
                                           metrics("other labels", MetricFault::kOtherLabels, kMisnamed),
                                           metrics("forgets", MetricFault::kForgets, {"CountersDoNotGoBack"}),
                                           metrics("stuck", MetricFault::kStuck, {"WhatHappensIsCounted"}),
                                           metrics("wrong buckets", MetricFault::kBuckets, kMisnamed),
                                           metrics("no number", MetricFault::kNotANumber,
                                                   {"NamesUnitsLabelsAndValuesAreAsPrometheusWantsThem",
                                                    "ManyThreadsCollectWhileItCounts"})));

// --- the log ---

enum class LogFault { kNone, kHalf, kDebugIsTrace, kAnyFormat, kAnyFile, kTorn };

class SwitchedLog final : public LogControlUnderTest, public LogControl, public Log {
 public:
  explicit SwitchedLog(LogFault fault) : fault_(fault) {}
  virtual ~SwitchedLog() = default;
  LogControl& control() override { return *this; }
  Log& log() override { return *this; }

  LogSettings settings() const noexcept override {
    std::scoped_lock lock(mutex_);
    return settings_;
  }
  Status update(const LogSettings& wanted) noexcept override {
    std::unique_lock lock(mutex_);
    if (fault_ == LogFault::kHalf) settings_.error = wanted.error;
    const bool known = wanted.format == "default" || wanted.format == "ISO8601";
    if (!known && fault_ != LogFault::kAnyFormat) return invalid_argument("format");
    if (wanted.file != settings_.file && fault_ != LogFault::kAnyFile) return unimplemented("file");
    if (fault_ == LogFault::kTorn) {
      settings_.format = wanted.format;
      lock.unlock();
      for (int i = 0; i < 5; ++i) std::this_thread::yield();
      lock.lock();
    }
    settings_ = wanted;
    return {};
  }
  bool enabled(LogLevel level) const noexcept override {
    const LogSettings now = settings();
    const uint32_t verbose = now.verbose_level + (fault_ == LogFault::kDebugIsTrace ? 1 : 0);
    const bool shown[] = {verbose > 1, now.verbose_level > 0, now.info, now.warning, now.error};
    return shown[static_cast<size_t>(level)];
  }
  void write(LogLevel, std::string_view) noexcept override {}

 private:
  const LogFault fault_;
  mutable std::mutex mutex_;
  LogSettings settings_;
};

LogControlProvider log_control(std::string name, LogFault fault, const std::vector<std::string>& fails = {}) {
  return expected(
      LogControlProvider{std::move(name), [fault] { return std::make_shared<SwitchedLog>(fault); }, {}},
      fails);
}

INSTANTIATE_TEST_SUITE_P(
    Fakes, LogControlConformance,
    ::testing::Values(log_control("right", LogFault::kNone),
                      log_control("half", LogFault::kHalf, {"TheFormatIsOneOfTwo"}),
                      log_control("debug is trace", LogFault::kDebugIsTrace, {"EveryLevelIsSwitchedAlone"}),
                      log_control("any format", LogFault::kAnyFormat, {"TheFormatIsOneOfTwo"}),
                      log_control("any file", LogFault::kAnyFile, {"TheFileIsTheManifests"}),
                      log_control("torn", LogFault::kTorn, {"NobodySeesHalfAnUpdate"})));

// --- routers ---

enum class RouteFault { kNone, kAnyLabel, kIgnoresTheVersion, kOwnWords };

class PlainRouter final : public ModelRouter {
 public:
  PlainRouter(ModelCatalog& catalog, RouteFault fault) : catalog_(catalog), fault_(fault) {}
  virtual ~PlainRouter() = default;
  std::optional<int64_t> labelled(std::string_view model, std::string_view label) const noexcept override {
    if (fault_ == RouteFault::kAnyLabel) return 2;
    if (model != "alpha" || label != "stable") return std::nullopt;
    return 2;
  }
  Result<ModelRef> route(std::string_view model, int64_t version) noexcept override {
    const bool ignores = fault_ == RouteFault::kIgnoresTheVersion;
    Result<ModelRef> found = catalog_.acquire(model, ignores ? ModelCatalog::kLatest : version);
    if (!found.ok() && fault_ == RouteFault::kOwnWords) return not_found("no route");
    return found;
  }

 private:
  ModelCatalog& catalog_;
  const RouteFault fault_;
};

ModelRouterProvider router(std::string name, RouteFault fault, const std::vector<std::string>& fails = {}) {
  ModelRouterProvider provider;
  provider.name = std::move(name);
  provider.make = [fault](ModelCatalog& catalog) { return std::make_shared<PlainRouter>(catalog, fault); };
  return expected(std::move(provider), fails);
}

INSTANTIATE_TEST_SUITE_P(
    Fakes, ModelRouterConformance,
    ::testing::Values(router("right", RouteFault::kNone),
                      router("any label", RouteFault::kAnyLabel, {"ALabelStandsForOneVersionOfItsModel"}),
                      router("ignores the version", RouteFault::kIgnoresTheVersion,
                             {"ANamedVersionAnswers", "FailuresAreTheCatalogs",
                              "ThreadsRouteWhileModelsComeAndGo"}),
                      router("own words", RouteFault::kOwnWords, {"FailuresAreTheCatalogs"})));

}  // namespace
}  // namespace atl::test
