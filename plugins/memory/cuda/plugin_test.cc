#include <gtest/gtest.h>

#include "atoll/gpu/cuda.h"
#include "atoll/memory/memory.h"
#include "atoll/testing/plugin_runner.h"
#include "memory/cuda/testing/gpus.h"

namespace atl::memory {
namespace {

using test::FakeHost;
using test::Gpus;
using test::PluginRunner;

TEST(CudaMemoryPlugin, ServesWithoutADriverWhatNeedsNone) {
  FakeHost host("cuda");
  PluginRunner plugin(host);
  ASSERT_TRUE(plugin.set("library", "/nowhere/libcuda.so.1").create_and_start().ok());
  auto* memory = plugin.query<Memory>();
  EXPECT_EQ(memory->kind(), MemoryKind::kGpu);
  EXPECT_TRUE(memory->devices().empty());
  const std::string reason =
      "there is no CUDA driver: /nowhere/libcuda.so.1: cannot open shared object file: No such file or directory";
  EXPECT_EQ(memory->allocate(0, 0).status().message(), "there is no GPU 0: " + reason);
  EXPECT_EQ(memory->open_handle({}, 0, 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(plugin.query<Cuda>()->absence().message(), reason);
  ASSERT_EQ(host.log().records().size(), 1u);
  EXPECT_EQ(host.log().records()[0].message, "no GPU is used: " + reason);
}

TEST(CudaMemoryPlugin, OptionsSayWhatIsUsed) {
  Gpus gpus({.devices = 4, .compute_capability = "9.0,9.0,7.5,9.0"});  // sets the environment
  FakeHost host("cuda");
  PluginRunner plugin(host);
  plugin.set("library", Gpus::kPath)
      .set("devices", R"(["0", "2", "3"])")
      .set("min_compute_capability", "8.0");
  plugin.set("limit", "1KiB").set("limit_by_device", R"({"3" = "2KiB"})");
  ASSERT_TRUE(plugin.create_and_start().ok());
  auto* memory = plugin.query<Memory>();
  EXPECT_EQ(memory->devices(), (std::vector<int32_t>{0, 3}));
  EXPECT_EQ(memory->limit_bytes(), 3u << 10);
  auto buffer = memory->allocate(2 << 10, 3);
  ASSERT_TRUE(buffer.ok());
  memory->free(*buffer);
}

TEST(CudaMemoryPlugin, OptionsThatAreNoneAreRefused) {
  const auto refusal = [](const char* key, const char* value) {
    FakeHost host("cuda");
    PluginRunner plugin(host);
    return std::string(plugin.set("library", "/nowhere").set(key, value).create_and_start().message());
  };
  EXPECT_EQ(refusal("devices", R"(["first"])"), "option 'devices' has 'first', expected the number of a GPU");
  EXPECT_EQ(refusal("devices", R"(["-1"])"), "option 'devices' has '-1', expected the number of a GPU");
  EXPECT_EQ(refusal("kept_by_device", R"({"0" = "much"})"),
            "option 'kept_by_device' has 0 = 'much', expected the number of a GPU and a size such as 4GiB");
  EXPECT_EQ(refusal("limit_by_device", R"({"x" = "1GiB"})"),
            "option 'limit_by_device' has x = '1GiB', expected the number of a GPU and a size such as 4GiB");
}

}  // namespace
}  // namespace atl::memory
