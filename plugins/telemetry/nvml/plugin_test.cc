#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "atoll/core/metrics.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/gpu/listed_gpus.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/testing/recorded_metrics.h"
#include "telemetry/nvml/testing/double.h"

namespace atl::telemetry {
namespace {

using test::FakeHost;
using test::ListedGpus;
using test::NvmlLibrary;
using test::PluginRunner;
using test::RecordedMetrics;
using Uuids = std::set<std::string>;

Uuids shown(PluginRunner& plugin) {
  Uuids found;
  const RecordedMetrics page(*plugin.query<MetricSource>());
  for (const auto& family : page.families()) {
    if (family.name != "nv_gpu_power_usage") continue;
    for (const auto& sample : family.samples) found.insert(sample.labels.at(0).second);
  }
  return found;
}

/// The test's limit of time bounds it.
void wait_until_shown(PluginRunner& plugin, const Uuids& expected) {
  while (shown(plugin) != expected) std::this_thread::yield();
}

CudaDeviceInfo gpu(int32_t ordinal, int32_t number) {
  CudaDeviceInfo info;
  info.ordinal = ordinal;
  info.uuid = NvmlLibrary::uuid(number);
  info.pci_id = cat("0000:0", number + 1, ":00.0");
  return info;
}

TEST(NvmlPlugin, WithoutNvmlThereIsOneLineAndNoMetrics) {
  FakeHost host("nvml", FakeHost::Threads::kReal);
  PluginRunner plugin(host);
  ASSERT_TRUE(plugin.set("library", "/nowhere/libnvidia-ml.so.1").create_and_start().ok());
  EXPECT_TRUE(RecordedMetrics(*plugin.query<MetricSource>()).families().empty());
  ASSERT_EQ(host.log().records().size(), 1u);
  EXPECT_EQ(host.log().records()[0].level, LogLevel::kInfo);
  EXPECT_EQ(
      host.log().records()[0].message,
      "no metrics of GPUs: there is no NVML: /nowhere/libnvidia-ml.so.1: cannot open shared object file: No such "
      "file or directory");
}

TEST(NvmlPlugin, ShowsAllGpusWhereNobodySaysWhichAreUsed) {
  NvmlLibrary library{{"DEVICES", "2"}};
  FakeHost host("nvml", FakeHost::Threads::kReal);
  PluginRunner plugin(host);
  ASSERT_TRUE(plugin.set("library", NvmlLibrary::kPath).create_and_start().ok());
  wait_until_shown(plugin, {NvmlLibrary::uuid(0), NvmlLibrary::uuid(1)});
}

TEST(NvmlPlugin, ShowsThoseThatAreUsedWhileSomebodySaysSo) {
  NvmlLibrary library{{"DEVICES", "3"}};
  FakeHost host("nvml", FakeHost::Threads::kReal);
  ListedGpus first({gpu(0, 2)}), second({gpu(0, 1), gpu(1, 0)}), none({});
  const auto put = [&](ListedGpus& gpus) {
    host.registry().publish<Cuda>("cuda", gpus);
    test::publish_service_changed(host, Cuda::kInterfaceId, "cuda");
  };
  host.registry().publish<Cuda>("cuda", first);
  PluginRunner plugin(host);
  ASSERT_TRUE(plugin.set("library", NvmlLibrary::kPath).set("interval", "1ms").create_and_start().ok());
  wait_until_shown(plugin, {NvmlLibrary::uuid(2)});
  put(second);
  wait_until_shown(plugin, {NvmlLibrary::uuid(0), NvmlLibrary::uuid(1)});
  put(none);
  wait_until_shown(plugin, {});
  host.registry().withdraw(std::string(Cuda::kInterfaceId), "cuda");
  test::publish_service_changed(host, Cuda::kInterfaceId, "cuda");
  wait_until_shown(plugin, {NvmlLibrary::uuid(0), NvmlLibrary::uuid(1), NvmlLibrary::uuid(2)});
  EXPECT_EQ(host.registry().holders(), 0u);
}

TEST(NvmlPlugin, ADriverThatIsNotThereIsOneLine) {
  NvmlLibrary library{{"INIT", "9"}};
  FakeHost host("nvml", FakeHost::Threads::kReal);
  PluginRunner plugin(host);
  ASSERT_TRUE(plugin.set("library", NvmlLibrary::kPath).set("interval", "1ms").create_and_start().ok());
  while (host.log().records().empty()) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(RecordedMetrics(*plugin.query<MetricSource>()).families().empty());
  EXPECT_EQ(host.log().records().size(), 1u);
}

}  // namespace
}  // namespace atl::telemetry
