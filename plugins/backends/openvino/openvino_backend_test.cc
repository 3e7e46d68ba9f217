#include "backends/openvino/openvino_backend.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "backends/openvino/sequence_runs.h"
#include "backends/openvino/testing/backend_fixture.h"

namespace atl::openvino::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string parameter(const std::string& key, const std::string& value) {
  return cat(" parameters { key: '", key, "' value { string_value: '", value, "' } }");
}

void add_pair(TestRequest& request, const std::vector<float>& a, const std::vector<float>& b) {
  const auto rows = static_cast<int64_t>(a.size() / 3);
  request.add_input("INPUT0", DataType::kFp32, {rows, 3}, a);
  request.add_input("INPUT1", DataType::kFp32, {rows, 3}, b);
  request.add_output("OUTPUT0");
  request->batch_size = static_cast<uint32_t>(rows);
}

TEST_F(OpenVinoTest, CompletesAModelThatBatches) {
  const std::string text = completed(kAddModel, "");
  EXPECT_THAT(text, HasSubstr("max_batch_size: 4"));
  EXPECT_THAT(text, HasSubstr("input { name: \"INPUT0\" data_type: TYPE_FP32 dims: 3 }"));
  EXPECT_THAT(text, HasSubstr("output { name: \"OUTPUT0\" data_type: TYPE_FP32 dims: 3 }"));
  EXPECT_THAT(text, HasSubstr("dynamic_batching {"));
}

TEST_F(OpenVinoTest, WhatIsWrittenStays) {
  EXPECT_THAT(completed(kAddModel, "max_batch_size: 7"), HasSubstr("max_batch_size: 7"));
  EXPECT_THAT(completed(kAddModel, "output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: -1 }"),
              HasSubstr("output { name: \"OUTPUT0\" data_type: TYPE_FP32 dims: -1 }"));
}

TEST_F(OpenVinoTest, AFixedDimensionStaysFixed) {
  const std::string text = completed("<net>\ninput A 4 2,-1,5\noutput B 4 -1,7\nop identity\n</net>", "");
  EXPECT_THAT(text, HasSubstr("input { name: \"A\" data_type: TYPE_FP32 dims: 2 dims: -1 dims: 5 }"));
  EXPECT_THAT(text, HasSubstr("output { name: \"B\" data_type: TYPE_FP32 dims: -1 dims: 7 }"));
  EXPECT_THAT(text, Not(HasSubstr("max_batch_size")));
}

TEST_F(OpenVinoTest, BatchesOfAModelWithoutBatchesAreRefused) {
  const std::string text =
      completed("<net>\ninput A 4 2,5\noutput B 4 2,5\nop identity\n</net>", "max_batch_size: 4");
  EXPECT_THAT(text, HasSubstr("does not support batching"));
}

TEST_F(OpenVinoTest, AScalarIsOneElement) {
  EXPECT_THAT(completed("<net>\ninput A 4\noutput B 4\nop identity\n</net>", ""),
              HasSubstr("input { name: \"A\" data_type: TYPE_FP32 dims: 1 }"));
}

TEST_F(OpenVinoTest, TypesThatTheProtocolHasNotAreRefused) {
  EXPECT_THAT(completed("<net>\ninput A 6 2\noutput B 6 2\nop identity\n</net>", ""),
              HasSubstr("tensor 'A' is of OpenVINO's element type 6"));
}

TEST_F(OpenVinoTest, AConfigurationThatContradictsIsRefused) {
  const auto refused = [&](const std::string& config) { return load(kAddModel, config).text(); };
  EXPECT_THAT(refused("max_batch_size: 4 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 3 }"
                      "output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 3 }"),
              HasSubstr("found 1 inputs in the configuration, expected 2 as in the model: INPUT0, INPUT1"));
  std::string config = kAddConfig;
  config.replace(config.find("dims: 3"), 7, "dims: 4");
  EXPECT_THAT(refused(config), HasSubstr("input 'INPUT0': found shape [-1,4] in the configuration"));
  config = kAddConfig;
  config.replace(config.find("FP32"), 4, "FP16");
  EXPECT_THAT(refused(config), HasSubstr("found datatype FP16 in the configuration, expected FP32"));
  config = kAddConfig;
  config.replace(config.find("OUTPUT0"), 7, "RESULT");
  EXPECT_THAT(refused(config),
              HasSubstr("unexpected inference output 'RESULT', allowed outputs are: OUTPUT0"));
}

