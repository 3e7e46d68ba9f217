#include "caches/common/answer_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/testing/random.h"
#include "atoll/testing/recording_sink.h"

namespace atl::caches {
namespace {

using test::TestRequest;
using ::testing::HasSubstr;

class AnswerMessageTest : public ::testing::Test {
 protected:
  AnswerMessageTest() {
    model_.name = "m";
    model_.version = 3;
    model_.version_text = "3";
    for (const auto& [name, datatype] :
         {std::pair("NUMBERS", DataType::kInt32), {"TEXT", DataType::kBytes}, {"NONE", DataType::kFp32}}) {
      TensorSpec spec;
      spec.name = name;
      spec.datatype = datatype;
      model_.outputs.push_back(spec);
    }
    add("NUMBERS", DataType::kInt32, {2, 1}, numbers_);
    add("TEXT", DataType::kBytes, {2}, text_);
    add("NONE", DataType::kFp32, {0, 4}, none_);
  }
  void add(const char* name, DataType datatype, const std::vector<int64_t>& shape, std::string& bytes) {
    OutputTensor& output = response_.add_output(name, datatype, shape);
    output.buffer.data = bytes.data();
    output.buffer.size_bytes = bytes.size();
  }
  Parameter& add_parameter(std::string_view key, ParameterType type, std::string_view text = {}) {
    Parameter& parameter = response_.parameters.add(response_.arena());
    parameter.key = key;
    parameter.type = type;
    parameter.text = text;
    return parameter;
  }
  std::string written() { return write_answer(response_, model_, 1 << 20).value(); }
  /// Of a written answer that was changed.
  template <class Change>
  std::string refusal(Change&& change) {
    inference::ModelInferResponse message;
    EXPECT_TRUE(message.ParseFromString(written()));
    change(message);
    TestRequest request;
    for (const std::string& output : asked_for_) request.add_output(output);
    Result<ReadAnswer> read = ReadAnswer::read(message.SerializeAsString(), model_, request.request());
    return read.ok() ? "accepted" : std::string(read.status().message());
  }

