// The generate extension's response.
#include <gtest/gtest.h>

#include <cmath>

#include "frontends/http/codec/testing/codec_test_support.h"
#include "frontends/http/codec/testing/response_test_support.h"

namespace atl::frontends::http {
namespace {

class GenerateResponse : public ::testing::Test {
 protected:
  std::string written() {
    out_.reset();
    status_ = write_generate_response(info_, request_, response_, out_);
    return status_.ok() ? std::string(out_.text()) : std::string(status_.message());
  }
  ModelInfo info_ = model_info();
  Request request_;
  Response response_;
  JsonOutput out_;
  Status status_;
};

TEST_F(GenerateResponse, MembersAreSortedByName) {
  EXPECT_EQ(written(), R"({"model_name":"m","model_version":"3"})");
  request_.id = "7";
  add_parameter(response_, "z", ParameterType::kInt).int_value = 1;
  add_parameter(response_, "b", ParameterType::kBytes).text = "not sent";
  add_output(response_, "text_output", DataType::kBytes, {1, 1}, packed_texts({"hello"}));
  add_output(response_, "OUT", DataType::kInt32, {2}, packed<int32_t>({1, 2}));
  EXPECT_EQ(written(),
            R"({"OUT":[1,2],"id":"7","model_name":"m","model_version":"3","text_output":"hello","z":1})");
}

TEST_F(GenerateResponse, SingleElementsHaveNoBrackets) {
  add_output(response_, "a", DataType::kFp32, {1, 1}, packed<float>({NAN}));
  add_output(response_, "b", DataType::kBool, {}, "\1");
  add_output(response_, "c", DataType::kFp32, {0}, "");
  add_output(response_, "d", DataType::kFp64, {2}, packed<double>({1, -INFINITY}));
  EXPECT_EQ(written(),
            R"({"a":NaN,"b":true,"c":[],"d":[1.0,-Infinity],"model_name":"m","model_version":"3"})");
}

TEST_F(GenerateResponse, OfMembersThatShareANameTheOutputIsWritten) {
  request_.id = "7";
  add_parameter(response_, "id", ParameterType::kInt).int_value = 1;
  add_parameter(response_, "model_name", ParameterType::kInt).int_value = 2;
  add_output(response_, "model_name", DataType::kInt8, {1}, "\3");
  EXPECT_EQ(written(), R"({"id":1,"model_name":3,"model_version":"3"})");
}

TEST_F(GenerateResponse, AppendsToWhatIsThere) {
  out_.append("data: ");
  ASSERT_TRUE(write_generate_response(info_, request_, response_, out_).ok());
  EXPECT_EQ(out_.text(), R"(data: {"model_name":"m","model_version":"3"})");
}

TEST_F(GenerateResponse, TensorsThatHaveNoForm) {
  add_output(response_, "h", DataType::kFp16, {1}, "ab");
  EXPECT_EQ(written(),
            "sending FP16 data via JSON is not supported. Please use the binary data format for output");
  EXPECT_EQ(status_.code(), Code::kInvalidArgument);
  response_.reset();
  add_output(response_, "t", DataType::kBytes, {1}, "\xff\xff\xff\xff");
  EXPECT_EQ(written(), "output 't' of shape [1]: BYTES element 0 does not fit the 4 bytes of the tensor");
  EXPECT_EQ(status_.code(), Code::kInternal);
}

}  // namespace
}  // namespace atl::frontends::http
