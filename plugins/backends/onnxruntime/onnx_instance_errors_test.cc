#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/request/sink_interposer.h"
#include "backends/onnxruntime/testing/instance_fixture.h"

namespace atl::ort::test {
namespace {

using atl::test::bytes_of;
using atl::test::decode_bytes_tensor;
using atl::test::values_of;
using testing::ElementsAre;
using testing::HasSubstr;

/// Remembers where memory was given, at any alignment.
class PlacingSink final : public SinkInterposer {
 public:
  PlacingSink(TestRequest& request, size_t offset) : offset_(offset) { interpose(*request); }
  virtual ~PlacingSink() = default;
  Status allocate(Response&, OutputTensor& output, uint64_t size_bytes, MemoryKind,
                  int64_t) noexcept override {
    output.buffer = Buffer{memory_ + offset_, size_bytes, kind};
    return {};
  }

  MemoryKind kind = MemoryKind::kCpu;

 private:
  alignas(64) char memory_[256] = {};
  size_t offset_;
};

TEST_F(OnnxInstanceTest, BytesWhoseLengthsLieAreRefusedAndSpoilNobody) {
  serve_identity(DataType::kBytes, {kBatch, 1}, "1", 8);
  TestRequest good, beyond, left_over, no_length;
  good.add_bytes_input("INPUT0", {1, 1}, {"good"});
  beyond.add_raw_input("INPUT0", DataType::kBytes, {1, 1},
                       std::string("\xff\xff\xff\x7f"
                                   "abcd",
                                   8));
  left_over.add_raw_input("INPUT0", DataType::kBytes, {1, 1},
                          std::string("\x01\0\0\0"
                                      "abc",
                                      7));
  no_length.add_raw_input("INPUT0", DataType::kBytes, {1, 1}, "abc");
  std::vector<TestRequest*> all = {&beyond, &good, &left_over, &no_length};
  for (TestRequest* request : all) {
    request->add_output("OUTPUT0");
    request->request().batch_size = 1;
  }
  execute(all);
  EXPECT_THAT(decode_bytes_tensor(output_bytes(good, "OUTPUT0")), ElementsAre("good"));
  EXPECT_EQ(beyond.response().code, Code::kInvalidArgument);
  EXPECT_THAT(beyond.response().message, HasSubstr("element 0 of 1: found 4 bytes, expected 2147483647"));
  EXPECT_THAT(left_over.response().message, HasSubstr("found 2 bytes after the last of its 1 elements"));
  EXPECT_THAT(no_length.response().message,
              HasSubstr("found 3 bytes, expected at least 4 for each of 1 elements"));
  EXPECT_EQ(reporter_.all().succeeded, 1u);
  EXPECT_EQ(reporter_.all().failed, 3u);
}

TEST_F(OnnxInstanceTest, AMisalignedResponseBufferIsFilledAllTheSame) {
  serve_identity(DataType::kFp32, {kBatch, 2}, "2", 8);
  for (size_t offset : {0, 1, 4}) {
    TestRequest request;
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
    request.add_output("OUTPUT0");
    request->batch_size = 1;
    PlacingSink sink(request, offset);
    execute({&request});
    EXPECT_THAT(values_of<float>(output_bytes(request, "OUTPUT0")), ElementsAre(1, 2));
  }
}

TEST_F(OnnxInstanceTest, GpuMemoryIsRefused) {
  serve_identity(DataType::kFp32, {kBatch, 2}, "2", 8);
  TestRequest input, output;
  for (TestRequest* request : {&input, &output}) {
    request->add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
    request->add_output("OUTPUT0");
    request->request().batch_size = 1;
  }
  Buffer gpu = input->inputs[0].buffers[0];
  gpu.kind = MemoryKind::kGpu;
  input->inputs[0].buffers = {&gpu, 1};
  execute({&input});
  EXPECT_THAT(input.response().message, HasSubstr("found GPU memory"));
  PlacingSink sink(output, 0);
  sink.kind = MemoryKind::kGpu;
  execute({&output});
  EXPECT_THAT(output.response().message, HasSubstr("output 'OUTPUT0': found a buffer in GPU memory"));
}

TEST_F(OnnxInstanceTest, AFailedAllocationFailsThatRequestOnly) {
  serve_identity(DataType::kFp32, {kBatch, 2}, "2", 8);
  TestRequest good, bad, alone;
  for (TestRequest* request : {&good, &bad, &alone}) {
    request->add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
    request->add_output("OUTPUT0");
    request->request().batch_size = 1;
  }
  bad.fail_allocations(Code::kResourceExhausted, "full");
  alone.fail_allocations(Code::kResourceExhausted, "full");
  execute({&good, &bad});
  execute({&alone});
  EXPECT_THAT(values_of<float>(output_bytes(good, "OUTPUT0")), ElementsAre(1, 2));
  for (TestRequest* request : {&bad, &alone}) {
    EXPECT_EQ(request->response().code, Code::kResourceExhausted);
    EXPECT_EQ(request->response().message, "full");
  }
}

TEST_F(OnnxInstanceTest, WrongInputsAreRefusedOneByOne) {
  serve(add_sub_graph(), kAddSubConfig);
  TestRequest good, missing, wrong_type, short_bytes, wrong_batch, negative;
  add_pair(good, {5, 6}, {1, 2});
  missing.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  wrong_type.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  wrong_type.add_input<int32_t>("INPUT1", DataType::kInt32, {1, 2}, {1, 2});
  short_bytes.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  short_bytes.add_input<float>("INPUT1", DataType::kFp32, {1, 2}, {1});
  wrong_batch.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  wrong_batch.add_input<float>("INPUT1", DataType::kFp32, {2, 2}, {1, 2, 3, 4});
  negative.add_input<float>("INPUT0", DataType::kFp32, {1, -2}, {1, 2});
  negative.add_input<float>("INPUT1", DataType::kFp32, {1, 2}, {1, 2});
  std::vector<TestRequest*> all = {&missing, &wrong_type, &good, &short_bytes, &wrong_batch, &negative};
  for (TestRequest* request : all) {
    request->add_output("OUTPUT0");
    request->request().batch_size = 1;
  }
  execute(all);
  EXPECT_THAT(values_of<float>(output_bytes(good, "OUTPUT0")), ElementsAre(6, 8));
  EXPECT_EQ(missing.response().message,
            "input 'INPUT1': found none, expected one: the model 'm' has no default for it");
  EXPECT_EQ(wrong_type.response().message, "input 'INPUT1': found datatype INT32, expected FP32");
  EXPECT_EQ(short_bytes.response().message, "input 'INPUT1': found 4 bytes, expected 8 for shape [1,2]");
  EXPECT_EQ(wrong_batch.response().message,
            "input 'INPUT1': found shape [2,2], expected the batch size 1 as first dimension");
  EXPECT_THAT(negative.response().message, HasSubstr("input 'INPUT0': found shape [1,-2]"));
  EXPECT_EQ(reporter_.all().succeeded, 1u);
  EXPECT_EQ(reporter_.all().failed, 5u);
}

TEST_F(OnnxInstanceTest, WhatTheRuntimeRefusesIsTheRequestsError) {
  serve_identity(DataType::kFp32, {kBatch, 2}, "2", 8);
  TestRequest a, b, fine;
  for (TestRequest* request : {&a, &b})
    request->add_input<float>("INPUT0", DataType::kFp32, {1, 3}, {1, 2, 3});
  fine.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  for (TestRequest* request : {&a, &b, &fine}) {
    request->add_output("OUTPUT0");
    request->request().batch_size = 1;
  }
  execute({&a, &fine, &b});
  for (TestRequest* request : {&a, &b}) {
    EXPECT_EQ(request->response().code, Code::kInvalidArgument);
    EXPECT_THAT(request->response().message,
                HasSubstr("model 'm': Got invalid dimensions for input: INPUT0"));
    EXPECT_EQ(request->response().outputs.size(), 0u);
  }
  EXPECT_THAT(values_of<float>(output_bytes(fine, "OUTPUT0")), ElementsAre(1, 2));
}

TEST_F(OnnxInstanceTest, AModelThatLosesRowsFailsItsRequests) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 2}).output("OUTPUT0", DataType::kFp32, {kAny, kAny});
  graph.initializer("KEEP", DataType::kBool, {3}, std::string("\1\0\1", 3));
  graph.node("Compress", {"INPUT0", "KEEP"}, {"OUTPUT0"}, {{"axis", 0}});
  serve(graph, R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: -1 })");
  TestRequest alone, a, b;
  alone.add_input<float>("INPUT0", DataType::kFp32, {3, 2}, {1, 2, 3, 4, 5, 6});
  a.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  b.add_input<float>("INPUT0", DataType::kFp32, {2, 2}, {3, 4, 5, 6});
  alone->batch_size = 3, a->batch_size = 1, b->batch_size = 2;
  for (TestRequest* request : {&alone, &a, &b}) request->add_output("OUTPUT0");
  execute({&alone});
  execute({&a, &b});
  EXPECT_NE(alone.response().code, Code::kOk);
  EXPECT_THAT(alone.response().message, HasSubstr("'OUTPUT0'"));
  for (TestRequest* request : {&a, &b}) {
    EXPECT_EQ(request->response().code, Code::kInternal);
    EXPECT_EQ(
        request->response().message,
        "output 'OUTPUT0': found shape [2,2] from the model, expected the batch size 3 as first dimension");
  }
}

}  // namespace
}  // namespace atl::ort::test
