#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backends/onnxruntime/testing/instance_fixture.h"

namespace atl::ort::test {
namespace {

using atl::test::values_of;
using testing::ElementsAre;

/// LEFT -> REST = LEFT - 1, DONE = REST < 1. COUNT is as many elements as REST says.
OnnxGraph countdown_graph(DataType done_type = DataType::kBool, OnnxGraph::Dims done_dims = {kBatch, 1}) {
  OnnxGraph graph;
  graph.input("LEFT", DataType::kFp32, {kBatch, 1}).output("REST", DataType::kFp32, {kBatch, 1});
  graph.output("DONE", done_type, done_dims);
  graph.initializer("ONE", DataType::kFp32, {1}, atl::test::bytes_of<float>({1}));
  graph.node("Sub", {"LEFT", "ONE"}, {"REST"});
  if (done_type != DataType::kBool) return graph.node("Identity", {"REST"}, {"DONE"});
  if (done_dims.size() == 2) return graph.node("Less", {"REST", "ONE"}, {"DONE"});
  graph.initializer("AXIS", DataType::kInt64, {1}, atl::test::bytes_of<int64_t>({1}));
  return graph.node("Less", {"REST", "ONE"}, {"rows"}).node("Squeeze", {"rows", "AXIS"}, {"DONE"});
}

const char kTensors[] = R"(max_batch_size: 8 input { name: 'LEFT' data_type: TYPE_FP32 dims: 1 }
  output { name: 'REST' data_type: TYPE_FP32 dims: 1 } )";
const char kIterative[] = "sequence_batching { iterative_sequence: true } ";
const char kDecoupled[] = "model_transaction_policy { decoupled: true } ";

std::string ends_with(const std::string& output) {
  return cat("parameters { key: 'iteration_end_output' value { string_value: '", output, "' } } ");
}

/// Counts the requests that are given back.
struct Taker final : Rescheduler {
  Status reschedule(Request& request) noexcept override {
    if (refuses) return unavailable("stopped");
    taken.push_back(&request);
    return {};
  }
  bool refuses = false;
  std::vector<Request*> taken;
};

class OnnxIterationTest : public OnnxInstanceTest {
 protected:
  void ask(TestRequest& request, float left, std::string_view output = "REST") {
    request.add_input<float>("LEFT", DataType::kFp32, {1, 1}, {left});
    request.add_output(output);
    request->batch_size = 1;
    request->rescheduler = &taker_;
    request.mark_accepted();
  }
  /// What a scheduler does with implicit state, and with the rows that are not finished.
  void set_left(TestRequest& request, float left) {
    std::memcpy(request->find_input("LEFT")->buffers[0].data, &left, sizeof left);
  }
  void run(const std::vector<TestRequest*>& requests) {
    std::vector<Request*> raw;
    for (TestRequest* request : requests) raw.push_back(&request->request());
    ASSERT_TRUE(instance_->execute({raw, static_cast<uint32_t>(raw.size())}).ok());
    for (TestRequest* request : requests) EXPECT_EQ(request->problems(), std::vector<std::string>());
  }
  Taker taker_;
};

TEST_F(OnnxIterationTest, OnlyWhoIsNotFinishedGoesBack) {
  serve(countdown_graph(), cat(kTensors, kIterative, ends_with("DONE")));
  TestRequest a, b, c;
  ask(a, 2), ask(b, 1), ask(c, 3);
  run({&a, &b, &c});
  EXPECT_THAT(taker_.taken, ElementsAre(&*a, &*c));
  EXPECT_TRUE(b.done());
  EXPECT_THAT(values_of<float>(output_bytes(b, "REST")), ElementsAre(0));
  EXPECT_EQ(b.response().outputs.size(), 1u) << "DONE was not asked for";
  EXPECT_FALSE(a.got_final() || a.got_release() || c.got_final() || c.got_release());
  EXPECT_EQ(reporter_.all().succeeded, 1u);
  set_left(a, 1), set_left(c, 2);
  run({&c, &a});
  EXPECT_THAT(taker_.taken, ElementsAre(&*a, &*c, &*c));
  EXPECT_EQ(a.responses().size(), 1u) << "what it was given before is dropped";
  set_left(c, 1);
  run({&c});
  EXPECT_TRUE(a.done() && c.done());
  EXPECT_EQ(reporter_.all().succeeded, 3u);
  EXPECT_THAT(reporter_.batches(), ElementsAre(3u, 2u, 1u));
}

TEST_F(OnnxIterationTest, ADecoupledRequestGetsAResponseAStep) {
  // The second graph has one dimension only, that of the batch.
  for (const auto& dims : {OnnxGraph::Dims{kBatch, 1}, OnnxGraph::Dims{kBatch}}) {
    serve(countdown_graph(DataType::kBool, dims), cat(kTensors, kIterative, kDecoupled, ends_with("DONE")));
    taker_.taken.clear();
    TestRequest request;
    ask(request, 3);
    for (float left : {3.f, 2.f, 1.f}) {
      set_left(request, left);
      run({&request});
    }
    EXPECT_EQ(taker_.taken.size(), 2u);
    auto responses = request.responses();
    ASSERT_EQ(responses.size(), 4u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_THAT(values_in<float>(responses[i], "REST"), ElementsAre(2 - static_cast<float>(i)));
      EXPECT_FALSE(responses[i].final());
    }
    EXPECT_TRUE(responses[3].empty && responses[3].final());
    EXPECT_TRUE(request.done());
  }
}

TEST_F(OnnxIterationTest, TheOutputThatEndsCanBeAskedFor) {
  serve(countdown_graph(), cat(kTensors, "output { name: 'DONE' data_type: TYPE_BOOL dims: 1 } ", kIterative,
                               kDecoupled, ends_with("DONE")));
  TestRequest request;
  ask(request, 2, "DONE");
  run({&request});
  set_left(request, 1);
  run({&request});
  auto responses = request.responses();
  ASSERT_EQ(responses.size(), 3u);
  EXPECT_THAT(values_in<uint8_t>(responses[0], "DONE"), ElementsAre(0));
  EXPECT_THAT(values_in<uint8_t>(responses[1], "DONE"), ElementsAre(1));
}

TEST_F(OnnxIterationTest, AFailureEndsARequest) {
  serve(countdown_graph(), cat(kTensors, kIterative, kDecoupled, ends_with("DONE")));
  TestRequest no_memory, not_taken, not_iterative;
  for (TestRequest* request : {&no_memory, &not_taken, &not_iterative}) ask(*request, 5);
  no_memory.fail_allocations(Code::kResourceExhausted, "no memory");
  not_iterative->rescheduler = nullptr;
  taker_.refuses = true;
  run({&no_memory, &not_taken, &not_iterative});
  EXPECT_EQ(no_memory.response().message, "no memory");
  EXPECT_EQ(not_taken.responses().back().message, "stopped");
  EXPECT_EQ(not_iterative.responses().back().code, Code::kInvalidArgument);
  EXPECT_TRUE(no_memory.done() && not_taken.done() && not_iterative.done());
  EXPECT_EQ(reporter_.all().failed, 3u);
}

TEST_F(OnnxIterationTest, WithoutTheParameterEachRequestIsAnsweredAtOnce) {
  serve(countdown_graph(), cat(kTensors, kIterative));
  TestRequest request;
  ask(request, 5);
  run({&request});
  EXPECT_TRUE(request.done());
  EXPECT_THAT(taker_.taken, ElementsAre());
}

TEST_F(OnnxIterationTest, AWrongParameterIsRefused) {
  const std::string found = "unable to load model 'm', parameter 'iteration_end_output': found ";
  write(countdown_graph().file());
  EXPECT_EQ(load(cat(kTensors, ends_with("DONE"))).text(),
            cat(found, "'DONE', expected no such parameter without sequence_batching.iterative_sequence: no ",
                "other scheduler takes requests back"));
  EXPECT_EQ(load(cat(kTensors, "sequence_batching { } ", ends_with("DONE"))).code(), Code::kInvalidArgument);
  EXPECT_EQ(load(cat(kTensors, kIterative, ends_with("END"))).text(),
            cat(found, "'END', expected one of the outputs: REST, DONE"));
  EXPECT_EQ(load(cat(kTensors, kIterative, ends_with("REST"))).text(),
            cat(found, "'REST' of datatype FP32, expected BOOL"));
  OnnxGraph graph = countdown_graph();
  graph.output("WIDE", DataType::kBool, {kBatch, 2}).output("TURNED", DataType::kBool, {1, kBatch});
  graph.node("Concat", {"DONE", "DONE"}, {"WIDE"}, {{"axis", 1}}).node("Transpose", {"DONE"}, {"TURNED"});
  write(graph.file());
  EXPECT_EQ(load(cat(kTensors, kIterative, ends_with("WIDE"))).text(),
            cat(found, "'WIDE' with shape [-1,2], expected [-1,1]: one element a request"));
  EXPECT_EQ(load(cat(kTensors, kIterative, ends_with("TURNED"))).text(),
            cat(found, "'TURNED' with shape [1,-1], expected [-1,1]: one element a request"));
}

}  // namespace
}  // namespace atl::ort::test
