/// What becomes text: values, names, records.
#include <cmath>
#include <limits>

#include "atoll/lib/json_writer.h"
#include "telemetry/trace/file_text.h"
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

}  // namespace
}  // namespace atl::tracing
