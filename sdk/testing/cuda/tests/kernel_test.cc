#include <algorithm>
#include <vector>

#include "double_test.h"

namespace atl::test {
namespace {

constexpr const char* kAdd = R"(
//
.version 8.8
.target sm_75
.address_size 64
.visible .entry add_value(
	.param .u64 .ptr .global .align 4 add_value_param_0,
	.param .u32 add_value_param_1, /* count */
	.param .f32 add_value_param_2
)
.maxntid 256
{
	ret;
}
.entry other(.param .align 8 .b8 other_param_0[24], .param .u8 other_param_1, .param .f64 other_param_2) { ret; }
.visible .entry plain() { ret; }
)";

CudaResult add_value(const CudaDoubleLaunch& launch) {
  const auto count = launch.argument<uint32_t>(1);
  auto* values = launch.array<float>(0, count);
  if (values == nullptr) return CudaResult::ILLEGAL_ADDRESS;
  for (uint32_t i = 0; i < count; ++i) values[i] += launch.argument<float>(2);
  return CudaResult::SUCCESS;
}

class CudaKernels : public DoubleTest {
 protected:
  void load() {
    control.register_kernel("add_value", add_value);
    begin();
    ASSERT_CUDA(cuda.cuLibraryLoadData(&library, kAdd, nullptr, nullptr, 0, nullptr, nullptr, 0));
    ASSERT_CUDA(cuda.cuLibraryGetKernel(&kernel, library, "add_value"));
    stream = make_stream();
    address = allocate(4 * sizeof(float));
    ASSERT_CUDA(cuda.cuMemsetD32Async(address, 0, 4, stream));
  }
  CudaResult launch(float value, uint32_t count = 4) {
    void* arguments[] = {&address, &count, &value};
    return cuda.cuLaunchKernel(reinterpret_cast<CudaFunction>(kernel), 1, 1, 1, 32, 1, 1, 0, stream,
                               arguments, nullptr);
  }
  std::vector<float> values() {
    std::vector<float> read(4);
    EXPECT_CUDA(SUCCESS, cuda.cuMemcpyAsync(at(read.data()), address, 4 * sizeof(float), stream));
    return read;
  }
  /// Captures one launch with this value.
  CudaGraph capture(float value) {
    CudaGraph graph = nullptr;
    EXPECT_CUDA(SUCCESS, cuda.cuStreamBeginCapture(stream, CudaCaptureMode::kThreadLocal));
    EXPECT_CUDA(SUCCESS, launch(value));
    EXPECT_CUDA(SUCCESS, cuda.cuStreamEndCapture(stream, &graph));
    return graph;
  }
  CudaGraphExec instantiate(CudaGraph graph) {
    CudaGraphExec exec = nullptr;
    CudaGraphInstantiate parameters;
    EXPECT_CUDA(SUCCESS, cuda.cuGraphInstantiateWithParams(&exec, graph, &parameters));
    return exec;
  }

