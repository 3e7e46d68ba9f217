#include "telemetry/nvml/gpu_reader.h"

#include "atoll/testing/fake_log.h"
#include "telemetry/nvml/nvml_library.h"
#include "telemetry/nvml/testing/double.h"

namespace atl::telemetry {
namespace {

using test::NvmlLibrary;
using test::RecordingLog;
using Value = test::NvmlDoubleValue;

std::vector<std::string> lines(const RecordingLog& log, LogLevel level) {
  std::vector<std::string> found;
  for (const auto& record : log.records()) {
    if (record.level == level) found.push_back(record.message);
  }
  return found;
}

using Lines = std::vector<std::string>;

TEST(GpuReader, GivesTritonsUnits) {
  NvmlLibrary library{{"MEMORY", "80GiB"}, {"UTILIZATION", "37"},     {"MEMORY_USED", "5MiB"},
                      {"POWER", "123456"}, {"POWER_LIMIT", "700000"}, {"ENERGY", "5000"}};
  RecordingLog log;
  GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
  std::vector<GpuReading> readings = reader.read(std::nullopt);
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_EQ(readings[0].uuid, NvmlLibrary::uuid(0));
  EXPECT_DOUBLE_EQ(readings[0].utilization.value(), 0.37);
  EXPECT_EQ(readings[0].memory_total_bytes, double{80ull << 30});
  EXPECT_EQ(readings[0].memory_used_bytes, double{5 << 20});
  EXPECT_DOUBLE_EQ(readings[0].power_watts.value(), 123.456);
  EXPECT_DOUBLE_EQ(readings[0].power_limit_watts.value(), 700);
  EXPECT_EQ(readings[0].energy_joules, 0.0);
  EXPECT_EQ(lines(log, LogLevel::kInfo), Lines{"metrics of GPUs by NVML, driver 580.0 (double)"});
}

TEST(GpuReader, EnergyCountsFromTheFirstReadingAndNeverFalls) {
  NvmlLibrary library{{"ENERGY", "9000"}};
  RecordingLog log;
  GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
  const auto joules = [&] { return reader.read(std::nullopt).at(0).energy_joules.value(); };
  EXPECT_EQ(joules(), 0);
  library->set(0, Value::kEnergy, 11'500);
  EXPECT_DOUBLE_EQ(joules(), 2.5);
  library->set(0, Value::kEnergy, 1'000);  // the driver was loaded again
  EXPECT_DOUBLE_EQ(joules(), 3.5);
  EXPECT_DOUBLE_EQ(joules(), 3.5);
}

TEST(GpuReader, MoreThanAllIsAll) {
  NvmlLibrary library{{"UTILIZATION", "101"}};
  RecordingLog log;
  GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
  EXPECT_DOUBLE_EQ(reader.read(std::nullopt).at(0).utilization.value(), 1);
}

TEST(GpuReader, GivesThoseThatAreWanted) {
  NvmlLibrary library{{"DEVICES", "3"}};
  RecordingLog log;
  GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
  EXPECT_EQ(reader.read(std::nullopt).size(), 3u);
  const auto readings = reader.read({{{.pci_id = "0000:03:00.0", .uuid = NvmlLibrary::uuid(2)},
                                      {.pci_id = "0000:01:00.0", .uuid = NvmlLibrary::uuid(0)}}});
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].uuid, NvmlLibrary::uuid(2));
  EXPECT_EQ(readings[1].uuid, NvmlLibrary::uuid(0));
  EXPECT_TRUE(reader.read(std::vector<GpuName>{}).empty());
}

TEST(GpuReader, WhatIsNotSupportedIsLeftOutInSilence) {
  NvmlLibrary library{{"FAIL", "nvmlDeviceGetPowerUsage:0:3,nvmlDeviceGetTotalEnergyConsumption:0:4"}};
  RecordingLog log;
  GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
  const auto readings = reader.read(std::nullopt);
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_FALSE(readings[0].power_watts || readings[0].energy_joules);
  EXPECT_TRUE(readings[0].power_limit_watts && readings[0].utilization && readings[0].memory_used_bytes);
  EXPECT_EQ(log.records().size(), 1u);  // that NVML is there
}

TEST(GpuReader, AnotherFailureIsLoggedOnce) {
  NvmlLibrary library{{"FAIL", "nvmlDeviceGetPowerUsage:0:999"}};
  RecordingLog log;
  GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(reader.read(std::nullopt).at(0).power_watts);
  EXPECT_EQ(lines(log, LogLevel::kWarning),
            Lines{"GPU 0: metrics are left out: nvmlDeviceGetPowerUsage gave NVML_ERROR_UNKNOWN (999)"});
}

TEST(GpuReader, AGpuThatIsLostIsLeftOutUntilItIsBack) {
  for (const uint64_t code : {15u, 16u}) {
    NvmlLibrary library{{"DEVICES", "2"}};
    RecordingLog log;
    GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
    EXPECT_EQ(reader.read(std::nullopt).size(), 2u);
    library->set(0, Value::kLost, code);
    for (int i = 0; i < 3; ++i) {
      const auto readings = reader.read(std::nullopt);
      ASSERT_EQ(readings.size(), 1u);
      EXPECT_EQ(readings[0].uuid, NvmlLibrary::uuid(1));
    }
    EXPECT_EQ(lines(log, LogLevel::kError),
              Lines{cat("GPU 0 has no metrics any more: nvmlDeviceGetUUID gave ",
                        nvml_result_text(static_cast<NvmlResult>(code)))});
    library->set(0, Value::kLost, static_cast<uint64_t>(NvmlResult::UNKNOWN));
    EXPECT_EQ(reader.read(std::nullopt).size(), 1u);
    EXPECT_EQ(lines(log, LogLevel::kInfo).size(), 1u) << "it is not back while it says nothing";
    library->set(0, Value::kLost, 0);
    EXPECT_EQ(reader.read(std::nullopt).size(), 2u);
    EXPECT_EQ(lines(log, LogLevel::kInfo).back(), "GPU 0 has metrics again");
  }
}

TEST(GpuReader, LostInTheMiddleOfAReading) {
  NvmlLibrary library;
  RecordingLog log;
  GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
  library->fail_call("nvmlDeviceGetTotalEnergyConsumption", 1, NvmlResult::GPU_IS_LOST);
  EXPECT_TRUE(reader.read(std::nullopt).empty());
}

TEST(GpuReader, OfADividedGpuThePartHasMemory) {
  NvmlLibrary library{{"MEMORY", "80GiB"}, {"MIG", "1"}, {"MEMORY_USED", "1GiB"}};
  RecordingLog log;
  GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
  const auto readings = reader.read({{{.pci_id = "0000:01:00.0", .uuid = NvmlLibrary::uuid(0)}}});
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].uuid, NvmlLibrary::uuid(0));
  EXPECT_FALSE(readings[0].utilization || readings[0].memory_total_bytes);
  EXPECT_TRUE(readings[0].power_watts && readings[0].power_limit_watts && readings[0].energy_joules);
  EXPECT_EQ(readings[1].uuid, "MIG-" + NvmlLibrary::uuid(0).substr(4));
  EXPECT_EQ(readings[1].memory_total_bytes, double{40ull << 30});
  EXPECT_EQ(readings[1].memory_used_bytes, double{1 << 30});
  EXPECT_FALSE(readings[1].utilization || readings[1].power_watts || readings[1].energy_joules);
  EXPECT_TRUE(lines(log, LogLevel::kWarning).empty());
  EXPECT_EQ(reader.read(std::nullopt).size(), 1u) << "nobody says which part is this process's";
}

