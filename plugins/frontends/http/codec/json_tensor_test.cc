// `data` of every datatype: what becomes of its elements, and what is refused.
#include "frontends/http/codec/json_tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "frontends/http/codec/testing/codec_test_support.h"

namespace atl::frontends::http {
namespace {

/// `data` converted for one input named I.
struct Converted {
  Converted(std::string_view data, DataType datatype, std::vector<int64_t> dims, uint64_t max_bytes = 1 << 26)
      : text(data), shape(std::move(dims)) {
    const Status parsed = document.parse(text.text());
    EXPECT_TRUE(parsed.ok()) << parsed.text();
    const JsonTensor conversion{document, "I", datatype, shape, max_bytes};
    status = conversion.convert(document.root(), arena, owned, &tensor);
  }
  PaddedText text;
  std::vector<int64_t> shape;
  JsonDocument document;
  Arena arena;
  OwnedBytes owned;
  InputTensor tensor;
  Status status;
};

template <class T>
void expect_values(DataType datatype, std::string_view data, const std::vector<T>& values) {
  Converted converted(data, datatype, {static_cast<int64_t>(values.size())});
  ASSERT_TRUE(converted.status.ok()) << data << ": " << converted.status.text();
  EXPECT_EQ(values_of<T>(converted.tensor), values) << data;
  EXPECT_EQ(converted.tensor.size_bytes, values.size() * sizeof(T));
}

void expect_refused(DataType datatype, std::string_view data, std::vector<int64_t> shape,
                    std::string_view text) {
  Converted converted(data, datatype, std::move(shape));
  EXPECT_EQ(converted.status.code(), Code::kInvalidArgument) << data;
  EXPECT_EQ(converted.status.message(), text) << data;
  EXPECT_TRUE(converted.tensor.buffers.empty());
}

constexpr std::string_view kShapeText =
    "Unable to parse 'data': Shape does not match true shape of 'data' field";

TEST(JsonTensor, IntegersKeepTheirRange) {
  expect_values<int8_t>(DataType::kInt8, "[-128,127,0,-0]", {-128, 127, 0, 0});
  expect_values<int16_t>(DataType::kInt16, "[-32768,32767]", {-32768, 32767});
  expect_values<int32_t>(DataType::kInt32, "[-2147483648,2147483647]", {INT32_MIN, INT32_MAX});
  expect_values<int64_t>(DataType::kInt64, "[-9223372036854775808,9223372036854775807,9007199254740993]",
                         {INT64_MIN, INT64_MAX, (int64_t{1} << 53) + 1});
  expect_values<uint8_t>(DataType::kUint8, "[0,255]", {0, 255});
  expect_values<uint16_t>(DataType::kUint16, "[0,65535]", {0, 65535});
  expect_values<uint32_t>(DataType::kUint32, "[0,4294967295]", {0, UINT32_MAX});
  expect_values<uint64_t>(DataType::kUint64, "[0,18446744073709551615]", {0, UINT64_MAX});
}

TEST(JsonTensor, NothingWrapsRound) {
  struct Case {
    DataType datatype;
    const char* number;
  };
  for (const Case& c :
       {Case{DataType::kInt8, "128"}, Case{DataType::kInt8, "-129"}, Case{DataType::kInt16, "32768"},
        Case{DataType::kInt16, "-32769"}, Case{DataType::kInt32, "2147483648"},
        Case{DataType::kInt32, "5000000000"}, Case{DataType::kInt32, "-2147483649"},
        Case{DataType::kUint8, "256"}, Case{DataType::kUint8, "300"}, Case{DataType::kUint16, "65536"},
        Case{DataType::kUint32, "4294967296"}, Case{DataType::kFp32, "1e39"},
        Case{DataType::kFp32, "-1e39"}}) {
    expect_refused(c.datatype, cat("[1,", c.number, "]"), {2},
                   cat("input 'I': ",
                       std::string_view(c.number) == "1e39"    ? "1e+39"
                       : std::string_view(c.number) == "-1e39" ? "-1e+39"
                                                               : c.number,
                       " in 'data' is out of the range of ", data_type_name(c.datatype)));
  }
}

TEST(JsonTensor, FloatsAreRoundedOnce) {
  expect_values<float>(DataType::kFp32, "[0.1,-0.0,1,18446744073709551615,3.4028234663852886e38,1e-45,1e-60]",
                       {0.1f, -0.0f, 1.0f, 18446744073709551616.0f, 3.4028234663852886e38f, 1e-45f, 0.0f});
  expect_values<double>(DataType::kFp64, "[0.1,1e308,5e-324,-1,9007199254740993]",
                        {0.1, 1e308, 5e-324, -1, 9007199254740992.0});
  Converted sign("[-0.0]", DataType::kFp64, {1});
  EXPECT_TRUE(std::signbit(values_of<double>(sign.tensor)[0]));
  // The largest that rounds to a finite float, and its neighbour.
  expect_values<float>(DataType::kFp32, "[3.4028235677973362e38]", {3.4028234663852886e38f});
  EXPECT_FALSE(Converted("[3.4028235677973366e38]", DataType::kFp32, {1}).status.ok());
  EXPECT_FALSE(Converted("[-3.4028235677973366e38]", DataType::kFp32, {1}).status.ok());
}

TEST(JsonTensor, LiteralsAreForFloatsOnly) {
  Converted floats("[NaN,Infinity,-Infinity,1]", DataType::kFp32, {4});
  ASSERT_TRUE(floats.status.ok()) << floats.status.text();
  auto values = values_of<float>(floats.tensor);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], INFINITY);
  EXPECT_EQ(values[2], -INFINITY);
  expect_values<double>(DataType::kFp64, "[-Infinity]", {-INFINITY});
  for (const char* data : {R"([NaN,{"":1}])", R"([NaN,{"+":0}])"}) {
    expect_refused(DataType::kFp32, data, {2},
                   "Unable to parse 'data': attempt to access JSON non-number as double (input 'I')");
  }
  expect_refused(
      DataType::kInt32, "[NaN]", {1},
      "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer (input 'I')");
  expect_refused(DataType::kBytes, "[NaN]", {1},
                 "Unable to parse JSON bytes array: attempt to access JSON non-string as string (input 'I')");
  expect_refused(DataType::kBool, "[Infinity]", {1},
                 "Unable to parse 'data': attempt to access JSON non-boolean as boolean (input 'I')");
}

