// Large texts are read without their long arrays, and mean what they would mean in one piece.
#include "frontends/http/codec/long_arrays.h"

#include <gtest/gtest.h>

#include "atoll/testing/random.h"
#include "frontends/http/codec/json_tensor.h"
#include "frontends/http/codec/testing/codec_test_support.h"

namespace atl::frontends::http {
namespace {

using test::Random;

std::string joined(size_t count, const std::function<std::string(size_t)>& element) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) text += cat(i == 0 ? "" : ",", element(i));
  return text + "]";
}

/// The same text for the other way of reading: blanks make it large.
std::string made_large(const std::string& text) { return text + std::string(kSmallJsonBytes, ' '); }

TEST(ShortenedJson, LeavesOutLongPlainArraysOnly) {
  const std::string numbers = joined(1025, [](size_t i) { return cat(i); });
  const std::string texts = joined(2000, [](size_t) { return R"("\n\u00e9")"; });
  const std::string rows = joined(300, [](size_t) { return std::string("[1,[2,3],4]"); });
  const std::string objects = joined(1100, [](size_t) { return std::string("{}"); });
  const std::string other = joined(1024, [](size_t) { return std::string("null"); });
  const std::string text = cat(R"({"a":)", numbers, R"(,"b":[)", texts, R"(,{"x":)", other, R"(}],"c":)",
                               rows, R"(,"d":)", objects, "}");
  ShortenedJson json;
  ASSERT_TRUE(json.read(text).ok());
  EXPECT_EQ(json.text, cat(R"({"a":{"\u0001[":0},"b":[{"\u0001[":1},{"x":)", other,
                           R"(}],"c":{"\u0001[":2},"d":)", objects, "}"));
  ASSERT_EQ(json.arrays.size(), 3u);
  EXPECT_EQ(json.arrays[0].text, numbers);
  EXPECT_EQ(json.arrays[1].text, texts);
  EXPECT_EQ(json.arrays[1].texts, 2000u);
  EXPECT_EQ(json.arrays[1].text_bytes, 2000u * 3);
  EXPECT_EQ(json.arrays[2].items, 300u);
  EXPECT_EQ(json.arrays[2].elements, 1200u);
  EXPECT_EQ(json.arrays[2].texts, 0u);
}

TEST(ShortenedJson, ALongArrayTakesThoseInsideWithIt) {
  const std::string row = joined(1500, [](size_t i) { return cat(i); });
  ShortenedJson json;
  ASSERT_TRUE(json.read(cat("{\"a\":[", row, ",", row, "]}")).ok());
  ASSERT_EQ(json.arrays.size(), 1u);
  EXPECT_EQ(json.arrays[0].elements, 3000u);
  EXPECT_EQ(json.arrays[0].items, 2u);
}

TEST(ShortenedJson, WhatIsLeftIsLimited) {
  const std::string most = joined(kMostOtherValues / 2 - 1, [](size_t) { return std::string(R"({"k":0})"); });
  ShortenedJson json;
  const Status refused = json.read(most);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.message(),
            cat("the JSON has ", (kMostOtherValues / 2 - 1) * 3 + 1,
                " values beside arrays of more than 1024 elements, at most 131072 are allowed"));
  EXPECT_TRUE(json.read(joined(40000, [](size_t) { return std::string(R"({"k":0})"); })).ok());
}

TEST(ShortenedJson, RefusesWhatThePartsWouldNot) {
  const std::string long_array = joined(2000, [](size_t) { return std::string("1"); });
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {cat("{\"a\":", long_array), "Missing a comma or '}' after an object member. at "},
           {cat("[", long_array, ",01]"), "Missing a comma or ']' after an array element. at "},
           {cat("[", long_array, ",1e999]"), "Number too big to be stored in double. at "},
           {cat("[\"\\udc00\",", long_array, "]"), "Invalid value or encoding."},
           {cat("[\"\xff\",", long_array, "]"), "Invalid encoding in string. at "},
           {cat("{\"\\u0001[\":0,\"a\":", long_array, "}"),
            "a member's name begins with the character U+0001 at "}}) {
    PaddedText padded(made_large(text));
    JsonDocument document;
    const Status refused = document.parse(padded.text());
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << message;
    EXPECT_TRUE(refused.message().starts_with(cat("failed to parse the request JSON buffer: ", message)))
        << refused.text();
  }
  PaddedText deep(made_large(cat(std::string(101, '['), long_array, std::string(101, ']'))));
  JsonDocument document;
  EXPECT_EQ(document.parse(deep.text()).message(), "JSON nesting depth exceeds maximum allowed limit (100)");
}

