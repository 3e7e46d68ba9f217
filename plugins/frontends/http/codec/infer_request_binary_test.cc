// Tensors that are not in the JSON: behind it, in shared memory, or all of the body.
#include <gtest/gtest.h>

#include "frontends/http/codec/testing/codec_test_support.h"

namespace atl::frontends::http {
namespace {

std::string binary_input(std::string_view name, std::string_view size, std::string_view datatype = "INT32") {
  return cat(R"({"name":")", name, R"(","datatype":")", datatype,
             R"(","shape":[1],"parameters":{"binary_data_size":)", size, "}}");
}
std::string with_inputs(std::string_view inputs) { return cat(R"({"inputs":[)", inputs, "]}"); }

void expect_refused(const std::string& json, std::string_view binary, std::string_view text) {
  ReadBody read = ReadBody::with_binary(json, binary);
  EXPECT_EQ(read.status.code(), Code::kInvalidArgument) << json;
  EXPECT_EQ(read.status.message(), text) << json;
}

TEST(InferRequestBinary, TensorsAreUsedWhereTheyAre) {
  ReadBody read = ReadBody::with_binary(
      with_inputs(cat(binary_input("A", "4"), R"(,{"name":"J","datatype":"INT8","shape":[1],"data":[5]},)",
                      binary_input("B", "0"), ",", binary_input("C", "3", "FP16"))),
      "aaaaccc");
  ASSERT_TRUE(read.status.ok()) << read.status.text();
  ASSERT_EQ(read.request.inputs.size(), 4u);
  EXPECT_EQ(bytes_of(read.request.inputs[0]), "aaaa");
  EXPECT_EQ(bytes_of(read.request.inputs[1]), "\5");
  EXPECT_TRUE(read.request.inputs[2].buffers.empty());
  EXPECT_EQ(bytes_of(read.request.inputs[3]), "ccc");
  const auto* end = read.body.bytes().data() + read.body.bytes().size();
  EXPECT_EQ(read.request.inputs[0].buffers[0].data, end - 7);
  EXPECT_EQ(read.request.inputs[3].buffers[0].data, end - 3);
  EXPECT_EQ(read.request.inputs[3].size_bytes, 3u);
}

TEST(InferRequestBinary, SizesMustFitTheBody) {
  expect_refused(with_inputs(binary_input("A", "8")), "aaaaa",
                 "unexpected size for input 'A', expecting 3 additional bytes for model 'm'");
  expect_refused(with_inputs(cat(binary_input("A", "4"), ",", binary_input("B", "2"))), "aaaab",
                 "unexpected size for input 'B', expecting 1 additional bytes for model 'm'");
  expect_refused(with_inputs(binary_input("A", "2147483648")), "aaaa",
                 "unexpected size for input 'A', expecting 2147483644 additional bytes for model 'm'");
  expect_refused(
      with_inputs(binary_input("A", "18446744073709551615")), "aaaa",
      "unexpected size for input 'A', expecting 18446744073709551611 additional bytes for model 'm'");
  expect_refused(with_inputs(binary_input("A", "3")), "aaaa",
                 "unexpected additional input data for model 'm'");
  expect_refused(with_inputs(""), "a", "unexpected additional input data for model 'm'");
  for (const char* size : {"-1", "1.5", "\"4\"", "null"}) {
    expect_refused(with_inputs(binary_input("A", size)), "aaaa",
                   "Unable to parse 'binary_data_size': attempt to access JSON non-unsigned-integer as "
                   "unsigned-integer");
  }
}

TEST(InferRequestBinary, NothingIsBehindABodyWithoutHeader) {
  ReadBody read(with_inputs(binary_input("A", "4")));
  EXPECT_EQ(read.status.message(),
            "unexpected size for input 'A', expecting 4 additional bytes for model 'm'");
}

TEST(InferRequestBinary, JsonCutInTwo) {
  const std::string json = with_inputs(binary_input("A", "4"));
  ReadBody read(json + "aaaa", json.size() / 2);
  EXPECT_EQ(read.status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(read.status.message().starts_with("failed to parse the request JSON buffer: "))
      << read.status.text();
  EXPECT_EQ(ReadBody("{}", 3).status.message(), "inference header size should be in range (0, 2), got: 3");
}

TEST(InferRequestBinary, BinaryPartIsNotLimited) {
  const std::string json = with_inputs(binary_input("A", "1000"));
  ReadBody read(cat(json, std::string(1000, 'a')), json.size(), {json.size()});
  EXPECT_TRUE(read.status.ok()) << read.status.text();
}

TEST(InferRequestBinary, RawBody) {
  ReadBody read("raw bytes", 0);
  ASSERT_TRUE(read.status.ok());
  ASSERT_EQ(read.request.inputs.size(), 1u);
  const InputTensor& input = read.request.inputs[0];
  EXPECT_EQ(input.flags, static_cast<uint32_t>(InputTensor::kRaw));
  EXPECT_EQ(input.size_bytes, 9u);
  EXPECT_EQ(bytes_of(input), "raw bytes");
  EXPECT_EQ(input.buffers[0].data, read.body.bytes().data());
  EXPECT_TRUE(read.parts.reply.is_binary(0));
  EXPECT_TRUE(ReadBody("", 0).status.ok());
  EXPECT_TRUE(ReadBody("12345", 0, {5}).status.ok());
  EXPECT_EQ(ReadBody("12345", 0, {4}).status.message(),
            "Raw input has a byte_size (5 bytes) that exceeds the maximum allowed value of 4 bytes. Use "
            "--http-max-input-size to increase the limit.");
}

TEST(InferRequestBinary, HeaderValues) {
  std::optional<size_t> size;
  for (size_t value : {0u, 1u, 9u, 10u}) {
    EXPECT_TRUE(read_json_bytes(cat(value), 10, &size).ok());
    EXPECT_EQ(size, value);
  }
  for (const char* value :
       {"-1", "11", "99999999999", "99999999999999999999999", "-99999999999999999999999"}) {
    const Status status = read_json_bytes(value, 10, &size);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), cat("inference header size should be in range (0, 10), got: ", value));
  }
  for (const char* value : {"", "abc", "1x", " 1", "1 ", "0x1", "+1", "1.0", "1e1"}) {
    const Status status = read_json_bytes(value, 10, &size);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), cat("Unable to parse Inference-Header-Content-Length, got: ", value));
  }
  EXPECT_EQ(size, 10u);
}

