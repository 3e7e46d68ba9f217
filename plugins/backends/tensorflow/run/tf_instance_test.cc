#include "backends/tensorflow/run/tf_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "backends/tensorflow/testing/tf_fixture.h"

namespace atl::tensorflow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using TfInstanceTest = TensorFlowTest;

void fill_sum(TestRequest& request, float x, int64_t rows = 1) {
  request.request().batch_size = static_cast<uint32_t>(rows);
  request.add_input<float>("A", DataType::kFp32, {rows, 2},
                           std::vector<float>(static_cast<size_t>(rows) * 2, x));
  request.add_input<float>("B", DataType::kFp32, {rows, 2},
                           std::vector<float>(static_cast<size_t>(rows) * 2, 1));
  request.add_output("OUTPUT");
}

TEST_F(TfInstanceTest, RequestsAreJoinedAndResultsCut) {
  write_saved_model(version(), sum_model());
  serve();
  TestRequest one, two;
  fill_sum(one, 1);
  fill_sum(two, 5, 2);
  execute({&one, &two});
  EXPECT_THAT(values<float>(one), ElementsAre(2, 2));
  EXPECT_THAT(values<float>(two), ElementsAre(6, 6, 6, 6));
}

TEST_F(TfInstanceTest, ABadRequestDoesNotSpoilAGoodOne) {
  write_saved_model(version(), sum_model());
  serve();
  TestRequest good, bad;
  fill_sum(good, 1);
  bad.add_input<float>("A", DataType::kFp32, {1, 2}, {1, 2});
  bad.add_input<float>("B", DataType::kFp32, {1, 3}, {1, 2, 3});
  bad.add_output("OUTPUT");
  execute({&bad, &good});
  EXPECT_THAT(values<float>(good), ElementsAre(2, 2));
  EXPECT_THAT(bad.response().message, HasSubstr("model 'm': Incompatible shapes"));
}

TEST_F(TfInstanceTest, OnlyTheFirstLineOfAFailureIsTold) {
  // The graph has a second placeholder that no input of the signature feeds.
  write_saved_model(
      version(),
      saved_model(meta_graph(
          {"serve"},
          placeholder("a", kFloat, {-1}) + placeholder("b", kFloat, {-1}) + sum("c", "a", "b", kFloat),
          signature("serving_default",
                    tensor(1, "A", "a:0", kFloat, {-1}) + tensor(2, "OUTPUT", "c:0", kFloat, {-1})))));
  serve("input { name: 'A' data_type: TYPE_FP32 dims: -1 }");
  TestRequest request;
  request.add_input<float>("A", DataType::kFp32, {1}, {1});
  request.add_output("OUTPUT");
  execute({&request});
  const std::string message = request.response().message;
  EXPECT_THAT(message, testing::StartsWith("model 'm': You must feed a value for placeholder tensor 'b'"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST_F(TfInstanceTest, TextsKeepBytesThatAreZero) {
  write_saved_model(version(), identity_model(kText, {-1, 2}));
  serve();
  const std::vector<std::string> words = {std::string("a\0b", 3), "", std::string(500, '\xff'), "z"};
  TestRequest one, two;
  one.add_bytes_input("INPUT", {1, 2}, {words[0], words[1]});
  two.add_bytes_input("INPUT", {1, 2}, {words[2], words[3]});
  for (TestRequest* request : {&one, &two}) request->add_output("OUTPUT");
  execute({&one, &two});
  EXPECT_EQ(bytes(one), atl::test::encode_bytes_tensor({words[0], words[1]}));
  EXPECT_EQ(bytes(two), atl::test::encode_bytes_tensor({words[2], words[3]}));
}

TEST_F(TfInstanceTest, AScalarIsOneElement) {
  write_saved_model(version(), identity_model(kInt32, {}));
  serve();
  EXPECT_EQ(completed_config("").input(0).dims(0), 1);
  TestRequest request;
  request.add_input<int32_t>("INPUT", DataType::kInt32, {1}, {42});
  request.add_output("OUTPUT");
  execute({&request});
  EXPECT_THAT(values<int32_t>(request), ElementsAre(42));
  EXPECT_THAT(request.response().find("OUTPUT")->shape, ElementsAre(1));
}

TEST_F(TfInstanceTest, AnUnknownRankTakesWhatTheConfigurationSays) {
  write_saved_model(version(), identity_model(kFloat, kUnknownRank));
  serve(
      "max_batch_size: 2 input { name: 'INPUT' data_type: TYPE_FP32 dims: [ -1, 2 ] } "
      "output { name: 'OUTPUT' data_type: TYPE_FP32 dims: [ -1, 2 ] }");
  TestRequest request;
  request.add_input<float>("INPUT", DataType::kFp32, {1, 2, 2}, {1, 2, 3, 4});
  request.add_output("OUTPUT");
  execute({&request});
  EXPECT_THAT(values<float>(request), ElementsAre(1, 2, 3, 4));
}

TEST_F(TfInstanceTest, NothingOfAnEmptyTensorIsRead) {
  write_saved_model(version(), identity_model(kFloat, {-1, -1}));
  serve();
  TestRequest request;
  request.add_input<float>("INPUT", DataType::kFp32, {1, 0}, {});
  request.add_output("OUTPUT");
  execute({&request});
  EXPECT_EQ(bytes(request), "");
}

TEST_F(TfInstanceTest, AMissingInputIsNamed) {
  write_saved_model(version(), sum_model());
  serve();
  TestRequest request;
  request.add_input<float>("A", DataType::kFp32, {1, 2}, {1, 2});
  request.add_output("OUTPUT");
  execute({&request});
  EXPECT_THAT(request.response().message, HasSubstr("input 'B': found none, expected one"));
}

TEST_F(TfInstanceTest, InstancesShareASessionAndRunSideBySide) {
  write_saved_model(version(), sum_model());
  serve();
  std::vector<std::unique_ptr<BackendInstance>> instances;
  for (int i = 0; i < 2; ++i) instances.push_back(make_instance().value());
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> found(2);
  for (size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < 50; ++n) {
        TestRequest request;
        fill_sum(request, static_cast<float>(t));
        request.mark_accepted();
        Request* raw = &request.request();
        Batch batch{.requests = {&raw, 1}, .total_batch_size = 1};
        if (instances[t]->execute(batch).ok()) found[t] = values<float>(request);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(found[0], ElementsAre(1, 1));
  EXPECT_THAT(found[1], ElementsAre(2, 2));
}

TEST_F(TfInstanceTest, KindGpuIsRefusedUnlessTheOptionSaysOtherwise) {
  write_saved_model(version(), sum_model());
  ASSERT_TRUE(load().ok());
  EXPECT_THAT(make_instance(InstanceKind::kGpu).status().text(), HasSubstr("gpu_instances_on_cpu"));
  backend_.open({library()}, {.gpu_instances_on_cpu = true});
  ASSERT_TRUE(load().ok());
  EXPECT_TRUE(make_instance(InstanceKind::kGpu).ok());
}

}  // namespace
}  // namespace atl::tensorflow::test
