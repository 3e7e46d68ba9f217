#include "backends/tensorflow/tf_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/tensorflow/testing/tf_fixture.h"

namespace atl::tensorflow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using TfBackendTest = TensorFlowTest;

constexpr char kGraphConfig[] =
    "platform: 'tensorflow_graphdef' max_batch_size: 2 input { name: 'a' data_type: TYPE_FP32 dims: 2 } "
    "input { name: 'b:0' data_type: TYPE_FP32 dims: 2 } output { name: 'OUTPUT' data_type: TYPE_FP32 dims: 2 }";

std::string graph(const Dims& dims = {-1, 2}) {
  return placeholder("a", kFloat, dims) + placeholder("b", kFloat, dims) + sum("OUTPUT", "a", "b", kFloat);
}

TEST_F(TfBackendTest, AConfigurationIsCompletedWithoutTheLibrary) {
  write_saved_model(version(), sum_model());
  backend_.open({}, {});
  const inference::ModelConfig config = completed_config("");
  EXPECT_EQ(config.max_batch_size(), 4);
  EXPECT_TRUE(config.has_dynamic_batching());
  ASSERT_EQ(config.input_size(), 2);
  EXPECT_EQ(config.input(1).name(), "B");
  EXPECT_EQ(config.output(0).name(), "OUTPUT");
}

TEST_F(TfBackendTest, AGraphDefIsServedByTheNamesOfTheConfiguration) {
  write_file(version() / "model.graphdef", graph());
  serve(kGraphConfig);
  TestRequest request;
  request.add_input<float>("a", DataType::kFp32, {1, 2}, {1, 2});
  request.add_input<float>("b:0", DataType::kFp32, {1, 2}, {10, 20});
  request.add_output("OUTPUT");
  execute({&request});
  EXPECT_THAT(values<float>(request), ElementsAre(11, 22));
}

TEST_F(TfBackendTest, AGraphDefThatDoesNotFitIsRefused) {
  write_file(version() / "model.graphdef", graph());
  EXPECT_THAT(load("platform: 'tensorflow_graphdef'").text(), HasSubstr("a GraphDef does not say them"));
  EXPECT_THAT(load("platform: 'tensorflow_graphdef' input { name: 'OUTPUT' data_type: TYPE_FP32 dims: 2 } "
                   "output { name: 'OUTPUT' data_type: TYPE_FP32 dims: 2 }")
                  .text(),
              HasSubstr("unexpected inference input 'OUTPUT': it is no placeholder"));
  EXPECT_THAT(load("platform: 'tensorflow_graphdef' input { name: 'c' data_type: TYPE_FP32 dims: 2 } "
                   "output { name: 'OUTPUT' data_type: TYPE_FP32 dims: 2 }")
                  .text(),
              HasSubstr("there is no operation 'c'"));
  write_file(version() / "model.graphdef", "no graph");
  EXPECT_THAT(load(kGraphConfig).text(), HasSubstr("model.graphdef': Invalid GraphDef"));
}

TEST_F(TfBackendTest, TagsAndSignaturesAreChosen) {
  const std::string nodes =
      placeholder("x", kFloat, {2}) + identity("y", "x", kFloat) + sum("z", "x", "x", kFloat);
  const auto signature_to = [](const std::string& name, const std::string& place) {
    return signature(name, tensor(1, "INPUT", "x:0", kFloat, {2}) + tensor(2, "OUTPUT", place, kFloat, {2}));
  };
  write_saved_model(version(), saved_model(meta_graph({"serve"}, nodes,
                                                      signature_to("serving_default", "y:0") +
                                                          signature_to("twice", "z:0")) +
                                           meta_graph({"train", "gpu"}, nodes, signature_to("only", "z:0"))));
  const auto answer = [&](const std::string& config) {
    serve(config);
    TestRequest request;
    request.add_input<float>("INPUT", DataType::kFp32, {2}, {1, 2});
    request.add_output("OUTPUT");
    execute({&request});
    return values<float>(request);
  };
  EXPECT_THAT(answer(""), ElementsAre(1, 2));
  EXPECT_THAT(answer("parameters { key: 'TF_SIGNATURE_DEF' value { string_value: 'twice' } }"),
              ElementsAre(2, 4));
  EXPECT_THAT(answer("parameters { key: 'TF_GRAPH_TAG' value { string_value: 'train' } }"),
              ElementsAre(2, 4));
  EXPECT_THAT(load("parameters { key: 'TF_SIGNATURE_DEF' value { string_value: 'none' } }").text(),
              HasSubstr("found 'none', expected a signature of the model: 'serving_default', 'twice'"));
}