  CudaLibrary library = nullptr;
  CudaKernel kernel = nullptr;
  CudaStream stream = nullptr;
  CudaAddress address = 0;
};

std::vector<float> four(float value) { return std::vector<float>(4, value); }

TEST_F(CudaKernels, EntriesAndParametersAreReadFromPtx) {
  load();
  uint32_t count = 0;
  ASSERT_CUDA(cuda.cuLibraryGetKernelCount(&count, library));
  EXPECT_EQ(count, 3U);
  CudaKernel other = nullptr;
  ASSERT_CUDA(cuda.cuLibraryGetKernel(&other, library, "other"));
  const std::pair<size_t, size_t> expected[] = {{0, 24}, {24, 1}, {32, 8}};
  for (size_t i = 0; i < std::size(expected); ++i) {
    size_t offset = 99;
    size_t bytes = 99;
    ASSERT_CUDA(cuda.cuKernelGetParamInfo(other, i, &offset, &bytes));
    EXPECT_EQ(std::pair(offset, bytes), expected[i]);
  }
  size_t offset = 0;
  EXPECT_CUDA(INVALID_VALUE, cuda.cuKernelGetParamInfo(other, 3, &offset, nullptr));
  EXPECT_CUDA(NOT_FOUND, cuda.cuLibraryGetKernel(&other, library, "none"));
  std::vector<CudaKernel> all(3);
  ASSERT_CUDA(cuda.cuLibraryEnumerateKernels(all.data(), 3, library));
  EXPECT_NE(std::find(all.begin(), all.end(), kernel), all.end());
}

TEST_F(CudaKernels, CodeThatTheDriverCanNotUseIsRefused) {
  begin();
  CudaModule module = nullptr;
  char log[100] = {};
  CudaJitOption options[] = {CudaJitOption::kErrorLog, CudaJitOption::kErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  EXPECT_CUDA(UNSUPPORTED_PTX_VERSION,
              cuda.cuModuleLoadDataEx(&module, ".version 9.5 .target sm_75", 2, options, values));
  EXPECT_STREQ(log, "ptxas fatal   : Unsupported .version 9.5");
  EXPECT_CUDA(INVALID_PTX, cuda.cuModuleLoadDataEx(&module, "nonsense", 0, nullptr, nullptr));
  EXPECT_CUDA(INVALID_IMAGE, cuda.cuModuleLoadDataEx(&module, "", 0, nullptr, nullptr));
  EXPECT_CUDA(NO_BINARY_FOR_GPU,
              cuda.cuModuleLoadDataEx(&module, ".version 8.8 .target sm_120", 0, nullptr, nullptr));
  EXPECT_CUDA(NO_BINARY_FOR_GPU, cuda.cuModuleLoadDataEx(&module,
                                                         "\x7f"
                                                         "ELF\x02",
                                                         0, nullptr, nullptr));
}

TEST_F(CudaKernels, TheyRunInTheirStream) {
  load();
  ASSERT_CUDA(launch(1));
  ASSERT_CUDA(launch(2));
  EXPECT_EQ(values(), four(3));
  void* arguments[] = {nullptr};
  EXPECT_CUDA(INVALID_VALUE, cuda.cuLaunchKernel(reinterpret_cast<CudaFunction>(kernel), 0, 1, 1, 32, 1, 1, 0,
                                                 stream, arguments, nullptr));
  EXPECT_CUDA(INVALID_VALUE, cuda.cuLaunchKernel(reinterpret_cast<CudaFunction>(kernel), 1, 1, 1, 1025, 1, 1,
                                                 0, stream, arguments, nullptr));
  CudaKernel plain = nullptr;
  ASSERT_CUDA(cuda.cuLibraryGetKernel(&plain, library, "plain"));
  EXPECT_CUDA(NOT_SUPPORTED, cuda.cuLaunchKernel(reinterpret_cast<CudaFunction>(plain), 1, 1, 1, 1, 1, 1, 0,
                                                 stream, nullptr, nullptr));
}

TEST_F(CudaKernels, SharedMemoryHasALimitThatCanBeRaised) {
  load();
  uint32_t count = 4;
  float value = 1;
  void* arguments[] = {&address, &count, &value};
  const CudaLaunch launch = {.block = {32, 1, 1}, .shared_bytes = 64 << 10, .stream = stream};
  CudaFunction function = nullptr;
  ASSERT_CUDA(cuda.cuKernelGetFunction(&function, kernel));
  EXPECT_CUDA(INVALID_VALUE, cuda.cuLaunchKernelEx(&launch, function, arguments, nullptr));
  ASSERT_CUDA(cuda.cuFuncSetAttribute(function, CudaFunctionAttribute::kMaxDynamicSharedBytes, 64 << 10));
  EXPECT_CUDA(SUCCESS, cuda.cuLaunchKernelEx(&launch, function, arguments, nullptr));
  EXPECT_EQ(values(), four(1));
}

TEST_F(CudaKernels, OneThatGoesAstrayLosesTheDevice) {
  load();
  ASSERT_CUDA(launch(1, 5));
  EXPECT_CUDA(ILLEGAL_ADDRESS, cuda.cuStreamSynchronize(stream));
}

TEST_F(CudaKernels, AGraphReplaysWhatWasCaptured) {
  load();
  const CudaGraph graph = capture(1);
  EXPECT_EQ(values(), four(0));
  const CudaGraphExec exec = instantiate(graph);
  size_t count = 1;
  CudaGraphNode node = nullptr;
  ASSERT_CUDA(cuda.cuGraphGetNodes(graph, &node, &count));
  ASSERT_EQ(count, 1U);
  CudaKernelNode parameters;
  ASSERT_CUDA(cuda.cuGraphKernelNodeGetParams(node, &parameters));
  ASSERT_CUDA(cuda.cuGraphLaunch(exec, stream));
  ASSERT_CUDA(cuda.cuGraphLaunch(exec, stream));
  EXPECT_EQ(values(), four(2));
  float larger = 10;
  void* arguments[] = {parameters.arguments[0], parameters.arguments[1], &larger};
  parameters.arguments = arguments;
  ASSERT_CUDA(cuda.cuGraphExecKernelNodeSetParams(exec, node, &parameters));
  ASSERT_CUDA(cuda.cuGraphLaunch(exec, stream));
  EXPECT_EQ(values(), four(12));
  const CudaGraph other = capture(100);
  CudaGraphUpdateInfo info;
  ASSERT_CUDA(cuda.cuGraphExecUpdate(exec, other, &info));
  ASSERT_CUDA(cuda.cuGraphLaunch(exec, stream));
  EXPECT_EQ(values(), four(112));
  ASSERT_CUDA(cuda.cuGraphDestroy(graph));
  ASSERT_CUDA(cuda.cuGraphDestroy(other));
  ASSERT_CUDA(cuda.cuGraphExecDestroy(exec));
  ASSERT_CUDA(cuda.cuLibraryUnload(library));
  ASSERT_CUDA(cuda.cuMemFree(address));
  ASSERT_CUDA(cuda.cuStreamDestroy(stream));
  EXPECT_EQ(end(), "");
}

TEST_F(CudaKernels, WhatCanNotBeCapturedEndsTheCapture) {
  load();
  CudaGraph graph = nullptr;
  CudaAddress more = 0;
  ASSERT_CUDA(cuda.cuStreamBeginCapture(stream, CudaCaptureMode::kThreadLocal));
  EXPECT_CUDA(STREAM_CAPTURE_UNSUPPORTED, cuda.cuMemAlloc(&more, 8));
  CudaCaptureState state = CudaCaptureState::kNone;
  ASSERT_CUDA(cuda.cuStreamIsCapturing(stream, &state));
  EXPECT_EQ(state, CudaCaptureState::kInvalidated);
  EXPECT_CUDA(STREAM_CAPTURE_INVALIDATED, launch(1));
  EXPECT_CUDA(STREAM_CAPTURE_INVALIDATED, cuda.cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(graph, nullptr);
  ASSERT_CUDA(cuda.cuStreamBeginCapture(stream, CudaCaptureMode::kThreadLocal));
  EXPECT_CUDA(STREAM_CAPTURE_UNSUPPORTED, cuda.cuStreamSynchronize(stream));
  EXPECT_CUDA(STREAM_CAPTURE_INVALIDATED, cuda.cuStreamEndCapture(stream, &graph));
  float pageable = 0;
  ASSERT_CUDA(cuda.cuStreamBeginCapture(stream, CudaCaptureMode::kThreadLocal));
  EXPECT_CUDA(STREAM_CAPTURE_UNSUPPORTED, cuda.cuMemcpyAsync(address, at(&pageable), 4, stream));
  EXPECT_CUDA(STREAM_CAPTURE_INVALIDATED, cuda.cuStreamEndCapture(stream, &graph));
  ASSERT_CUDA(launch(1));
  EXPECT_EQ(values(), four(1));
}

TEST_F(CudaKernels, StreamsJoinACaptureAndHaveToComeBack) {
  load();
  const CudaStream other = make_stream();
  const CudaEvent fork = make_event();
  const CudaEvent join = make_event();
  const auto record = [&](bool comes_back) {
    CudaGraph graph = nullptr;
    EXPECT_CUDA(SUCCESS, cuda.cuStreamBeginCapture(stream, CudaCaptureMode::kThreadLocal));
    EXPECT_CUDA(SUCCESS, cuda.cuEventRecord(fork, stream));
    EXPECT_CUDA(SUCCESS, cuda.cuStreamWaitEvent(other, fork, 0));
    EXPECT_CUDA(SUCCESS, cuda.cuMemsetD32Async(address, 0x40000000, 4, other));
    EXPECT_CUDA(SUCCESS, cuda.cuEventRecord(join, other));
    EXPECT_CUDA(CAPTURED_EVENT, cuda.cuEventQuery(join));
    if (comes_back) {
      EXPECT_CUDA(SUCCESS, cuda.cuStreamWaitEvent(stream, join, 0));
    }
    EXPECT_CUDA(SUCCESS, launch(1));
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph),
              comes_back ? CudaResult::SUCCESS : CudaResult::STREAM_CAPTURE_UNJOINED);
    return graph;
  };
  EXPECT_EQ(record(false), nullptr);
  const CudaGraphExec exec = instantiate(record(true));
  ASSERT_CUDA(cuda.cuGraphLaunch(exec, stream));
  EXPECT_EQ(values(), four(3));
}

TEST_F(CudaKernels, LaunchesOfOneGraphFollowEachOther) {
  load();
  const CudaStream other = make_stream();
  const CudaGraphExec exec = instantiate(capture(1));
  ASSERT_CUDA(cuda.cuStreamSynchronize(stream));
  control.set_stepped(true);
  const uint64_t before = control.operations(0);
  const CudaEvent event = make_event();
  control.hang_event(1);
  ASSERT_CUDA(cuda.cuEventRecord(event, stream));
  ASSERT_CUDA(cuda.cuGraphLaunch(exec, stream));
  ASSERT_CUDA(cuda.cuGraphLaunch(exec, other));
  EXPECT_FALSE(control.step());
  control.end_failures();
  while (control.step()) {
  }
  EXPECT_EQ(control.operations(0) - before, 3U);
}

TEST_F(CudaKernels, ACaptureThatIsToldToFailLeavesNothing) {
  load();
  CudaGraph graph = nullptr;
  control.fail_call("cuStreamEndCapture", 1, CudaResult::STREAM_CAPTURE_INVALIDATED);
  ASSERT_CUDA(cuda.cuStreamBeginCapture(stream, CudaCaptureMode::kThreadLocal));
  EXPECT_CUDA(STREAM_CAPTURE_INVALIDATED, cuda.cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(graph, nullptr);
  EXPECT_CUDA(SUCCESS, launch(1));
  const CudaStream other = make_stream();
  const CudaEvent event = make_event();
  ASSERT_CUDA(cuda.cuStreamBeginCapture(other, CudaCaptureMode::kGlobal));
  ASSERT_CUDA(cuda.cuEventRecord(event, other));
  ASSERT_CUDA(cuda.cuStreamDestroy(other));
  EXPECT_CUDA(CAPTURED_EVENT, cuda.cuStreamWaitEvent(stream, event, 0));
  EXPECT_CUDA(SUCCESS, cuda.cuMemFree(address));
}

}  // namespace
}  // namespace atl::test
