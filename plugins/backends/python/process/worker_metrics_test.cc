#include "backends/python/process/worker_metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "atoll/testing/recorded_metrics.h"

namespace atl::python {
namespace {

TEST(WorkerMetrics, AreThoseOfLoadedVersions) {
  WorkerMetrics metrics;
  EXPECT_TRUE(test::RecordedMetrics(metrics).families().empty())
      << "without Python models there is nothing to tell";

  const auto counts = metrics.of("m", 2);
  EXPECT_EQ(metrics.of("m", 2), counts) << "of its reload, too";
  auto other = metrics.of("other", 1);
  counts->add_worker(::getpid());
  counts->add_worker(1 << 30);
  counts->add_death();
  counts->add_restart();
  counts->add_restart();
  counts->remove_worker(1 << 30);
  other.reset();

  std::map<std::string, double> values = test::RecordedMetrics(metrics).values();
  EXPECT_EQ(values["atoll_python_workers{model=m,version=2}"], 1);
  EXPECT_EQ(values["atoll_python_worker_deaths_total{model=m,version=2}"], 1);
  EXPECT_EQ(values["atoll_python_worker_restarts_total{model=m,version=2}"], 2);
  EXPECT_GT(values["atoll_python_worker_memory_bytes{model=m,version=2}"], 1 << 20) << "this process";
  EXPECT_EQ(values.size(), 4u);
}

TEST(WorkerMetrics, AWorkerThatHasGoneHasNoMemory) {
  WorkerCounts counts;
  counts.add_worker(1 << 30);
  EXPECT_EQ(counts.workers(), 1u);
  EXPECT_EQ(counts.memory_bytes(), 0u);
  counts.remove_worker(7);
  EXPECT_EQ(counts.workers(), 1u);
}

}  // namespace
}  // namespace atl::python
