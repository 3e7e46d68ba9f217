#include "frontends/metrics/host_load.h"

#include <gtest/gtest.h>

#include "frontends/metrics/testing/metrics_test_support.h"

namespace atl::frontends::metrics {
namespace {

constexpr std::string_view kStat =
    "cpu  100 20 30 400 50 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1 2\nbtime 1700000000\n";
constexpr std::string_view kMemory = "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    400 kB\n";

TEST(ProcFilesTest, CpuTimes) {
  auto times = parse_cpu_times(kStat);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->busy, 100u + 20 + 30 + 6 + 7 + 8);
  EXPECT_EQ(times->idle, 450u);
  EXPECT_EQ(parse_boot_time(kStat), 1700000000u);
  for (std::string_view bad :
       {"", "cpu", "cpu  1 2 3 4 5 6 7\n", "cpu  1 2 x 4 5 6 7 8\n", "cpu0 1 2 3 4 5 6 7 8\n"}) {
    EXPECT_FALSE(parse_cpu_times(bad)) << bad;
  }
  EXPECT_FALSE(parse_boot_time("cpu  1\nbtime \n"));
}

TEST(ProcFilesTest, Memory) {
  auto memory = parse_memory_info(kMemory);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total_bytes, 1000u * 1024);
  EXPECT_EQ(memory->used_bytes, 600u * 1024);
  for (std::string_view bad :
       {"", "MemTotal: 1000 kB\n", "MemAvailable: 10 kB\n", "MemTotal: 10 kB\nMemAvailable: 11 kB\n",
        "MemTotal: 18446744073709551615 kB\nMemAvailable: 0 kB\n", "MemTotal: kB\nMemAvailable: 0 kB\n"}) {
    EXPECT_FALSE(parse_memory_info(bad)) << bad;
  }
}

TEST(ProcFilesTest, Process) {
  const std::string stat =
      "42 (a b) (c) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 7 0 1000 123456 25 18446744073709551615 "
      "1\n";
  auto info = parse_process(stat, 1000, {100, 4096});
  ASSERT_TRUE(info);
  EXPECT_DOUBLE_EQ(info->cpu_seconds, 2);
  EXPECT_DOUBLE_EQ(info->start_time_sec, 1010);
  EXPECT_EQ(info->virtual_bytes, 123456u);
  EXPECT_EQ(info->resident_bytes, 25u * 4096);
  EXPECT_EQ(info->threads, 7u);
  for (size_t length = 0; length < stat.find(" 18446744"); ++length) {
    auto cut = parse_process(stat.substr(0, length), 1000, {100, 4096});
    // Cut within the last number it is another number; cut before, there is nothing to be read.
    EXPECT_TRUE(!cut || cut->resident_bytes == 2u * 4096) << length;
  }
  EXPECT_FALSE(
      parse_process("1 (x) S 1 2 x 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22", 0, {100, 1}));
}

TEST(HostLoadTest, UtilizationIsThatBetweenTheLastTwoSamples) {
  HostLoad load;
  auto text = [&] {
    Page page(10);
    load.write(page);
    return page.text();
  };
  EXPECT_EQ(text(), "");
  load.sample("cpu  0 0 0 100 0 0 0 0\n", kMemory);
  EXPECT_EQ(text().find("nv_cpu_utilization"), std::string::npos);
  EXPECT_TRUE(has_line(text(), "nv_cpu_memory_total_bytes 1024000"));
  EXPECT_TRUE(has_line(text(), "nv_cpu_memory_used_bytes 614400"));
  load.sample("cpu  10 5 5 160 20 2 2 1\n", kMemory);  // 25 busy, 80 idle
  load.sample("cpu  20 5 5 180 30 2 2 1\n", kMemory);  // 10 busy, 30 idle
  EXPECT_TRUE(has_line(text(), "nv_cpu_utilization 0.25"));
  EXPECT_TRUE(has_line(text(), "# TYPE nv_cpu_utilization gauge"));
  load.sample("cpu  20 5 5 180 30 2 2 1\n", kMemory);  // nothing passed: the last one stays
  EXPECT_TRUE(has_line(text(), "nv_cpu_utilization 0.25"));
  load.sample("cpu  30 5 5 100 30 2 2 1\n", "");  // idle went back
  EXPECT_TRUE(has_line(text(), "nv_cpu_utilization 1"));
  EXPECT_EQ(text().find("nv_cpu_memory"), std::string::npos);
  load.sample("", "");
  EXPECT_EQ(text(), "");
}

TEST(HostLoadTest, ThisMachineCanBeRead) {
  HostLoad load;
  load.sample();
  Page page(10);
  load.write(page);
  EXPECT_TRUE(page.has("nv_cpu_memory_total_bytes"));
  write_process(page);
  const std::string text = page.text();
  for (const char* name :
       {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes",
        "process_open_fds", "process_max_fds", "process_start_time_seconds", "process_threads"}) {
    EXPECT_EQ(lines_with(text, std::string(name) + " "), 1u) << name;
  }
}

}  // namespace
}  // namespace atl::frontends::metrics
