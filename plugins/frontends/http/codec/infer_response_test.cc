// What a client reads: the order of members, numbers as the protocol prints them, tensors behind the JSON.
#include "frontends/http/codec/infer_response.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontends/http/codec/testing/codec_test_support.h"
#include "frontends/http/codec/testing/response_test_support.h"

namespace atl::frontends::http {
namespace {

class InferResponse : public ::testing::Test {
 protected:
  /// Head, or the error's text.
  std::string head() {
    Result<InferReply> written = write_infer_response(info_, request_, form_, response_, head_);
    if (!written.ok()) {
      code_ = written.status().code();
      return std::string(written.status().message());
    }
    reply_ = written.value();
    EXPECT_EQ(reply_.json_bytes, head_.text().size());
    EXPECT_EQ(reply_.content_type(), reply_.binary ? "application/octet-stream" : "application/json");
    uint64_t total = 0;
    for (const ReplyPart& part : reply_.parts) total += part.bytes.size();
    EXPECT_EQ(total, reply_.total_bytes);
    EXPECT_EQ(reply_.parts[0].tensor, nullptr);
    EXPECT_EQ(part(0), head_.text());
    return std::string(head_.text());
  }
  /// The `data` of the only output.
  std::string data(DataType datatype, std::vector<int64_t> shape, std::string_view bytes) {
    response_.reset();
    add_output(response_, "O", datatype, shape, bytes);
    std::string text = head();
    const size_t at = text.find("\"data\":");
    if (at == std::string::npos) return text;
    return text.substr(at + 7, text.size() - at - 7 - 3);
  }
  template <class T>
  std::string data(DataType datatype, const std::vector<T>& values) {
    return data(datatype, {static_cast<int64_t>(values.size())}, packed(values));
  }
  std::string part(size_t i) {
    return {reinterpret_cast<const char*>(reply_.parts[i].bytes.data()), reply_.parts[i].bytes.size()};
  }

  ModelInfo info_ = model_info();
  Request request_;
  ReplyForm form_;
  Response response_;
  JsonOutput head_;
  InferReply reply_;
  Code code_ = Code::kOk;
};

TEST_F(InferResponse, MembersAreInTheProtocolsOrder) {
  EXPECT_EQ(head(), R"({"model_name":"m","model_version":"3","outputs":[]})");
  request_.id = "7\"";
  add_parameter(response_, "b", ParameterType::kBool).bool_value = true;
  add_parameter(response_, "i", ParameterType::kInt).int_value = INT64_MIN;
  add_parameter(response_, "s", ParameterType::kString).text = "t\n";
  add_parameter(response_, "x", ParameterType::kBytes).text = "not sent";
  add_parameter(response_, "d", ParameterType::kDouble).double_value = 1;
  add_output(response_, "A", DataType::kInt32, {1, 2}, packed<int32_t>({1, -2}));
  add_output(response_, "B", DataType::kBytes, {1}, packed_texts({"x"}));
  EXPECT_EQ(head(), R"({"id":"7\"","model_name":"m","model_version":"3",)"
                    R"("parameters":{"b":true,"i":-9223372036854775808,"s":"t\n","d":1.0},)"
                    R"("outputs":[{"name":"A","datatype":"INT32","shape":[1,2],"data":[1,-2]},)"
                    R"({"name":"B","datatype":"BYTES","shape":[1],"data":["x"]}]})");
  EXPECT_FALSE(reply_.binary);
}

TEST_F(InferResponse, OnlyBytesParametersLeaveNoMember) {
  add_parameter(response_, "x", ParameterType::kBytes).text = "not sent";
  EXPECT_EQ(head(), R"({"model_name":"m","model_version":"3","outputs":[]})");
}

TEST_F(InferResponse, Numbers) {
  EXPECT_EQ(data<uint8_t>(DataType::kBool, {0, 1, 2}), "[false,true,true]");
  EXPECT_EQ(data<uint8_t>(DataType::kUint8, {0, 255}), "[0,255]");
  EXPECT_EQ(data<uint16_t>(DataType::kUint16, {65535}), "[65535]");
  EXPECT_EQ(data<uint32_t>(DataType::kUint32, {UINT32_MAX}), "[4294967295]");
  EXPECT_EQ(data<uint64_t>(DataType::kUint64, {UINT64_MAX}), "[18446744073709551615]");
  EXPECT_EQ(data<int8_t>(DataType::kInt8, {-128, 127}), "[-128,127]");
  EXPECT_EQ(data<int16_t>(DataType::kInt16, {-32768}), "[-32768]");
  EXPECT_EQ(data<int32_t>(DataType::kInt32, {INT32_MIN}), "[-2147483648]");
  EXPECT_EQ(data<int64_t>(DataType::kInt64, {INT64_MIN, INT64_MAX}),
            "[-9223372036854775808,9223372036854775807]");
  EXPECT_EQ(data<float>(DataType::kFp32, {0.1f, 1, -0.0f, 1e20f, 16777216}),
            "[0.10000000149011612,1.0,-0.0,100000002004087730000.0,16777216.0]");
  EXPECT_EQ(data<float>(DataType::kFp32, {NAN, INFINITY, -INFINITY}), "[NaN,Infinity,-Infinity]");
  EXPECT_EQ(data<double>(DataType::kFp64, {0.1, 1e300, 5e-324, 1e21, -1.5}), "[0.1,1e300,5e-324,1e21,-1.5]");
}

TEST_F(InferResponse, NumbersAreReadBackTheSame) {
  std::vector<float> floats;
  for (uint32_t bits = 0; bits < 0xFF000000u; bits += 0x00FEDCB1u) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value)) floats.push_back(value);
  }
  const std::string text = data(DataType::kFp32, floats);
  JsonDocument document;
  ASSERT_TRUE(document.parse_unpadded(text).ok());
  size_t i = 0;
  JsonArray array;
  ASSERT_EQ(document.root().get_array().get(array), simdjson::SUCCESS);
  for (JsonElement element : array) {
    double number = 0;
    ASSERT_TRUE(document.number(element, &number));
    ASSERT_EQ(number, static_cast<double>(floats[i])) << i;
    ++i;
  }
  EXPECT_EQ(i, floats.size());
}

