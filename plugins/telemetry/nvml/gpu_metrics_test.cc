#include "telemetry/nvml/gpu_metrics.h"

#include <atomic>
#include <future>
#include <thread>

#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/thread_executor.h"

namespace atl::telemetry {
namespace {

using test::FakeClock;
using test::RecordedMetrics;
using test::ThreadExecutors;

constexpr int64_t kIntervalNs = 2 * kNsPerSecond;

GpuReading whole(std::string uuid, double energy) {
  return {.uuid = std::move(uuid),
          .utilization = 0.5,
          .memory_total_bytes = 100,
          .memory_used_bytes = 10,
          .power_watts = 70.5,
          .power_limit_watts = 300,
          .energy_joules = energy};
}

/// Whose energy is the number of readings.
struct Counted {
  FakeClock clock;
  ThreadExecutors executors;
  std::atomic<int> readings{0};
  GpuMetrics metrics{clock, kIntervalNs,
                     [this] { return std::vector<GpuReading>{whole("GPU-1", ++readings)}; }};

  Counted() { EXPECT_TRUE(metrics.open(executors).ok()); }
  ~Counted() { metrics.close(); }
  double shown() { return RecordedMetrics(metrics).values().at("nv_energy_consumption{gpu_uuid=GPU-1}"); }
};

TEST(GpuMetrics, HaveTritonsNamesTextsAndKinds) {
  Counted counted;
  const RecordedMetrics page(counted.metrics);
  struct Expected {
    const char* name;
    const char* help;
    MetricKind kind;
    double value;
  };
  const Expected expected[] = {
      {"nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0)", MetricKind::kGauge, 0.5},
      {"nv_gpu_memory_total_bytes", "GPU total memory, in bytes", MetricKind::kGauge, 100},
      {"nv_gpu_memory_used_bytes", "GPU used memory, in bytes", MetricKind::kGauge, 10},
      {"nv_gpu_power_usage", "GPU power usage in watts", MetricKind::kGauge, 70.5},
      {"nv_gpu_power_limit", "GPU power management limit in watts", MetricKind::kGauge, 300},
      {"nv_energy_consumption", "GPU energy consumption in joules since the Triton Server started",
       MetricKind::kCounter, 1},
  };
  ASSERT_EQ(page.families().size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    const auto& family = page.families()[i];
    EXPECT_EQ(family.name, expected[i].name);
    EXPECT_EQ(family.help, expected[i].help);
    EXPECT_EQ(family.kind, expected[i].kind);
    ASSERT_EQ(family.samples.size(), 1u);
    EXPECT_EQ(family.samples[0].value, expected[i].value);
    using Labels = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(family.samples[0].labels, (Labels{{"gpu_uuid", "GPU-1"}}));
  }
}

TEST(GpuMetrics, AreReadAgainAfterTheInterval) {
  Counted counted;
  EXPECT_EQ(counted.shown(), 1);
  counted.clock.advance(kIntervalNs - 1);
  EXPECT_EQ(counted.shown(), 1);
  counted.clock.advance(1);
  EXPECT_EQ(counted.shown(), 2);
  EXPECT_EQ(counted.shown(), 2);
  counted.clock.advance(100 * kIntervalNs);
  EXPECT_EQ(counted.shown(), 3) << "nobody asked meanwhile";
}

TEST(GpuMetrics, AFamilyWithoutSamplesIsNotBegun) {
  FakeClock clock;
  ThreadExecutors executors;
  GpuMetrics metrics(clock, kIntervalNs, [] {
    std::vector<GpuReading> readings = {whole("GPU-1", 0), whole("GPU-2", 0)};
    for (GpuReading& reading : readings) reading.utilization.reset();
    readings[0].power_watts.reset();
    return readings;
  });
  ASSERT_TRUE(metrics.open(executors).ok());
  const RecordedMetrics page(metrics);
  const auto values = page.values();
  EXPECT_FALSE(values.contains("nv_gpu_power_usage{gpu_uuid=GPU-1}"));
  EXPECT_TRUE(values.contains("nv_gpu_power_usage{gpu_uuid=GPU-2}"));
  for (const auto& family : page.families()) EXPECT_NE(family.name, "nv_gpu_utilization");
  metrics.close();
}

TEST(GpuMetrics, AReadingThatHangsHoldsUpNobodyForLong) {
  FakeClock clock;
  ThreadExecutors executors;
  std::promise<void> go_on;
  std::atomic<int> readings{0};
  GpuMetrics metrics(clock, kIntervalNs, [&, future = go_on.get_future().share()] {
    if (++readings == 2) future.wait();
    return std::vector<GpuReading>{whole("GPU-1", readings)};
  });
  ASSERT_TRUE(metrics.open(executors).ok());
  const auto shown = [&] {
    return RecordedMetrics(metrics).values().at("nv_energy_consumption{gpu_uuid=GPU-1}");
  };
  EXPECT_EQ(shown(), 1);
  clock.advance(kIntervalNs);
  EXPECT_EQ(shown(), 1) << "the last readings there are";
  clock.advance(kIntervalNs);
  EXPECT_EQ(shown(), 1);
  EXPECT_EQ(readings, 2) << "one at a time";
  go_on.set_value();
  while (shown() == 1) std::this_thread::yield();
  EXPECT_GE(shown(), 2);
  metrics.close();
}

TEST(GpuMetrics, ManyThreadsMayAsk) {
  Counted counted;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      double last = 0;
      for (int j = 0; j < 200; ++j) {
        counted.clock.advance(kIntervalNs / 4);
        const RecordedMetrics page(counted.metrics);
        const double value = page.values().at("nv_energy_consumption{gpu_uuid=GPU-1}");
        if (value < last || page.families().size() != 6) ++wrong;
        last = value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(counted.readings, 1);
}

TEST(GpuMetrics, ClosedThereAreNone) {
  FakeClock clock;
  ThreadExecutors executors;
  GpuMetrics metrics(clock, kIntervalNs, [] { return std::vector<GpuReading>{whole("GPU-1", 0)}; });
  EXPECT_TRUE(RecordedMetrics(metrics).families().empty());
  ASSERT_TRUE(metrics.open(executors).ok());
  EXPECT_FALSE(RecordedMetrics(metrics).families().empty());
  metrics.close();
  EXPECT_TRUE(RecordedMetrics(metrics).families().empty());
}

}  // namespace
}  // namespace atl::telemetry

namespace atl::test {
namespace {

class GpuMetricsUnderTest final : public MetricSourceUnderTest {
 public:
  MetricSource& source() override { return counted_.metrics; }
  void use() override {
    counted_.clock.advance(telemetry::kIntervalNs);
    RecordedMetrics page(counted_.metrics);
  }

 private:
  telemetry::Counted counted_;
};

/// Both checks look at them.
constexpr const char* kTritonsNames =
    "the names are Triton's: nv_, and a counter that does not end in _total";

INSTANTIATE_TEST_SUITE_P(Nvml, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "nvml",
                             [] { return std::make_shared<GpuMetricsUnderTest>(); },
                             {expected_failure("NamesUnitsLabelsAndValuesAreAsPrometheusWantsThem",
                                               kTritonsNames),
                              expected_failure("ManyThreadsCollectWhileItCounts", kTritonsNames)}}));

}  // namespace
}  // namespace atl::test
