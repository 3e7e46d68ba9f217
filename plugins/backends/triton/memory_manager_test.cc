#include "backends/triton/memory_manager.h"

#include <gtest/gtest.h>

#include <cstring>

namespace atl::triton {
namespace {

TEST(HeapMemory, GivesAndTakesBack) {
  HeapMemory memory;
  void* some = memory.allocate(MemoryKind::kCpu, 0, 100).value();
  void* none = memory.allocate(MemoryKind::kCpu, 7, 0).value();
  std::memset(some, 1, 100);
  EXPECT_NE(some, none);
  EXPECT_TRUE(memory.free(some, MemoryKind::kCpu, 0).ok());
  EXPECT_TRUE(memory.free(none, MemoryKind::kCpu, 0).ok());
  EXPECT_EQ(memory.free(none, MemoryKind::kCpu, 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(memory.free(nullptr, MemoryKind::kCpu, 0).code(), Code::kInvalidArgument);
}

TEST(HeapMemory, HasNoOtherKinds) {
  HeapMemory memory;
  EXPECT_EQ(memory.allocate(MemoryKind::kCpuPinned, 0, 1).status().text(),
            "Pinned memory allocation not supported");
  EXPECT_EQ(memory.allocate(MemoryKind::kGpu, 0, 1).status().text(), "GPU memory allocation not supported");
  EXPECT_EQ(memory.free(&memory, MemoryKind::kGpu, 0).code(), Code::kUnimplemented);
}

TEST(HeapMemory, WhatTheSystemDoesNotHaveIsUnavailable) {
  HeapMemory memory;
  EXPECT_EQ(memory.allocate(MemoryKind::kCpu, 0, uint64_t{1} << 62).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace atl::triton