TEST_F(InferResponse, DataIsFlatAndMayBeEmpty) {
  EXPECT_EQ(data(DataType::kInt32, {2, 2}, packed<int32_t>({1, 2, 3, 4})), "[1,2,3,4]");
  EXPECT_EQ(data(DataType::kInt32, {}, packed<int32_t>({1})), "[1]");
  EXPECT_EQ(data(DataType::kInt32, {0, 4}, ""), "[]");
  EXPECT_EQ(data(DataType::kBytes, {0}, ""), "[]");
}

TEST_F(InferResponse, Texts) {
  EXPECT_EQ(data(DataType::kBytes, {3}, packed_texts({"", "a\"\\\n", std::string("\0\xC3\xA9", 3)})),
            "[\"\",\"a\\\"\\\\\\n\",\"\\u0000\xC3\xA9\"]");
  EXPECT_EQ(data(DataType::kBytes, {2}, packed_texts({"ok", "\xff"})),
            "output 'O': BYTES element 1 is not UTF-8 and cannot be sent as JSON. Please use the binary "
            "data format for output");
  EXPECT_EQ(code_, Code::kInvalidArgument);
}

TEST_F(InferResponse, HalfFloatsHaveNoForm) {
  EXPECT_EQ(data(DataType::kFp16, {1}, "ab"),
            "sending FP16 data via JSON is not supported. Please use the binary data format for output");
  EXPECT_EQ(code_, Code::kInvalidArgument);
  EXPECT_EQ(data(DataType::kBf16, {1}, "ab"),
            "sending BF16 data via JSON is not supported. Please use the binary data format for output");
  form_.binary_default = true;
  EXPECT_EQ(data(DataType::kFp16, {1}, "ab"),
            R"({"model_name":"m","model_version":"3","outputs":[{"name":"O","datatype":"FP16","shape":[1],)"
            R"("parameters":{"binary_data_size":2}}]})");
  EXPECT_EQ(part(1), "ab");
}

TEST_F(InferResponse, MalformedTensorsAreInternalErrors) {
  const auto size_text = [](const char* type, const char* shape, int got, const char* wants) {
    return cat("output 'O' of type ", type, " and shape ", shape, " has ", got, " bytes, its shape asks for ",
               wants);
  };
  for (bool binary : {false, true}) {
    form_.binary_default = binary;
    EXPECT_EQ(data(DataType::kInt32, {2}, "1234567"), size_text("INT32", "[2]", 7, "8"));
    EXPECT_EQ(data(DataType::kInt32, {2}, "123456789"), size_text("INT32", "[2]", 9, "8"));
    EXPECT_EQ(data(DataType::kInt32, {-1}, ""), size_text("INT32", "[-1]", 0, "more than 2^63"));
    EXPECT_EQ(data(DataType::kInt32, {int64_t{1} << 32, int64_t{1} << 32}, ""),
              size_text("INT32", "[4294967296,4294967296]", 0, "more than 2^63"));
    EXPECT_EQ(code_, Code::kInternal);
    EXPECT_EQ(data(DataType::kInvalid, {1}, "1"), "output 'O' has no datatype");
  }
  form_.binary_default = false;
  const auto text = [](const char* shape, int element, int size) {
    return cat("output 'O' of shape ", shape, ": BYTES element ", element, " does not fit the ", size,
               " bytes of the tensor");
  };
  EXPECT_EQ(data(DataType::kBytes, {1}, ""), text("[1]", 0, 0));
  EXPECT_EQ(data(DataType::kBytes, {1}, "\1\0\0"), text("[1]", 0, 1));
  EXPECT_EQ(data(DataType::kBytes, {1}, std::string_view("\2\0\0\0a", 5)), text("[1]", 0, 5));
  EXPECT_EQ(data(DataType::kBytes, {1}, "\xff\xff\xff\xff"), text("[1]", 0, 4));
  EXPECT_EQ(data(DataType::kBytes, {2}, packed_texts({"a"})), text("[2]", 1, 5));
  EXPECT_EQ(data(DataType::kBytes, {1}, packed_texts({"a", "b"})), text("[1]", 1, 10));
  EXPECT_EQ(data(DataType::kBytes, {int64_t{1} << 62}, ""), text("[4611686018427387904]", 0, 0));
  EXPECT_EQ(code_, Code::kInternal);
}