TEST_F(TfBackendTest, InitOperationsAreRunOnce) {
  const std::string one("\0\0\x80\x3f", 4);
  write_saved_model(
      version(),
      saved_model(meta_graph(
          {"serve"},
          placeholder("x", kFloat, {}) + variable("v", kFloat, {}) + constant("one", kFloat, {}, one) +
              assign("init", "v", "one", kFloat) + sum("y", "x", "v", kFloat),
          signature("serving_default",
                    tensor(1, "INPUT", "x:0", kFloat, {}) + tensor(2, "OUTPUT", "y:0", kFloat, {})))));
  const std::string parameter = "parameters { key: 'TF_INIT_OPS_FILE' value { string_value: 'init.json' } }";
  EXPECT_THAT(load(parameter).text(), HasSubstr("there is no file 'init.json'"));
  write_file(version() / "init.json", R"({"init_ops": ["none"]})");
  EXPECT_THAT(load(parameter).text(), HasSubstr("init_ops: found 'none'"));
  write_file(version() / "init.json", R"({"init_ops": ["init"]})");
  serve(parameter);
  TestRequest request;
  request.add_input<float>("INPUT", DataType::kFp32, {1}, {41});
  request.add_output("OUTPUT");
  execute({&request});
  EXPECT_THAT(values<float>(request), ElementsAre(42));
}

TEST_F(TfBackendTest, AnInputWithADefaultMayBeLeftOut) {
  const std::string one("\0\0\x80\x3f", 4);
  const std::string with_default =
      node("x", "PlaceholderWithDefault", {"one"},
           type_attribute("dtype", kFloat) + map_entry(5, "shape", bytes_field(7, shape({}))));
  write_saved_model(
      version(), saved_model(meta_graph(
                     {"serve"}, constant("one", kFloat, {}, one) + with_default + identity("y", "x", kFloat),
                     signature("serving_default", tensor(1, "INPUT", "x:0", kFloat, {}) +
                                                      tensor(2, "OUTPUT", "y:0", kFloat, {})))));
  serve("input { name: 'INPUT' data_type: TYPE_FP32 dims: 1 optional: true }");
  TestRequest request;
  request.add_output("OUTPUT");
  execute({&request});
  EXPECT_THAT(values<float>(request), ElementsAre(1));
}

TEST_F(TfBackendTest, LibrariesOfOperationsAreLoaded) {
  write_saved_model(version(), sum_model());
  write_file(folder_.path() / "ops.so", "operations");
  // The file is one for the double, and none for TensorFlow.
  const bool is_double = library() == ATOLL_TENSORFLOW_DOUBLE;
  EXPECT_THAT(load("model_operations { op_library_filename: 'ops.so' }").text(),
              HasSubstr(is_double ? "OK" : "op_library_filename 'ops.so': "));
  write_file(folder_.path() / "bad.so", "none");
  EXPECT_THAT(load("model_operations { op_library_filename: 'bad.so' }").text(),
              HasSubstr("op_library_filename 'bad.so'"));
}

TEST_F(TfBackendTest, WhatIsNoSavedModelIsRefused) {
  EXPECT_EQ(load().code(), Code::kNotFound);
  write_file(version() / "model.savedmodel" / "saved_model.pbtxt", "x");
  EXPECT_THAT(load().text(), HasSubstr("found saved_model.pbtxt, expected saved_model.pb"));
  write_saved_model(version(), "\xff\xff");
  EXPECT_THAT(load().text(), HasSubstr("found bytes that are no message, expected a SavedModel"));
  write_saved_model(version(), sum_model());
  EXPECT_EQ(load().text(), "OK");
}

TEST_F(TfBackendTest, ASignatureThatNamesNothingOfTheGraphIsRefused) {
  write_saved_model(
      version(),
      saved_model(meta_graph({"serve"}, placeholder("x", kFloat, {2}),
                             signature("serving_default", tensor(1, "INPUT", "x:0", kFloat, {2}) +
                                                              tensor(2, "OUTPUT", "gone:0", kFloat, {2})))));
  EXPECT_THAT(load().text(),
              HasSubstr("unable to load model 'm', tensor 'OUTPUT': there is no operation 'gone'"));
}

TEST_F(TfBackendTest, TheFilesOfAModelAreItsMemory) {
  write_saved_model(version(), sum_model());
  write_file(version() / "model.savedmodel" / "variables" / "variables.data", std::string(1000, 'x'));
  ASSERT_TRUE(load().ok());
  ASSERT_EQ(model_->memory_usage().size(), 1u);
  EXPECT_EQ(model_->memory_usage()[0].size_bytes, sum_model().size() + 1000);
}

}  // namespace
}  // namespace atl::tensorflow::test