TEST(GpuReader, WithoutALibraryThereIsOneLine) {
  RecordingLog log;
  GpuReader reader(open_nvml("/nowhere/libnvidia-ml.so.1"), log);
  EXPECT_FALSE(reader.is_usable());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(reader.read(std::nullopt).empty());
  EXPECT_EQ(lines(log, LogLevel::kInfo).size(), 1u);
  EXPECT_EQ(log.records().size(), 1u);
}

TEST(GpuReader, WithoutADriverThereIsOneLine) {
  NvmlLibrary library{{"INIT", "9"}};
  RecordingLog log;
  GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
  EXPECT_TRUE(reader.is_usable());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(reader.read(std::nullopt).empty());
  EXPECT_FALSE(reader.is_usable());
  EXPECT_EQ(
      lines(log, LogLevel::kInfo),
      Lines{"no metrics of GPUs: NVML cannot be used: nvmlInit_v2 gave NVML_ERROR_DRIVER_NOT_LOADED (9)"});
  EXPECT_EQ(log.records().size(), 1u);
}

/// Every call fails once, at every place, in every way: what is shown is right, and the next readings are whole.
class NvmlFailureSweep : public ::testing::TestWithParam<NvmlResult> {};

TEST_P(NvmlFailureSweep, EveryCallMayFail) {
  const std::vector<GpuName> names = {{.pci_id = "0000:01:00.0", .uuid = NvmlLibrary::uuid(0)},
                                      {.pci_id = "0000:02:00.0", .uuid = NvmlLibrary::uuid(1)}};
  uint64_t nth = 0;
  for (bool has_failed = true; has_failed && !HasFailure();) {
    SCOPED_TRACE(::testing::Message() << "call " << ++nth);
    NvmlLibrary library{{"DEVICES", "2"}, {"UTILIZATION", "50"}, {"MIG", "0,1"}};
    library->fail_call("*", nth, GetParam());
    RecordingLog log;
    {
      GpuReader reader(open_nvml(NvmlLibrary::kPath), log);
      for (int i = 0; i < 2; ++i) {
        for (const GpuReading& reading : reader.read(names)) {
          EXPECT_TRUE(reading.uuid.starts_with("GPU-") || reading.uuid.starts_with("MIG-"));
          if (reading.utilization) {
            EXPECT_DOUBLE_EQ(*reading.utilization, 0.5);
          }
          if (reading.energy_joules) {
            EXPECT_EQ(*reading.energy_joules, 0);
          }
        }
        (void)reader.read(std::nullopt);
      }
      has_failed = library->calls("*") >= nth;
      library->end_failures();
      if (reader.is_usable()) {
        const auto readings = reader.read(names);
        EXPECT_EQ(readings.size(), 3u);
        EXPECT_TRUE(!readings.empty() && readings[0].power_watts);
      }
    }
    for (const auto& record : log.records()) EXPECT_EQ(record.message.find('\n'), std::string::npos);
    EXPECT_LE(log.records().size(), 5u);
  }
  EXPECT_GT(nth, 60u);
}

std::string name_of(const ::testing::TestParamInfo<NvmlResult>& info) {
  return std::string(nvml_result_name(info.param));
}
INSTANTIATE_TEST_SUITE_P(Codes, NvmlFailureSweep,
                         ::testing::Values(NvmlResult::NOT_SUPPORTED, NvmlResult::NO_PERMISSION,
                                           NvmlResult::GPU_IS_LOST, NvmlResult::RESET_REQUIRED,
                                           NvmlResult::UNKNOWN),
                         &name_of);

}  // namespace
}  // namespace atl::telemetry
