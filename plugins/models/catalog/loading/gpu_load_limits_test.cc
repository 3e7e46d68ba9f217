#include "models/catalog/loading/gpu_load_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

constexpr std::string_view kGroups = R"(
  instance_group { name: "g" count: 2 kind: KIND_GPU gpus: [ 0, 1 ] }
  instance_group { name: "c" count: 1 kind: KIND_CPU })";

/// Each instance that lives takes a tenth of its device; others have some of it, too.
class FillingMemory final : public Memory {
 public:
  explicit FillingMemory(const test::FakeBackend& backend) : backend_(backend) {}
  virtual ~FillingMemory() = default;
  MemoryKind kind() const noexcept override { return MemoryKind::kGpu; }
  Result<Buffer> allocate(uint64_t, int64_t) noexcept override { return unavailable("not asked for here"); }
  void free(const Buffer&) noexcept override {}
  uint64_t used_bytes() const noexcept override { return 0; }
  uint64_t limit_bytes() const noexcept override { return 0; }
  std::vector<int32_t> devices() const noexcept override { return {0, 1}; }
  Result<DeviceMemoryUsage> device_usage(int64_t device_id) noexcept override {
    ++asked;
    if (is_lost) return unavailable("GPU ", device_id, " is lost");
    // Of all instances, wherever they are: those of a device are made one after the other.
    const auto used = static_cast<uint64_t>(100 * backend_.live_instances()) + used_by_others;
    return DeviceMemoryUsage{.total_bytes = 1000, .free_bytes = used > 1000 ? 0 : 1000 - used};
  }

  uint64_t used_by_others = 0;
  bool is_lost = false;
  int asked = 0;

 private:
  const test::FakeBackend& backend_;
};

class GpuLoadLimitsTest : public ::testing::Test {
 protected:
  void begin(const std::map<std::string, std::string>& limits, uint32_t minor = Memory::kUsageMinor) {
    bench_ = std::make_unique<CatalogBench>(
        CatalogBench::Threads::kSimulated,
        [&](test::FakeOptions& options) { options.set_map("gpu_load_limit", limits); });
    ASSERT_TRUE(bench_->start_status.ok()) << bench_->start_status.text();
    memory_ = std::make_unique<FillingMemory>(bench_->backend);
    bench_->host.registry().publish<Memory>("cuda", *memory_, 0, minor);
    bench_->put("m", cat(kSimpleConfig, kGroups));
  }
  void expect_refused(const std::string& text) {
    const Status status = bench_->load_one("m");
    EXPECT_THAT(status.text(), ::testing::HasSubstr(cat("Unavailable: ", text)));
    EXPECT_EQ(bench_->backend.live_instances(), 0) << "what was made is undone";
    EXPECT_EQ(bench_->backend.live_models(), 0);
  }

  std::unique_ptr<FillingMemory> memory_;
  std::unique_ptr<CatalogBench> bench_;  ///< goes first
};

TEST_F(GpuLoadLimitsTest, WithoutALimitNobodyIsAsked) {
  begin({});
  EXPECT_TRUE(bench_->load_one("m").ok());
  EXPECT_EQ(memory_->asked, 0);
  EXPECT_EQ(bench_->backend.live_instances(), 5);
}

TEST_F(GpuLoadLimitsTest, ALimitThatIsJustReachedIsKept) {
  begin({{"1", "0.4"}});
  EXPECT_TRUE(bench_->load_one("m").ok());
  EXPECT_EQ(memory_->asked, 2) << "after each instance on that GPU";
}

TEST_F(GpuLoadLimitsTest, TheLoadThatExceedsItIsUndone) {
  begin({{"0", "1"}, {"1", "0.3"}});
  expect_refused(
      "can not create model 'g_3': memory limit set for GPU 1 has exceeded, model loading is rejected.");
  EXPECT_TRUE(bench_->host.log().contains("instance 'g_3': 400 bytes of the 1000 bytes of GPU 1 are in use"));
  memory_->used_by_others = 1;
  expect_refused("can not create model 'g_2': memory limit set for GPU 1 has exceeded");
}

TEST_F(GpuLoadLimitsTest, NoneAtAllWhereNothingMayBeUsed) {
  begin({{"0", "0.0"}});
  expect_refused("can not create model 'g_0': memory limit set for GPU 0 has exceeded");
}

TEST_F(GpuLoadLimitsTest, WhatServedBeforeGoesOn) {
  begin({{"0", "0.25"}});
  bench_->put("m", cat(kSimpleConfig, "instance_group { name: 'g' count: 2 kind: KIND_GPU gpus: 0 }"));
  ASSERT_TRUE(bench_->load_one("m").ok());
  bench_->put("m", cat(kSimpleConfig, "instance_group { name: 'g' count: 3 kind: KIND_GPU gpus: 0 }"));
  EXPECT_THAT(bench_->load_one("m").text(), ::testing::HasSubstr("memory limit set for GPU 0 has exceeded"));
  EXPECT_EQ(bench_->backend.live_instances(), 2);
  EXPECT_TRUE(bench_->catalog().acquire("m", 1).ok());
}

TEST_F(GpuLoadLimitsTest, ALimitThatCanNotBeLookedAtRefuses) {
  begin({{"0", "0.9"}}, Memory::kDevicesMinor);
  const Status status = bench_->load_one("m");
  EXPECT_THAT(status.text(),
              ::testing::HasSubstr("the limit of GPU 0 for instance 'g_0': no plugin provides GPU memory"));
  EXPECT_EQ(bench_->backend.live_instances(), 0);
  bench_->host.registry().publish<Memory>("cuda", *memory_, 0, Memory::kUsageMinor);
  memory_->is_lost = true;
  expect_refused("the limit of GPU 0 for instance 'g_0': GPU 0 is lost");
}

TEST(GpuLoadLimits, AreNumbersOfGpusAndFractions) {
  auto limits = read_gpu_load_limits({{"0", "0"}, {"3", "0.5"}, {"12", "1"}});
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(*limits, (GpuLoadLimits{{0, 0.0}, {3, 0.5}, {12, 1.0}}));
  const std::pair<const char*, const char*> wrong[] = {
      {"", "0.5"},   {"-1", "0.5"}, {"x", "0.5"},         {"0.", "1"},
      {"0", ""},     {"0", "-0.1"}, {"0", "1.1"},         {"0", "nan"},
      {"0", "half"}, {"0", "0.5 "}, {"4294967296", "0.5"}};
  for (const auto& [gpu, fraction] : wrong) {
    EXPECT_EQ(read_gpu_load_limits({{gpu, fraction}}).status().message(),
              cat("option 'gpu_load_limit': \"", gpu, "\" = \"", fraction,
                  "\": expected the number of a GPU, each once, and a fraction of its memory from 0 to 1"));
  }
  EXPECT_FALSE(read_gpu_load_limits({{"0", "0.5"}, {"00", "0.6"}}).ok()) << "that is the same GPU";
}

TEST(GpuLoadLimits, AWrongOneIsRefusedAtStart) {
  CatalogBench wrong(CatalogBench::Threads::kSimulated, [](test::FakeOptions& options) {
    options.set_map("gpu_load_limit", {{"0", "80%"}});
  });
  EXPECT_EQ(wrong.start_status.code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::models