std::string region_input(std::string_view parameters, std::string_view datatype = "INT32") {
  return with_inputs(
      cat(R"({"name":"I","datatype":")", datatype, R"(","shape":[1],"parameters":{)", parameters, "}}"));
}

TEST(InferRequestRegions, InputsAreUsedInPlace) {
  ReadBody read(region_input(
      R"("shared_memory_region":"region","shared_memory_offset":8,"shared_memory_byte_size":4)"));
  ASSERT_TRUE(read.status.ok()) << read.status.text();
  EXPECT_EQ(read.request.inputs[0].buffers[0].data, read.shared_memory.bytes + 8);
  EXPECT_EQ(read.request.inputs[0].size_bytes, 4u);
  EXPECT_EQ(read.shared_memory.held, 1);
  read.regions.release();
  EXPECT_EQ(read.shared_memory.held, 0);
  ReadBody texts(region_input(R"("shared_memory_region":"region","shared_memory_byte_size":4)", "BYTES"));
  ASSERT_TRUE(texts.status.ok());
  EXPECT_NE(texts.request.inputs[0].buffers[0].data, texts.shared_memory.bytes);
}

TEST(InferRequestRegions, OutputsArePlaced) {
  ReadBody read(
      R"({"inputs":[],"outputs":[{"name":"O"},{"name":"P","parameters":{"shared_memory_region":"region",
    "shared_memory_offset":16,"shared_memory_byte_size":32,"binary_data":false,"classification":0}}]})");
  ASSERT_TRUE(read.status.ok()) << read.status.text();
  EXPECT_EQ(read.request.outputs[0].placement.data, nullptr);
  EXPECT_EQ(read.request.outputs[1].placement.data, read.shared_memory.bytes + 16);
  EXPECT_EQ(read.request.outputs[1].placement.size_bytes, 32u);
}

TEST(InferRequestRegions, Refusals) {
  const auto expect = [](const std::string& body, Code code, std::string_view text) {
    ReadBody read(body);
    EXPECT_EQ(read.status.code(), code) << body;
    EXPECT_EQ(read.status.message(), text) << body;
  };
  expect(region_input(R"("shared_memory_region":"other","shared_memory_byte_size":4)"), Code::kNotFound,
         "Unable to find shared memory region: 'other'");
  expect(region_input(R"("shared_memory_region":7)"), Code::kInvalidArgument,
         "Unable to parse 'shared_memory_region': attempt to access JSON non-string as string");
  for (const char* key : {"shared_memory_offset", "shared_memory_byte_size"}) {
    for (const char* value : {"-1", "\"1\"", "1.5"}) {
      expect(region_input(cat(R"("shared_memory_region":"region",")", key, "\":", value)),
             Code::kInvalidArgument,
             cat("Unable to parse '", key,
                 "': attempt to access JSON non-unsigned-integer as unsigned-integer"));
    }
  }
  expect(region_input(R"("shared_memory_region":"region","shared_memory_byte_size":65)"),
         Code::kInvalidArgument, "Invalid offset + byte size for shared memory region: 'region'");
  expect(region_input(R"("shared_memory_region":"region","shared_memory_offset":18446744073709551615)"),
         Code::kInvalidArgument, "Invalid offset + byte size for shared memory region: 'region'");
  const auto output = [](std::string_view more) {
    return cat(R"({"inputs":[],"outputs":[{"name":"O","parameters":{"shared_memory_region":"region",)", more,
               "}}]}");
  };
  expect(output(R"("classification":1)"), Code::kInvalidArgument,
         "Output can't set both 'shared_memory_region' and 'classification'");
  expect(output(R"("binary_data":true)"), Code::kInvalidArgument,
         "Output can't set both 'shared_memory_region' and 'binary_data'");
}

}  // namespace
}  // namespace atl::frontends::http
