#include "backends/cuda/pipeline/captured_graph.h"

#include "backends/cuda/testing/device_sink.h"
#include "backends/cuda/testing/gpu_bench.h"

namespace atl::cuda_backend {
namespace {

using namespace test;  // NOLINT

constexpr const char* kGraphs = "optimization { cuda { graphs: true } }";

class GraphTest : public ::testing::Test {
 protected:
  Status load(const std::string& more, const std::string& pipeline = kScalePipeline) {
    return bench.load(files.add("scale", kScaleConfig + more, pipeline));
  }
  /// Rows that are computed right; \returns launches of graphs and of kernels.
  std::pair<uint64_t, uint64_t> launches_of(uint32_t rows) {
    const uint64_t graphs = bench.driver().calls("cuGraphLaunch"),
                   kernels = bench.driver().calls("cuLaunchKernel");
    TestRequest request("r");
    fill_scale(request, 3, rows);
    EXPECT_TRUE(bench.run({&request}).ok());
    EXPECT_EQ(floats_of(request.response()), scaled(3, rows)) << request.response().message;
    return {bench.driver().calls("cuGraphLaunch") - graphs, bench.driver().calls("cuLaunchKernel") - kernels};
  }
  static constexpr std::pair<uint64_t, uint64_t> kByGraph{1, 0}, kByKernel{0, 1};

  ModelFiles files;
  GpuBench bench;
};

TEST_F(GraphTest, EachSizeThatIsNotNamedHasOne) {
  ASSERT_TRUE(load(kGraphs).ok());
  EXPECT_EQ(bench.driver().calls("cuGraphInstantiateWithParams"), 4u);  // 1, 2, 3, 4
  for (const uint32_t rows : {1u, 2u, 3u, 4u}) EXPECT_EQ(launches_of(rows), kByGraph);
  for (const char* warning : {"unable to record"}) EXPECT_FALSE(bench.host.log().contains(warning));
}

TEST_F(GraphTest, PreferredSizesHaveThemWithADynamicBatcher) {
  ASSERT_TRUE(load(cat(kGraphs, "dynamic_batching { preferred_batch_size: [2] }")).ok());
  EXPECT_EQ(bench.driver().calls("cuGraphInstantiateWithParams"), 3u);  // 1, 2, 4
}

TEST_F(GraphTest, ABatchIsRoundedUpWhereTheFileAllowsIt) {
  const std::string spec = "optimization { cuda { graphs: true graph_spec { batch_size: 3 } } }";
  ASSERT_TRUE(load(spec).ok());
  for (const uint32_t rows : {1u, 2u, 3u}) EXPECT_EQ(launches_of(rows), kByGraph);
  EXPECT_EQ(launches_of(4), kByKernel);
  ASSERT_TRUE(load(spec, std::string(kScalePipeline).replace(0, 17, "pad_batch = false")).ok());
  EXPECT_EQ(launches_of(2), kByKernel);
  EXPECT_EQ(launches_of(3), kByGraph);
}

TEST_F(GraphTest, ALowerBoundEndsRounding) {
  ASSERT_TRUE(
      load(
          "optimization { cuda { graphs: true graph_spec { batch_size: 4 graph_lower_bound { batch_size: 3 } } } }")
          .ok());
  EXPECT_EQ(launches_of(3), kByGraph);
  EXPECT_EQ(launches_of(2), kByKernel);
}

TEST_F(GraphTest, DeviceMemoryIsCopiedToWhatAGraphKnows) {
  ASSERT_TRUE(load(kGraphs).ok());
  const DeviceBytes from(bench.memory, bytes_of<float>({1, 2, 3, 4})),
      to(bench.memory, std::string(16, '\0'));
  TestRequest request("r");
  DeviceSink sink(request, bench.memory);
  fill_scale(request, 0);
  set_buffers(request, request->inputs[0], {from.buffer()});
  request->outputs[0].placement = to.buffer();
  ASSERT_TRUE(bench.run({&request}).ok());
  EXPECT_EQ(floats_of(request.response()), scaled(1));
  EXPECT_EQ(bench.driver().calls("cuGraphLaunch"), 1u);
}

TEST_F(GraphTest, WhatCanNotBeCapturedRunsWithout) {
  for (const char* call :
       {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithParams", "cuGraphUpload"}) {
    SCOPED_TRACE(call);
    bench.driver().fail_call(call, 0, CudaResult::STREAM_CAPTURE_INVALIDATED);
    ASSERT_TRUE(load(kGraphs).ok());
    bench.driver().end_failures();
    EXPECT_TRUE(bench.host.log().contains("unable to record CUDA graph for scale: batch size 1: GPU 0: "));
    EXPECT_EQ(launches_of(2), kByKernel);
  }
}

TEST_F(GraphTest, ModelsOfVariableShapesNeedThemSaid) {
  ASSERT_TRUE(bench.load(files.add("bytes", cat(kCopyConfig, kGraphs), kCopyPipeline)).ok());
  EXPECT_TRUE(bench.host.log().contains(
      "unable to record CUDA graph for bytes: batch size 1: the shapes of its inputs vary"));
  const std::string spec =
      "optimization { cuda { graphs: true graph_spec { input { key: 'INPUT0' value { dim: 5 } } } } }";
  ASSERT_TRUE(bench.load(files.add("bytes", kCopyConfig + spec, kCopyPipeline)).ok());
  const auto send = [&](const std::string& bytes) {
    const uint64_t graphs = bench.driver().calls("cuGraphLaunch");
    TestRequest request("r");
    request.add_raw_input("INPUT0", DataType::kUint8, {static_cast<int64_t>(bytes.size())}, bytes);
    request.add_output("OUTPUT0");
    EXPECT_TRUE(bench.run({&request}).ok());
    EXPECT_EQ(request.response().find("OUTPUT0")->bytes, bytes);
    return bench.driver().calls("cuGraphLaunch") - graphs;
  };
  EXPECT_EQ(send("12345"), 1u);
  EXPECT_EQ(send("1234"), 0u);
  EXPECT_EQ(send(std::string(100000, 'x')), 0u) << "the memory moves";
  EXPECT_EQ(send("12345"), 0u) << "the graph knew the old address";
}

TEST_F(GraphTest, SizesThatTheModelHasNotAreRefused) {
  EXPECT_EQ(
      load("optimization { cuda { graphs: true graph_spec { batch_size: 5 } } }").message(),
      "unable to load model 'scale': optimization.cuda.graph_spec: found batch_size 5, expected at most "
      "max_batch_size, 4");
  EXPECT_EQ(
      load("optimization { cuda { graphs: true graph_spec { input { key: 'X' value { dim: 5 } } } } }")
          .message(),
      "unable to load model 'scale': optimization.cuda.graph_spec: found input 'X', which the model has not");
}

}  // namespace
}  // namespace atl::cuda_backend