/// What became of `data`: a refusal's text, or the bytes.
std::string converted(const std::string& data, DataType datatype, int64_t elements) {
  PaddedText text(data);
  JsonDocument document;
  if (Status parsed = document.parse(text.text()); !parsed.ok()) return parsed.text();
  const int64_t shape[] = {elements};
  const JsonTensor conversion{document, "I", datatype, shape};
  Arena arena;
  OwnedBytes owned;
  InputTensor tensor;
  Status status = conversion.convert(document.root(), arena, owned, &tensor);
  return status.ok() ? bytes_of(tensor) : status.text();
}

TEST(LongTensor, IsReadAsAShortOne) {
  constexpr DataType kTypes[] = {DataType::kBool,   DataType::kUint8, DataType::kUint16, DataType::kUint32,
                                 DataType::kUint64, DataType::kInt8,  DataType::kInt16,  DataType::kInt32,
                                 DataType::kInt64,  DataType::kFp32,  DataType::kFp64,   DataType::kBytes};
  const std::vector<std::string> common[] = {
      {"0", "1", "100", "-0", "127"},
      {"0.1", "1e5", "3.4028234e38", "1.7976931348623157e308", "4.9e-324", "1e-400", "-0.0", "NaN",
       "-Infinity", "123456789012345678901234567890", "0.30000000000000004", "9007199254740993",
       "2.2250738585072011e-308", "179769313486231570000000000000000000000", "8.41e21",
       "5708990770823839207320493820740630171355185152e-45"},
      {"true", "false"},
      {R"("")", R"("text")", R"("\ud83d\ude00\u0000\"\\")", "\"\xc3\xa9\""}};
  const std::vector<std::string> odd = {"-1",
                                        "255",
                                        "256",
                                        "-129",
                                        "65536",
                                        "4294967296",
                                        "2147483648",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "-9223372036854775808",
                                        "1e39",
                                        "1.5",
                                        "null",
                                        "true",
                                        "\"x\"",
                                        "[7,[8]]",
                                        "[]",
                                        "NaN"};
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    const DataType type = kTypes[random.below(std::size(kTypes))];
    const size_t kind = type == DataType::kBool                              ? 2
                        : type == DataType::kBytes                           ? 3
                        : type == DataType::kFp32 || type == DataType::kFp64 ? random.below(2)
                                                                             : 0;
    const size_t count = 1025 + random.below(20);
    const size_t odd_at = random.chance(50) ? random.below(count) : count;
    const std::string data = joined(count, [&](size_t at) {
      const auto& pool = at == odd_at ? odd : common[kind];
      return pool[random.below(pool.size())];
    });
    const auto elements = static_cast<int64_t>(count) - (random.chance(10) ? 1 : 0);
    EXPECT_EQ(converted(made_large(data), type, elements), converted(data, type, elements))
        << data_type_name(type) << ' ' << (odd_at < count ? data.substr(0, 200) : "");
  }
}

TEST(LongTensor, InferAndGenerateRequestsUseIt) {
  const std::string numbers = joined(1200, [](size_t i) { return cat(i); });
  const std::string infer =
      made_large(cat(R"({"inputs":[{"name":"A","datatype":"INT32","shape":[1200],"data":)", numbers,
                     R"(},{"name":"B","datatype":"INT32","shape":[2],"data":[1,2]}]})"));
  ReadBody read(infer);
  ASSERT_TRUE(read.status.ok()) << read.status.text();
  ASSERT_EQ(read.request.inputs.size(), 2u);
  EXPECT_EQ(values_of<int32_t>(read.request.inputs[0])[1199], 1199);
  EXPECT_EQ(values_of<int32_t>(read.request.inputs[1]), (std::vector<int32_t>{1, 2}));
  const ModelInfo model = model_info({spec("A", DataType::kInt32, {-1})});
  ReadGenerate generate(made_large(cat(R"({"A":)", numbers, "}")), model);
  ASSERT_TRUE(generate.status.ok()) << generate.status.text();
  EXPECT_EQ(generate.request.inputs[0].shape[0], 1200);
  ReadBody rank(
      made_large(cat(R"({"inputs":[{"name":"A","datatype":"INT32","shape":)", numbers, R"(,"data":[1]}]})")));
  EXPECT_EQ(rank.status.message(), "the shape of input 'A' has 1200 dimensions, at most 32 are allowed");
  ReadBody id(made_large(cat(R"({"id":)", numbers, R"(,"inputs":[]})")));
  EXPECT_EQ(id.status.message(), "Unable to parse 'id': attempt to access JSON non-string as string");
}

}  // namespace
}  // namespace atl::frontends::http
