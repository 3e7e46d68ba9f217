/// What becomes text: values, names, records.
#include <cmath>
#include <limits>

#include "telemetry/trace/file_text.h"
#include "telemetry/trace/json_text.h"
#include "telemetry/trace/tensor_text.h"
#include "telemetry/trace/testing/trace_bench.h"

namespace atl::tracing {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string text_of(DataType datatype, std::vector<T> values, bool cut = false) {
  RecordedTensor tensor;
  tensor.datatype = datatype;
  tensor.bytes = bytes_of(values);
  tensor.cut = cut;
  return tensor_text(tensor);
}

std::string bytes_text(std::string bytes, bool cut = false) {
  RecordedTensor tensor;
  tensor.datatype = DataType::kBytes;
  tensor.bytes = std::move(bytes);
  tensor.cut = cut;
  return tensor_text(tensor);
}

std::string element(std::string_view text) {
  auto size = static_cast<uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + std::string(text);
}

TEST(TensorText, Numbers) {
  EXPECT_EQ(text_of<uint8_t>(DataType::kBool, {0, 1, 7}), "0,1,1");
  EXPECT_EQ(text_of<uint8_t>(DataType::kUint8, {0, 65, 255}), "0,65,255");
  EXPECT_EQ(text_of<uint16_t>(DataType::kUint16, {0, 65535}), "0,65535");
  EXPECT_EQ(text_of<uint32_t>(DataType::kUint32, {4294967295U}), "4294967295");
  EXPECT_EQ(text_of<uint64_t>(DataType::kUint64, {std::numeric_limits<uint64_t>::max()}),
            "18446744073709551615");
  EXPECT_EQ(text_of<int8_t>(DataType::kInt8, {-128, 65}), "-128,65");
  EXPECT_EQ(text_of<int16_t>(DataType::kInt16, {-32768}), "-32768");
  EXPECT_EQ(text_of<int32_t>(DataType::kInt32, {-1, 2}), "-1,2");
  EXPECT_EQ(text_of<int64_t>(DataType::kInt64, {std::numeric_limits<int64_t>::min()}),
            "-9223372036854775808");
  EXPECT_EQ(text_of<float>(DataType::kFp32, {1, 0.1f, -2.5f}), "1,0.1,-2.5");
  EXPECT_EQ(text_of<float>(DataType::kFp32, {INFINITY, NAN}), "inf,nan");
  EXPECT_EQ(text_of<double>(DataType::kFp64, {1e300}), "1e+300");
  EXPECT_EQ(text_of<uint16_t>(DataType::kFp16, {0x3C00, 0xC000, 0x0001, 0x7C00, 0x7BFF}),
            "1,-2,5.9604645e-08,inf,65504");
  EXPECT_EQ(text_of<uint16_t>(DataType::kBf16, {0x3F80, 0xC000}), "1,-2");
  EXPECT_EQ(text_of<int32_t>(DataType::kInt32, {}), "");
  EXPECT_EQ(text_of<uint8_t>(DataType::kInvalid, {1}), "");
}

TEST(TensorText, WhatIsCutSaysSo) {
  EXPECT_EQ(text_of<int32_t>(DataType::kInt32, {1, 2}, true), "1,2,...");
  EXPECT_EQ(text_of<uint8_t>(DataType::kInt32, {1, 0, 0, 0, 2}, true), "1,...") << "in the middle of a value";
  EXPECT_EQ(text_of<int32_t>(DataType::kInt32, {}, true), "...");
  EXPECT_EQ(bytes_text(element("ab") + element("cdef").substr(0, 6), true), "\"ab\",...");
}

TEST(TensorText, ElementsOfBytesAreJsonStrings) {
  EXPECT_EQ(bytes_text(element("ab") + element("") + element("c,\"d\"\\\n")),
            "\"ab\",\"\",\"c,\\\"d\\\"\\\\\\n\"");
  EXPECT_EQ(bytes_text(element("\xff\x00z")), "\"\xEF\xBF\xBD\"") << "a literal ends at its zero";
  EXPECT_EQ(bytes_text(element(std::string_view("a\0b", 3))), "\"a\\u0000b\"");
  EXPECT_EQ(bytes_text(std::string("\xff\xff\xff\xff", 4)), "") << "a length that is not there";
  EXPECT_EQ(bytes_text("abc"), "");
}

TEST(JsonText, OnlyUtf8Comes) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("plain"), "plain");
  for (const char* good : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(valid_utf8(good), good);
  }
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC2", "\xE2\x82", "\xF0\x9F\x98"}) {
    std::string all;
    for (size_t i = 0; i < std::string_view(bad).size(); ++i) all += replaced;
    EXPECT_EQ(valid_utf8(bad), all);
    EXPECT_EQ(valid_utf8(std::string("a") + bad + "b"), "a" + all + "b");
  }
}

TEST(FileText, IsTheReferencesFormat) {
  Record record;
  RecordedRequest& request = record.requests.emplace_back();
  request.id = 7;
  request.model = "m";
  request.version = 3;
  RecordedEvent& start = request.events.emplace_back();
  start.name = "REQUEST_START";
  start.timestamp_ns = 12;
  EXPECT_EQ(
      file_text(record),
      R"({"id":7,"model_name":"m","model_version":3},{"id":7,"timestamps":[{"name":"REQUEST_START","ns":12}]})");
  RecordedRequest& child = record.requests.emplace_back();
  child.id = 8;
  child.parent_id = 7;
  child.model = "n\"\xff";
  child.version = 1;
  child.request_id = "r";
  RecordedEvent& input = child.events.emplace_back();
  input.activity = TraceActivity::kTensorQueueInput;
  input.tensor = std::make_unique<RecordedTensor>();
  input.tensor->name = "x";
  input.tensor->datatype = DataType::kFp32;
  input.tensor->shape = {1, 3};
  input.tensor->bytes = bytes_of(std::vector<float>{1, 2, 3});
  EXPECT_EQ(
      file_text(record).substr(file_text(record).find(R"({"id":8)")),
      "{\"id\":8,\"model_name\":\"n\\\"\xEF\xBF\xBD\",\"model_version\":1,\"request_id\":\"r\",\"parent_id\":"
      "7},"
      R"({"id":8,"activity":"TENSOR_QUEUE_INPUT","tensor":{"name":"x","data":"1,2,3","shape":"1,3","dtype":"FP32"}})");
  parse_json("[" + file_text(record) + "]");
}

TEST(FileText, ActivityNames) {
  EXPECT_STREQ(activity_name(TraceActivity::kRequestStart), "REQUEST_START");
  EXPECT_STREQ(activity_name(TraceActivity::kComputeInputEnd), "COMPUTE_INPUT_END");
  EXPECT_STREQ(activity_name(TraceActivity::kTensorBackendOutput), "TENSOR_BACKEND_OUTPUT");
  EXPECT_STREQ(activity_name(TraceActivity::kCustomActivity), "CUSTOM_ACTIVITY");
  EXPECT_STREQ(activity_name(static_cast<TraceActivity>(11)), "<unknown>");
}

}  // namespace
}  // namespace atl::tracing