  std::string numbers_ = std::string("\1\0\0\0\2\0\0\0", 8);
  std::string text_ = std::string("\3\0\0\0abc\0\0\0\0", 11);
  std::string none_;
  std::vector<std::string> asked_for_;  ///< empty: whatever there is
  Response response_;
  ModelInfo model_;
};

TEST_F(AnswerMessageTest, IsReadAsItWasWritten) {
  add_parameter("word", ParameterType::kString, "value");
  add_parameter("count", ParameterType::kInt).int_value = -7;
  add_parameter("flag", ParameterType::kBool).bool_value = true;
  add_parameter("part", ParameterType::kDouble).double_value = 0.25;
  TestRequest request("mine");
  Result<ReadAnswer> read = ReadAnswer::read(written(), model_, request.request());
  ASSERT_TRUE(read.ok()) << read.status().message();
  request.mark_accepted();
  read->answer(request.request());
  const test::ReceivedResponse response = request.response();
  ASSERT_EQ(response.outputs.size(), 3u);
  EXPECT_EQ(response.outputs[0].shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(response.outputs[0].bytes, numbers_);
  EXPECT_EQ(response.outputs[1].datatype, DataType::kBytes);
  EXPECT_EQ(response.outputs[1].bytes, text_);
  EXPECT_EQ(response.outputs[2].shape, (std::vector<int64_t>{0, 4}));
  inference::ModelInferResponse message;
  ASSERT_TRUE(message.ParseFromString(written()));
  EXPECT_EQ(message.parameters().at("word").string_param(), "value");
  EXPECT_EQ(message.parameters().at("count").int64_param(), -7);
  EXPECT_TRUE(message.parameters().at("flag").bool_param());
  EXPECT_EQ(message.parameters().at("part").double_param(), 0.25);
}

TEST_F(AnswerMessageTest, WhatHasNoPlaceIsNotWritten) {
  EXPECT_TRUE(write_answer(response_, model_, 200));
  EXPECT_FALSE(write_answer(response_, model_, 18)) << "19 bytes of data";
  EXPECT_FALSE(write_answer(response_, model_, 30)) << "and their frame";
  response_.outputs[0].buffer.kind = MemoryKind::kGpu;
  EXPECT_FALSE(write_answer(response_, model_, 1 << 20));
  response_.outputs[0].buffer.kind = MemoryKind::kCpu;
  add_parameter("raw", ParameterType::kBytes, "\xff");
  EXPECT_FALSE(write_answer(response_, model_, 1 << 20));
}

TEST_F(AnswerMessageTest, TextThatIsNotUtf8IsNotWritten) {
  add_parameter("word", ParameterType::kString, "\xff");
  EXPECT_FALSE(write_answer(response_, model_, 1 << 20));
}

TEST_F(AnswerMessageTest, OnlyWhatTheModelMayAnswerIsRead) {
  using Message = inference::ModelInferResponse;
  EXPECT_EQ(refusal([](Message&) {}), "accepted");
  EXPECT_EQ(refusal([](Message& m) { m.set_model_name("n"); }), "of model 'n' version 3");
  EXPECT_EQ(refusal([](Message& m) { m.set_model_version("4"); }), "of model 'm' version 4");
  EXPECT_EQ(refusal([](Message& m) { m.add_raw_output_contents("x"); }), "3 outputs, 4 contents");
  EXPECT_EQ(refusal([](Message& m) { m.mutable_outputs(0)->set_name("OTHER"); }),
            "output 'OTHER' of type INT32, which the model does not have");
  EXPECT_EQ(refusal([](Message& m) { m.mutable_outputs(0)->set_datatype("FP32"); }),
            "output 'NUMBERS' of type FP32, which the model does not have");
  EXPECT_EQ(refusal([](Message& m) { m.mutable_outputs(0)->set_datatype("?"); }),
            "output 'NUMBERS' of type ?, which the model does not have");
  EXPECT_EQ(refusal([](Message& m) { m.mutable_outputs(0)->set_shape(0, 3); }),
            "output 'NUMBERS' has 8 bytes, which do not fit shape [3,1]");
  EXPECT_EQ(refusal([](Message& m) { m.mutable_outputs(0)->set_shape(0, -2); }),
            "output 'NUMBERS' has 8 bytes, which do not fit shape [-2,1]");
  EXPECT_EQ(refusal([](Message& m) { m.mutable_outputs(0)->set_shape(0, int64_t{1} << 62); }),
            "output 'NUMBERS' has 8 bytes, which do not fit shape [4611686018427387904,1]");
  EXPECT_EQ(refusal([](Message& m) { m.mutable_raw_output_contents(0)->pop_back(); }),
            "output 'NUMBERS' has 7 bytes, which do not fit shape [2,1]");
  EXPECT_THAT(
      refusal([](Message& m) { *m.add_outputs() = m.outputs(0), m.add_raw_output_contents("12345678"); }),
      "output 'NUMBERS' twice");
  EXPECT_EQ(refusal([](Message& m) { (*m.mutable_parameters())["p"]; }), "parameter 'p' without a value");
  for (const std::string& text :
       {std::string("\3\0\0\0ab", 6), std::string("\3\0\0\0abc", 7), std::string("\3\0\0\0abc\0\0\0\0x", 12),
        std::string("\xff\xff\xff\xff", 4)}) {
    EXPECT_THAT(refusal([&](Message& m) { m.set_raw_output_contents(1, text); }),
                HasSubstr("which do not fit shape [2]"));
  }
}

TEST_F(AnswerMessageTest, OnlyWhatWasAskedForIsRead) {
  asked_for_ = {"NUMBERS", "TEXT", "NONE"};
  EXPECT_EQ(refusal([](inference::ModelInferResponse&) {}), "accepted");
  asked_for_ = {"NUMBERS", "NONE"};
  EXPECT_EQ(refusal([](inference::ModelInferResponse&) {}), "output 'TEXT', which was not asked for");
}

TEST_F(AnswerMessageTest, AnyBytesAreReadWithoutHarm) {
  ::testing::internal::CaptureStderr();  // protobuf tells of each text that is not UTF-8
  test::Random random(7);
  const std::string whole = written();
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = whole.substr(0, random.chance(20) ? random.below(whole.size() + 1) : whole.size());
    for (uint64_t n = random.below(4); n > 0 && !bytes.empty(); --n) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    }
    TestRequest request;
    Result<ReadAnswer> read = ReadAnswer::read(bytes, model_, request.request());
    if (!read.ok()) continue;
    request.mark_accepted();
    read->answer(request.request());
    EXPECT_EQ(request.response().code, Code::kOk);
  }
  (void)::testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace atl::caches