TEST_F(OpenVinoTest, OnlyCpus) {
  EXPECT_THAT(load(kAddModel, cat(kAddConfig, " instance_group { name: 'g' kind: KIND_GPU }")).text(),
              HasSubstr("found KIND_GPU, expected KIND_CPU"));
}

TEST_F(OpenVinoTest, BadParametersFailTheLoad) {
  for (const auto& [key, value] :
       {std::pair("NUM_STREAMS", "many"), std::pair("INFERENCE_NUM_THREADS", "-1"),
        std::pair("PERFORMANCE_HINT", "FAST"), std::pair("HINT_BF16", "perhaps"),
        std::pair("TARGET_DEVICE", "GPU"), std::pair("CPU_EXTENSION_PATH", "x.so")}) {
    EXPECT_THAT(load(kAddModel, cat(kAddConfig, parameter(key, value))).text(),
                HasSubstr(cat("parameter '", key, "': found '", value, "'")));
  }
}

TEST_F(OpenVinoTest, FilesThatAreNoModelsAreRefusedBeforeTheLibrarySeesThem) {
  EXPECT_THAT(completed("<html/>", ""), HasSubstr("first bytes are not those of an OpenVINO IR file"));
  EXPECT_THAT(completed("", ""), HasSubstr("empty file"));
  EXPECT_THAT(completed("<net>", "default_model_filename: 'model.gguf'", "model.gguf"),
              HasSubstr("expected the suffix"));
  EXPECT_THAT(completed("xyz", "default_model_filename: 'model.onnx'", "model.onnx"),
              HasSubstr("an ONNX file"));
  EXPECT_THAT(completed("xyz", "default_model_filename: '../1/model.xml'"),
              HasSubstr("default_model_filename"));
}

TEST_F(OpenVinoTest, AModelUnderAnotherFormatsNameIsFound) {
  std::filesystem::remove(folder_.path() / "m");
  EXPECT_THAT(completed("\x08\x07\ninput A 4 2\noutput B 4 2\nop identity\n", "", "model.onnx"),
              HasSubstr("name: \"A\""));
}

TEST_F(OpenVinoTest, TextsOfOnnxModelsAreRefused) {
  std::filesystem::remove(folder_.path() / "m");
  const auto loaded = [&](const char* input, int input_type, const char* output, int output_type) {
    const std::string file =
        cat("\x08\x07\ninput A ", input_type, " 2\noutput B ", output_type, " 2\nop identity\n");
    return load(file,
                cat("input { name: 'A' data_type: TYPE_", input,
                    " dims: 2 } output { name: 'B' data_type: TYPE_", output, " dims: 2 }"),
                "model.onnx")
        .text();
  };
  EXPECT_THAT(loaded("STRING", 23, "FP32", 4),
              HasSubstr("input 'A' is BYTES: OpenVINO cannot be trusted with texts of ONNX models"));
  EXPECT_THAT(loaded("FP32", 4, "STRING", 23), HasSubstr("output 'B' is BYTES"));
}

TEST_F(OpenVinoTest, TheKernelsOfAProcessAreBounded) {
  ASSERT_TRUE(load(kAddModel, kAddConfig).ok());
  const char* const bound = std::getenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY");
  ASSERT_NE(bound, nullptr);
  EXPECT_STREQ(bound, "128");
}