TEST(JsonTensor, WrongTypesNameTheInput) {
  const std::string prefix = "Unable to parse 'data': attempt to access JSON non-";
  for (const char* element : {"\"1\"", "true", "null", "{}", "1.5", "1.0", "1e2", "100000000000000000000"}) {
    expect_refused(DataType::kInt32, cat("[", element, "]"), {1},
                   prefix + "signed-integer as signed-integer (input 'I')");
  }
  for (const char* element : {"-1", "1.5", "\"1\""}) {
    expect_refused(DataType::kUint8, cat("[", element, "]"), {1},
                   prefix + "unsigned-integer as unsigned-integer (input 'I')");
  }
  for (const char* element : {"\"1\"", "true", "null", "{}", "{\"\":0}"}) {
    expect_refused(DataType::kFp32, cat("[1,", element, "]"), {2}, prefix + "number as double (input 'I')");
  }
  for (const char* element : {"0", "1", "\"true\"", "null"}) {
    expect_refused(DataType::kBool, cat("[", element, "]"), {1}, prefix + "boolean as boolean (input 'I')");
  }
  for (const char* element : {"0", "null", "{}", "true"}) {
    expect_refused(
        DataType::kBytes, cat("[\"a\",", element, "]"), {2},
        "Unable to parse JSON bytes array: attempt to access JSON non-string as string (input 'I')");
  }
}

TEST(JsonTensor, BoolsAreBytes) {
  Converted converted("[true,false,true]", DataType::kBool, {3});
  ASSERT_TRUE(converted.status.ok());
  EXPECT_EQ(bytes_of(converted.tensor), std::string("\1\0\1", 3));
}

TEST(JsonTensor, TextsGetTheirLengths) {
  Converted converted("[\"ab\",\"\",\"\\u0000\\u20ac\"]", DataType::kBytes, {3});
  ASSERT_TRUE(converted.status.ok()) << converted.status.text();
  EXPECT_EQ(bytes_of(converted.tensor), std::string("\2\0\0\0ab\0\0\0\0\4\0\0\0\0\xE2\x82\xAC", 18));
  expect_refused(DataType::kBytes, "[\"a\"]", {2}, kShapeText);
  expect_refused(DataType::kBytes, "[\"a\",\"b\"]", {1}, kShapeText);
}

