#include "backends/triton/memory_manager.h"

#include <gtest/gtest.h>

#include <cstring>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/gpu/fake_device_memory.h"

namespace atl::triton {
namespace {

TEST(BackendMemory, GivesAndTakesBack) {
  BackendMemory memory;
  void* some = memory.allocate(MemoryKind::kCpu, 0, 100).value();
  void* none = memory.allocate(MemoryKind::kCpu, 7, 0).value();
  std::memset(some, 1, 100);
  EXPECT_NE(some, none);
  EXPECT_TRUE(memory.free(some, MemoryKind::kCpu, 0).ok());
  EXPECT_TRUE(memory.free(none, MemoryKind::kCpu, 0).ok());
  EXPECT_EQ(memory.free(none, MemoryKind::kCpu, 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(memory.free(nullptr, MemoryKind::kCpu, 0).code(), Code::kInvalidArgument);
}

TEST(BackendMemory, HasNoOtherKinds) {
  BackendMemory memory;
  EXPECT_EQ(memory.allocate(MemoryKind::kCpuPinned, 0, 1).status().text(),
            "Pinned memory allocation not supported");
  EXPECT_EQ(memory.allocate(MemoryKind::kGpu, 0, 1).status().text(), "GPU memory allocation not supported");
  EXPECT_EQ(memory.free(&memory, MemoryKind::kGpu, 0).code(), Code::kInvalidArgument);
}

TEST(BackendMemory, WhatTheSystemDoesNotHaveIsUnavailable) {
  BackendMemory memory;
  EXPECT_EQ(memory.allocate(MemoryKind::kCpu, 0, uint64_t{1} << 62).status().code(), Code::kUnavailable);
}

struct DeviceBench {
  DeviceBench() { host.registry().publish<Memory>("gpus", gpus, 0, Memory::kGrowableMinor); }
  test::FakeHost host;
  test::FakeDeviceMemory gpus{2, 1000};
  BackendMemory memory;
};

TEST(BackendMemory, MemoryOfGpusIsThatOfTheirProvider) {
  DeviceBench bench;
  ASSERT_TRUE(bench.memory.open(bench.host).ok());
  void* data = bench.memory.allocate(MemoryKind::kGpu, 1, 600).value();
  EXPECT_EQ(bench.gpus.used_bytes(), 600u);
  const Status full = bench.memory.allocate(MemoryKind::kGpu, 0, 600).status();
  EXPECT_EQ(full.code(), Code::kUnavailable) << full.text();
  EXPECT_EQ(bench.memory.allocate(MemoryKind::kGpu, 2, 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(bench.memory.allocate(MemoryKind::kCpuPinned, 0, 1).status().code(), Code::kUnimplemented);
  EXPECT_EQ(bench.memory.free(data, MemoryKind::kGpu, 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(bench.memory.free(data, MemoryKind::kCpu, 1).code(), Code::kInvalidArgument);
  EXPECT_TRUE(bench.memory.free(data, MemoryKind::kGpu, 1).ok());
  EXPECT_EQ(bench.memory.free(data, MemoryKind::kGpu, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(bench.gpus.used_bytes(), 0u);
  bench.memory.close();
}

TEST(BackendMemory, WhatABackendKeepsIsFreedBeforeTheProviderEnds) {
  DeviceBench bench;
  ASSERT_TRUE(bench.memory.open(bench.host).ok());
  void* data = bench.memory.allocate(MemoryKind::kGpu, 0, 100).value();
  bench.memory.close();
  EXPECT_EQ(bench.gpus.used_bytes(), 0u);
  EXPECT_EQ(bench.memory.free(data, MemoryKind::kGpu, 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(bench.memory.allocate(MemoryKind::kGpu, 0, 1).status().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace atl::triton