TEST_F(OpenVinoTest, ErrorsOfFailedRunsAreNeverLost) {
  for (const auto& [threads, streams] : {std::pair("1", "0"), std::pair("1", "1"), std::pair("2", "0"),
                                         std::pair("2", "1"), std::pair("2", "2")}) {
    const OvDoubleCounts before = counts();
    ASSERT_TRUE(load(kAddModel, cat(kAddConfig, parameter("INFERENCE_NUM_THREADS", threads),
                                    parameter("NUM_STREAMS", streams)))
                    .ok());
    TestRequest request;
    add_pair(request, {-1, 2, 3}, {1, 1, 1});
    execute({&request});
    EXPECT_EQ(request.response().code, Code::kInternal) << threads << " threads, " << streams << " streams";
    EXPECT_THAT(request.response().message, HasSubstr("model 'm': Add node: a value is below zero"));
    const OvDoubleCounts after = counts();
    // Apart only where it is needed, because it is slower.
    EXPECT_EQ(after.runs_apart - before.runs_apart,
              threads == std::string("1") && streams == std::string("1") ? 1 : 0);
  }
}

TEST_F(OpenVinoTest, OneThreadNeedsNoStream) {
  backend_.set(settings_on_double(1));
  const OvDoubleCounts before = counts();
  ASSERT_TRUE(load(kAddModel, kAddConfig).ok());
  TestRequest request;
  add_pair(request, {-1, 2, 3}, {1, 1, 1});
  execute({&request});
  EXPECT_EQ(request.response().code, Code::kInternal);
  EXPECT_EQ(counts().runs_apart, before.runs_apart);
}

TEST_F(OpenVinoTest, AModelIsCompiledAgainAfterManyShapes) {
  OvBackendSettings settings = settings_on_double();
  settings.defaults.shapes_kept = 3;
  backend_.set(settings);
  const std::string model = "<net>\ninput A 4 -1\noutput B 4 -1\nop identity\n</net>";
  const std::string config =
      "input { name: 'A' data_type: TYPE_FP32 dims: -1 } output { name: 'B' data_type: TYPE_FP32 dims: -1 }";
  const OvDoubleCounts before = counts();
  ASSERT_TRUE(load(model, config).ok());
  auto other = make_instance();  // stays on the first compilation until it runs
  const auto run = [&](int64_t length) {
    TestRequest request;
    request.add_input("A", DataType::kFp32, {length}, std::vector<float>(static_cast<size_t>(length), 2));
    request.add_output("B");
    execute({&request});
    ASSERT_EQ(request.response().code, Code::kOk) << request.response().message;
    EXPECT_EQ(request.response().find("B")->bytes.size(), 4u * static_cast<size_t>(length));
  };
  for (int64_t length : {1, 2, 3, 2, 1, 3}) run(length);
  EXPECT_EQ(counts().compilations - before.compilations, 1) << "three shapes are kept";
  run(4);
  EXPECT_EQ(counts().compilations - before.compilations, 2);
  for (int64_t length = 5; length <= 30; ++length) run(length);
  EXPECT_EQ(counts().compilations - before.compilations, 10);
  instance_.swap(other);
  run(1);
  instance_.reset();
  other.reset();
  model_.reset();
  EXPECT_EQ(counts().objects, before.objects) << "all that was made was freed";
}

TEST_F(OpenVinoTest, LargeInputsAreUsedInPlaceAndSmallOnesAgain) {
  ASSERT_TRUE(
      load(
          "<net>\ninput A 4 -1\noutput B 4 -1\nop identity\n</net>",
          "input { name: 'A' data_type: TYPE_FP32 dims: -1 } output { name: 'B' data_type: TYPE_FP32 dims: -1 }")
          .ok());
  for (const size_t size : {2u, 100'000u, 2u, 100'000u, 3u}) {
    std::vector<float> values(size);
    for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i);
    TestRequest request;
    request.add_input("A", DataType::kFp32, {static_cast<int64_t>(size)}, values);
    request.add_output("B");
    execute({&request});
    ASSERT_EQ(request.response().code, Code::kOk) << request.response().message;
    EXPECT_TRUE(request.response().find("B")->bytes == atl::test::bytes_of(values));
  }
}