TEST(JsonTensor, ArraysAreFlatOrNestedAsTheShapeIs) {
  const std::vector<int32_t> values = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const char* data : {"[1,2,3,4,5,6,7,8]", "[[1,2,3,4],[5,6,7,8]]", "[[[1,2],[3,4]],[[5,6],[7,8]]]"}) {
    Converted converted(data, DataType::kInt32, {2, 2, 2});
    ASSERT_TRUE(converted.status.ok()) << data << ": " << converted.status.text();
    EXPECT_EQ(values_of<int32_t>(converted.tensor), values) << data;
  }
  const std::string text = "Unable to parse 'data': its nested arrays do not fit shape ";
  for (const char* data :
       {"[[1],[2,3,4]]", "[[1,2,3],[4]]", "[[1,2,3,4]]", "[[1],[2],[3],[4]]", "[[1,2],3,4]", "[1,[2,3],4]",
        "[[[1]],[[2]],[[3]],[[4]]]", "[[[1],[2]],[[3],[4]]]", "[[],[1,2,3,4]]", "[[1,2],[3,4],[]]",
        "[[[1,2]],[[3,4]]]", "[[[[1]]],2,[3,[4]]]", "[[],1,2,[3,4],[]]", "[[[1,2],[3,4]]]"}) {
    for (const DataType number : {DataType::kInt32, DataType::kFp32, DataType::kUint8})
      expect_refused(number, data, {2, 2}, text + "[2,2] (input 'I')");
    std::string texts;
    for (const char* c = data; *c != 0; ++c)
      texts += *c >= '1' && *c <= '9' ? cat("\"", *c, "\"") : std::string(1, *c);
    expect_refused(DataType::kBytes, texts, {2, 2}, text + "[2,2] (input 'I')");
  }
  expect_refused(DataType::kInt32, "[[1]]", {1}, text + "[1] (input 'I')");
  expect_refused(DataType::kInt32, "[[1]]", {}, text + "[] (input 'I')");
  EXPECT_TRUE(Converted("[[true,false]]", DataType::kBool, {1, 2}).status.ok());
  EXPECT_TRUE(Converted("[[\"a\"],[\"b\"]]", DataType::kBytes, {2, 1}).status.ok());
  EXPECT_TRUE(Converted("[[],[]]", DataType::kInt32, {2, 0}).status.ok())
      << "there is nothing to be misplaced";
  expect_refused(DataType::kInt32, "[[1,2],[3,4,5]]", {2, 2}, kShapeText);
}

TEST(JsonTensor, LongArraysToo) {
  const auto rows = [](size_t first, size_t second, const char* element) {
    std::string data = "[[";
    for (size_t i = 0; i < first + second; ++i) data += cat(i == 0 ? "" : i == first ? "],[" : ",", element);
    // Longer than a text that is parsed as a whole.
    return data + "]" + std::string((size_t{1} << 20) + 1, ' ') + "]";
  };
  for (const auto& [datatype, element] :
       {std::pair{DataType::kFp32, "-0"}, std::pair{DataType::kBytes, "\"a\""}}) {
    EXPECT_TRUE(Converted(rows(1000, 1000, element), datatype, {2, 1000}).status.ok());
    expect_refused(datatype, rows(999, 1001, element), {2, 1000},
                   "Unable to parse 'data': its nested arrays do not fit shape [2,1000] (input 'I')");
  }
  Converted zeros(rows(1000, 1000, "-0"), DataType::kFp32, {2, 1000});
  EXPECT_TRUE(std::signbit(values_of<float>(zeros.tensor)[1999]));
  Converted plain(rows(1000, 1000, "0"), DataType::kFp64, {2, 1000});
  EXPECT_FALSE(std::signbit(values_of<double>(plain.tensor)[1999]));
  EXPECT_TRUE(Converted(rows(1000, 1000, "-0"), DataType::kInt8, {2000}).status.code() ==
              Code::kInvalidArgument);
  EXPECT_TRUE(Converted(rows(1000, 1000, "-0"), DataType::kInt8, {2, 1000}).status.ok());
}

TEST(JsonTensor, MinusZeroHasItsSign) {
  const auto signs = [](std::string_view data, int64_t count) {
    Converted converted(data, DataType::kFp32, {count});
    EXPECT_TRUE(converted.status.ok()) << data << ": " << converted.status.text();
    std::string text;
    for (const float value : values_of<float>(converted.tensor)) text += std::signbit(value) ? '-' : '+';
    return text;
  };
  EXPECT_EQ(signs("[-0]", 1), "-");
  EXPECT_EQ(signs("[0,-0,-0.0,0.0,-0e0,-0E+5,-1,1, -0 ,-0\n]", 10), "+--+---+--");
  for (size_t at = 0; at < 200; ++at) {
    std::string data = "[", expected;
    for (size_t i = 0; i < 200; ++i) {
      data += cat(i == 0 ? "" : ",", i == at ? "-0" : "0.5");
      expected += i == at ? '-' : '+';
    }
    EXPECT_EQ(signs(data + "]", 200), expected);
  }
  EXPECT_EQ(signs("[-0,NaN]", 2).front(), '-');
  Converted wide("[-0]", DataType::kFp64, {1});
  EXPECT_TRUE(std::signbit(values_of<double>(wide.tensor)[0]));
  expect_values<int32_t>(DataType::kInt32, "[-0,5,-0]", {0, 5, 0});
  expect_values<uint64_t>(DataType::kUint64, "[-0,5,-0]", {0, 5, 0});
  expect_refused(DataType::kBytes, "[-0]", {1},
                 "Unable to parse JSON bytes array: attempt to access JSON non-string as string (input 'I')");
}

