#include <gtest/gtest.h>

#include "atoll/memory/memory.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/plugin_runner.h"
#include "memory/pinned/testing/fake_cuda.h"

namespace atl::memory {
namespace {

TEST(PinnedMemoryPlugin, HasThePoolOfItsOption) {
  FakeCuda cuda;
  test::FakeHost host("pinned");
  host.registry().publish<Cuda>("cuda", cuda);
  test::PluginRunner plugin(host);
  ASSERT_TRUE(plugin.set("size", "1MiB").create_and_start().ok());
  auto* memory = plugin.query<Memory>();
  EXPECT_EQ(memory->limit_bytes(), 1u << 20);
  auto buffer = memory->allocate(10, 0);
  ASSERT_TRUE(buffer.ok());
  memory->free(*buffer);
  plugin.stop();
  EXPECT_EQ(FakeCuda::counts().freed, 1u);
}

TEST(PinnedMemoryPlugin, DoesNotStartWithoutGpus) {
  test::FakeHost host("pinned");
  test::PluginRunner plugin(host);
  EXPECT_EQ(plugin.create_and_start().code(), Code::kNotFound);
}

}  // namespace
}  // namespace atl::memory