TEST_F(OpenVinoTest, PaddedBatchesHaveOneSize) {
  ASSERT_TRUE(load(kAddModel, cat(kAddConfig, parameter("ENABLE_BATCH_PADDING", "yes"))).ok());
  TestRequest one, two;
  add_pair(one, {1, 2, 3}, {10, 10, 10});
  add_pair(two, {4, 5, 6, 7, 8, 9}, {20, 20, 20, 30, 30, 30});
  execute({&one, &two});
  EXPECT_EQ(one.response().find("OUTPUT0")->bytes, atl::test::bytes_of<float>({11, 12, 13}));
  EXPECT_EQ(two.response().find("OUTPUT0")->bytes, atl::test::bytes_of<float>({24, 25, 26, 37, 38, 39}));
}

TEST_F(OpenVinoTest, ATensorOfATensorFlowGraphHasItsOperationsName) {
  ASSERT_TRUE(
      load(
          "<net>\ninput x:0 4 -1\noutput y:0 4 -1\nop identity\n</net>",
          "input { name: 'x' data_type: TYPE_FP32 dims: -1 } output { name: 'y' data_type: TYPE_FP32 dims: -1 }")
          .ok());
  TestRequest request;
  request.add_input<float>("x", DataType::kFp32, {2}, {1, 2});
  request.add_output("y");
  execute({&request});
  EXPECT_EQ(request.response().find("y")->bytes, atl::test::bytes_of<float>({1, 2}));
}

TEST_F(OpenVinoTest, StateBelongsToASequence) {
  const std::string model = "<net>\n<layer type=\"ReadValue\"/>\ninput A 4 1\noutput B 4 1\nop total\n</net>";
  ASSERT_TRUE(
      load(
          model,
          "input { name: 'A' data_type: TYPE_FP32 dims: 1 } output { name: 'B' data_type: TYPE_FP32 dims: 1 }")
          .ok());
  const auto sum = [&](uint64_t sequence, uint32_t flags, float value) {
    TestRequest request;
    request->sequence.number = sequence;
    request->sequence_flags = flags;
    request.add_input<float>("A", DataType::kFp32, {1}, {value});
    request.add_output("B");
    execute({&request});
    const auto response = request.response();
    const auto* output = response.find("B");
    return output == nullptr ? -1.0f : atl::test::values_of<float>(output->bytes)[0];
  };
  EXPECT_EQ(sum(1, kSequenceStart, 1), 1);
  EXPECT_EQ(sum(2, kSequenceStart, 10), 10);
  EXPECT_EQ(sum(1, 0, 2), 3);
  EXPECT_EQ(sum(0, 0, 100), 100) << "a request without a sequence has no state";
  EXPECT_EQ(sum(0, 0, 100), 100);
  EXPECT_EQ(sum(2, kSequenceEnd, 20), 30);
  EXPECT_EQ(sum(2, 0, 1), -1) << "it has ended";
  EXPECT_EQ(sum(1, kSequenceStart, 5), 5) << "it begins anew";
  EXPECT_EQ(sum(1, 0, 5), 10);
  for (uint64_t other = 100; other < 100 + SequenceRuns::kSequencesMax; ++other)
    sum(other, kSequenceStart, 1);
  EXPECT_EQ(sum(1, 0, 5), -1) << "idle for longest";
}

TEST_F(OpenVinoTest, TensorFlowsPlatformsAreServedIfTheOptionSaysSo) {
  const ModelSource model = source(kAddModel, "platform: 'tensorflow_savedmodel' backend: 'tensorflow'");
  EXPECT_FALSE(backend_.serves(model).value());
  OvBackendSettings settings = settings_on_double();
  settings.serves_tensorflow = true;
  backend_.set(settings);
  EXPECT_TRUE(backend_.serves(model).value());
  EXPECT_FALSE(backend_.serves(source(kAddModel, "backend: 'other'")).value());
}

TEST(PlainReason, LeavesOutPlacesInSources) {
  EXPECT_EQ(
      plain_reason(
          "Exception from src/a.cpp:1:\nException from src/b.cpp:2:\n[CPU] Add: Check 'a == 1' failed at "
          "src/c.cpp:3:\nshapes do not fit\n\n"),
      "[CPU] Add: Check 'a == 1' failed; shapes do not fit");
  EXPECT_EQ(plain_reason(""), "no reason was given");
}

}  // namespace
}  // namespace atl::openvino::test