TEST(JsonTensor, CountMustBeTheShapes) {
  for (const char* data : {"[]", "[1]", "[1,2]", "[1,2,3,4]", "[[1,2],[3,4]]", "[[],[]]"}) {
    expect_refused(DataType::kInt32, data, {3}, kShapeText);
  }
  expect_refused(DataType::kInt32, "[1]", {0}, kShapeText);
  Converted empty("[]", DataType::kInt32, {0});
  EXPECT_TRUE(empty.status.ok());
  EXPECT_EQ(empty.tensor.size_bytes, 0u);
  EXPECT_TRUE(empty.tensor.buffers.empty());
  EXPECT_TRUE(Converted("[]", DataType::kBytes, {0, 5}).status.ok());
  EXPECT_TRUE(Converted("[7]", DataType::kInt32, {}).status.ok());
}

TEST(JsonTensor, FloatsBehindTheEndAreNotWritten) {
  std::string data = "[0";
  for (int i = 1; i < 1000; ++i) data += ",1";
  data += "]";
  expect_refused(DataType::kFp64, data, {999}, kShapeText);
  expect_refused(DataType::kFp64, data, {1001}, kShapeText);
  EXPECT_TRUE(Converted(data, DataType::kFp64, {1000}).status.ok());
}

TEST(JsonTensor, SizesAreCheckedBeforeMemoryIsTaken) {
  const int64_t large = (int64_t{1} << 60) + 2;
  expect_refused(
      DataType::kFp32, "[1]", {16, large},
      "invalid shape for input 'I': shape [16,1152921504606846978] causes total element count to exceed "
      "maximum size of 9223372036854775807");
  expect_refused(DataType::kFp32, "[1]", {4, large},
                 "byte size overflow for input 'I': shape [4,1152921504606846978] of FP32 takes more than "
                 "9223372036854775807 bytes");
  expect_refused(
      DataType::kFp32, "[1]", {1'000'000'000},
      "JSON input 'I' has a byte_size (4000000000 bytes) that exceeds the maximum allowed value of "
      "67108864 bytes. Use --http-max-input-size to increase the limit.");
  // Within the limit, but not within the document.
  Converted converted("[1]", DataType::kFp32, {int64_t{1} << 40}, UINT64_MAX);
  EXPECT_EQ(converted.status.message(), kShapeText);
}

TEST(JsonTensor, SizeLimit) {
  EXPECT_TRUE(Converted("[1,2]", DataType::kFp32, {2}, 9).status.ok());
  EXPECT_TRUE(Converted("[1,2]", DataType::kFp32, {2}, 8).status.ok());
  EXPECT_EQ(Converted("[1,2]", DataType::kFp32, {2}, 7).status.message(),
            "JSON input 'I' has a byte_size (8 bytes) that exceeds the maximum allowed value of 7 bytes. Use "
            "--http-max-input-size to increase the limit.");
  EXPECT_TRUE(Converted("[\"abc\"]", DataType::kBytes, {1}, 7).status.ok());
  EXPECT_FALSE(Converted("[\"abc\"]", DataType::kBytes, {1}, 6).status.ok());
}

TEST(JsonTensor, HalfFloatsHaveNoForm) {
  expect_refused(
      DataType::kFp16, "[1]", {1},
      "receiving FP16 data via JSON is not supported. Please use the binary data format for input I");
  expect_refused(
      DataType::kBf16, "[1]", {1},
      "receiving BF16 data via JSON is not supported. Please use the binary data format for input I");
  expect_refused(DataType::kInvalid, "[1]", {1}, "invalid datatype for input I");
}

TEST(JsonTensor, ASingleElementNeedsNoBrackets) {
  Converted number("7", DataType::kInt32, {1, 1});
  ASSERT_TRUE(number.status.ok());
  EXPECT_EQ(values_of<int32_t>(number.tensor), std::vector<int32_t>{7});
  EXPECT_EQ(bytes_of(Converted("\"x\"", DataType::kBytes, {1}).tensor), std::string("\1\0\0\0x", 5));
  EXPECT_EQ(Converted("7", DataType::kInt32, {2}).status.message(), kShapeText);
  EXPECT_EQ(Converted("{}", DataType::kInt32, {1}).status.code(), Code::kInvalidArgument);
}

TEST(JsonTensor, LargeTensorsAreOwned) {
  std::string data = "[1.5";
  for (int i = 1; i < 100'000; ++i) data += ",1.5";
  Converted converted(data + "]", DataType::kFp64, {100'000});
  ASSERT_TRUE(converted.status.ok());
  EXPECT_EQ(values_of<double>(converted.tensor), std::vector<double>(100'000, 1.5));
}

}  // namespace
}  // namespace atl::frontends::http