TEST_F(InferResponse, GpuMemoryIsAnInternalError) {
  OutputTensor& output = add_output(response_, "O", DataType::kInt8, {1}, "a");
  output.buffer.kind = MemoryKind::kGpu;
  EXPECT_EQ(head(), "output 'O' is in GPU memory, expected CPU memory");
  EXPECT_EQ(code_, Code::kInternal);
}

TEST_F(InferResponse, BinaryTensorsFollowWhereTheyAre) {
  form_.lists_outputs = true;
  form_.binary[0] = form_.binary[2] = form_.binary[3] = true;
  for (const char* name : {"A", "B", "C", "D"}) request_.add_output().name = name;
  add_output(response_, "A", DataType::kInt8, {2}, "ab");
  add_output(response_, "B", DataType::kInt8, {1}, "\1");
  add_output(response_, "C", DataType::kInt8, {0}, "");
  add_output(response_, "D", DataType::kBytes, {1}, packed_texts({"\xff"}));
  EXPECT_EQ(head(), R"({"model_name":"m","model_version":"3","outputs":[)"
                    R"({"name":"A","datatype":"INT8","shape":[2],"parameters":{"binary_data_size":2}},)"
                    R"({"name":"B","datatype":"INT8","shape":[1],"data":[1]},)"
                    R"({"name":"C","datatype":"INT8","shape":[0],"parameters":{"binary_data_size":0}},)"
                    R"({"name":"D","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]})");
  EXPECT_TRUE(reply_.binary);
  ASSERT_EQ(reply_.parts.size(), 3u);
  EXPECT_EQ(part(1), "ab");
  EXPECT_EQ(reply_.parts[1].tensor, &response_.outputs[0]);
  EXPECT_EQ(reply_.parts[1].bytes.data(), response_.outputs[0].buffer.data);
  EXPECT_EQ(reply_.parts[2].tensor, &response_.outputs[3]);
}

TEST_F(InferResponse, OutputsAreKnownByNameWhereverTheyAre) {
  form_.lists_outputs = true;
  form_.binary[1] = true;
  for (const char* name : {"A", "B"}) request_.add_output().name = name;
  add_output(response_, "B", DataType::kInt8, {1}, "b");
  EXPECT_NE(head().find("binary_data_size"), std::string::npos);
  add_output(response_, "X", DataType::kInt8, {1}, "b");
  EXPECT_NE(head().find(R"("name":"X","datatype":"INT8","shape":[1],"data":[98])"), std::string::npos);
}

TEST_F(InferResponse, EmptyBinaryTensorsMakeNoBinaryReply) {
  form_.binary_default = true;
  add_output(response_, "A", DataType::kInt8, {0}, "");
  EXPECT_EQ(head(),
            R"({"model_name":"m","model_version":"3","outputs":[{"name":"A","datatype":"INT8","shape":[0],)"
            R"("parameters":{"binary_data_size":0}}]})");
  EXPECT_FALSE(reply_.binary);
  EXPECT_EQ(reply_.parts.size(), 1u);
}

TEST_F(InferResponse, OutputsInRegionsHaveNoData) {
  char region[4];
  form_.lists_outputs = true;
  RequestedOutput& wanted = request_.add_output();
  wanted.name = "A";
  wanted.placement.data = region;
  wanted.placement.size_bytes = sizeof region;
  add_output(response_, "A", DataType::kFp16, {2}, "abcd").buffer.data = region;
  EXPECT_EQ(
      head(),
      R"({"model_name":"m","model_version":"3","outputs":[{"name":"A","datatype":"FP16","shape":[2]}]})");
}

TEST_F(InferResponse, TheHeadIsReused) {
  const std::string first = data(DataType::kInt8, {2}, "ab");
  EXPECT_EQ(data(DataType::kInt8, {2}, "ab"), first);
  const std::string large(3 << 20, 'a');
  data(DataType::kUint8, {3 << 20}, large);
  EXPECT_EQ(data(DataType::kInt8, {2}, "ab"), first);
}

}  // namespace
}  // namespace atl::frontends::http
