/// Names of numbers, parameters, attributes of buffers.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "atoll/triton/buffer_attributes.h"
#include "atoll/triton/status.h"
#include "testing/program.h"

namespace atl::triton::test {
namespace {

TEST(Names, OfNumbers) {
  EXPECT_STREQ(TRITONSERVER_MemoryTypeString(TRITONSERVER_MEMORY_CPU), "CPU");
  EXPECT_STREQ(TRITONSERVER_MemoryTypeString(TRITONSERVER_MEMORY_CPU_PINNED), "CPU_PINNED");
  EXPECT_STREQ(TRITONSERVER_MemoryTypeString(TRITONSERVER_MEMORY_GPU), "GPU");
  EXPECT_STREQ(TRITONSERVER_MemoryTypeString(static_cast<TRITONSERVER_MemoryType>(3)), "<invalid>");
  EXPECT_STREQ(TRITONSERVER_MemoryTypeString(static_cast<TRITONSERVER_MemoryType>(-1)), "<invalid>");
  const char* types[] = {"STRING", "INT", "BOOL", "DOUBLE", "BYTES", "<invalid>"};
  for (int i = 0; i < 6; ++i) {
    EXPECT_STREQ(TRITONSERVER_ParameterTypeString(static_cast<TRITONSERVER_ParameterType>(i)), types[i]);
  }
  const char* kinds[] = {"AUTO", "CPU", "GPU", "MODEL", "<invalid>"};
  for (int i = 0; i < 5; ++i) {
    EXPECT_STREQ(TRITONSERVER_InstanceGroupKindString(static_cast<TRITONSERVER_InstanceGroupKind>(i)),
                 kinds[i]);
  }
}

TEST(Names, OfTraces) {
  EXPECT_STREQ(TRITONSERVER_InferenceTraceLevelString(TRITONSERVER_TRACE_LEVEL_TIMESTAMPS), "TIMESTAMPS");
  EXPECT_STREQ(TRITONSERVER_InferenceTraceLevelString(TRITONSERVER_TRACE_LEVEL_TENSORS), "TENSORS");
  EXPECT_STREQ(TRITONSERVER_InferenceTraceLevelString(TRITONSERVER_TRACE_LEVEL_MAX), "MAX");
  for (int level : {3, 5, 9, -1}) {
    EXPECT_STREQ(TRITONSERVER_InferenceTraceLevelString(static_cast<TRITONSERVER_InferenceTraceLevel>(level)),
                 "<unknown>");
  }
  EXPECT_STREQ(TRITONSERVER_InferenceTraceActivityString(TRITONSERVER_TRACE_COMPUTE_OUTPUT_START),
               "COMPUTE_OUTPUT_START");
  EXPECT_STREQ(TRITONSERVER_InferenceTraceActivityString(TRITONSERVER_TRACE_CUSTOM_ACTIVITY),
               "CUSTOM_ACTIVITY");
  EXPECT_STREQ(
      TRITONSERVER_InferenceTraceActivityString(static_cast<TRITONSERVER_InferenceTraceActivity>(11)),
      "<unknown>");
}

TEST(Parameters, OfEveryType) {
  const int64_t number = -3;
  const bool yes = true;
  const double half = 0.5;
  for (TRITONSERVER_Parameter* made :
       {TRITONSERVER_ParameterNew("a", TRITONSERVER_PARAMETER_STRING, "text"),
        TRITONSERVER_ParameterNew("b", TRITONSERVER_PARAMETER_INT, &number),
        TRITONSERVER_ParameterNew("c", TRITONSERVER_PARAMETER_BOOL, &yes),
        TRITONSERVER_ParameterNew("d", TRITONSERVER_PARAMETER_DOUBLE, &half),
        TRITONSERVER_ParameterBytesNew("e", "\0\1", 2), TRITONSERVER_ParameterBytesNew("f", nullptr, 0)}) {
    EXPECT_NE(made, nullptr);
    TRITONSERVER_ParameterDelete(made);
  }
  TRITONSERVER_ParameterDelete(nullptr);
}

TEST(Parameters, WhatIsNoneIsNull) {
  EXPECT_EQ(TRITONSERVER_ParameterNew("a", TRITONSERVER_PARAMETER_BYTES, "x"), nullptr);
  EXPECT_EQ(TRITONSERVER_ParameterNew("a", static_cast<TRITONSERVER_ParameterType>(9), "x"), nullptr);
  EXPECT_EQ(TRITONSERVER_ParameterNew(nullptr, TRITONSERVER_PARAMETER_STRING, "x"), nullptr);
  EXPECT_EQ(TRITONSERVER_ParameterNew("a", TRITONSERVER_PARAMETER_INT, nullptr), nullptr);
  EXPECT_EQ(TRITONSERVER_ParameterBytesNew(nullptr, "x", 1), nullptr);
  EXPECT_EQ(TRITONSERVER_ParameterBytesNew("a", nullptr, 1), nullptr);
}

TEST(BufferAttributes, KeepWhatIsSet) {
  TRITONSERVER_BufferAttributes* made = nullptr;
  expect_ok(TRITONSERVER_BufferAttributesNew(&made));
  auto type = TRITONSERVER_MEMORY_GPU;
  int64_t device = 9;
  size_t size = 9;
  void* handle = &size;
  expect_ok(TRITONSERVER_BufferAttributesMemoryType(made, &type));
  expect_ok(TRITONSERVER_BufferAttributesMemoryTypeId(made, &device));
  expect_ok(TRITONSERVER_BufferAttributesByteSize(made, &size));
  expect_ok(TRITONSERVER_BufferAttributesCudaIpcHandle(made, &handle));
  EXPECT_EQ(type, TRITONSERVER_MEMORY_CPU);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(handle, nullptr);

  std::string ipc(64, 'i');
  expect_ok(TRITONSERVER_BufferAttributesSetMemoryType(made, TRITONSERVER_MEMORY_GPU));
  expect_ok(TRITONSERVER_BufferAttributesSetMemoryTypeId(made, 3));
  expect_ok(TRITONSERVER_BufferAttributesSetByteSize(made, 128));
  expect_ok(TRITONSERVER_BufferAttributesSetCudaIpcHandle(made, ipc.data()));
  ipc.assign(64, '-');
  expect_ok(TRITONSERVER_BufferAttributesMemoryType(made, &type));
  expect_ok(TRITONSERVER_BufferAttributesMemoryTypeId(made, &device));
  expect_ok(TRITONSERVER_BufferAttributesByteSize(made, &size));
  expect_ok(TRITONSERVER_BufferAttributesCudaIpcHandle(made, &handle));
  EXPECT_EQ(type, TRITONSERVER_MEMORY_GPU);
  EXPECT_EQ(device, 3);
  EXPECT_EQ(size, 128u);
  EXPECT_EQ(std::string(static_cast<const char*>(handle), 64), std::string(64, 'i'));

  expect_invalid(TRITONSERVER_BufferAttributesSetMemoryType(made, static_cast<TRITONSERVER_MemoryType>(7)),
                 "memory type 7 is unknown");
  expect_invalid(TRITONSERVER_BufferAttributesSetCudaIpcHandle(made, nullptr));
  expect_ok(TRITONSERVER_BufferAttributesDelete(made));
  expect_invalid(TRITONSERVER_BufferAttributesDelete(nullptr));
  expect_invalid(TRITONSERVER_BufferAttributesNew(nullptr));
}

TEST(BufferAttributes, OfABuffer) {
  const TRITONSERVER_BufferAttributes made = attributes_of({nullptr, 64, MemoryKind::kGpu, 2, nullptr});
  EXPECT_EQ(made.size_bytes, 64u);
  EXPECT_EQ(made.device_id, 2);
  EXPECT_EQ(made.kind, MemoryKind::kGpu);
  EXPECT_FALSE(made.has_ipc_handle);
}

TEST(Status, BecomesAnErrorAndIsTheSameAgain) {
  EXPECT_EQ(to_error(Status()), nullptr);
  for (Code code : {Code::kCancelled, Code::kInvalidArgument, Code::kNotFound, Code::kAlreadyExists,
                    Code::kUnimplemented, Code::kInternal, Code::kUnavailable, Code::kUnknown}) {
    const Status status = take_error(to_error(Status(code, "why")));
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), "why");
  }
  EXPECT_EQ(error_code_of(Code::kOutOfRange), TRITONSERVER_ERROR_INVALID_ARG);
  EXPECT_EQ(error_code_of(Code::kDataLoss), TRITONSERVER_ERROR_INTERNAL);
  EXPECT_EQ(error_code_of(Code::kPermissionDenied), TRITONSERVER_ERROR_UNKNOWN);
  for (Code code :
       {Code::kResourceExhausted, Code::kDeadlineExceeded, Code::kFailedPrecondition, Code::kAborted}) {
    EXPECT_EQ(error_code_of(code), TRITONSERVER_ERROR_UNAVAILABLE);
  }
}

}  // namespace
}  // namespace atl::triton::test
