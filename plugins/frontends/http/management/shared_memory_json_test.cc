#include "frontends/http/management/shared_memory_json.h"

#include <gtest/gtest.h>

namespace atl::frontends::http {
namespace {

/// 64 zero bytes.
const std::string kHandle = std::string(86, 'A') + "==";

std::string system_refusal(std::string_view body) {
  inference::SystemSharedMemoryRegisterRequest request;
  Status status = read_system_register(body, &request);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << body;
  return std::string(status.message());
}
std::string cuda_refusal(std::string_view body) {
  inference::CudaSharedMemoryRegisterRequest request;
  Status status = read_cuda_register(body, &request);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << body;
  return std::string(status.message());
}

TEST(SharedMemoryJson, ReadsSystemRegistrations) {
  inference::SystemSharedMemoryRegisterRequest request;
  ASSERT_TRUE(
      read_system_register(R"({"key":"/k","offset":18446744073709551615,"byte_size":64})", &request).ok());
  EXPECT_EQ(request.key(), "/k");
  EXPECT_EQ(request.offset(), UINT64_MAX);
  EXPECT_EQ(request.byte_size(), 64u);
  ASSERT_TRUE(read_system_register(R"({"byte_size":0,"key":""})", &request).ok());
  EXPECT_EQ(request.offset(), 0u);
}

TEST(SharedMemoryJson, RefusesSystemRegistrationsWithTheProtocolsTexts) {
  EXPECT_EQ(system_refusal("{}"), "Shared memory register request has no 'key' field");
  EXPECT_EQ(system_refusal(R"({"byte_size":1})"), "Shared memory register request has no 'key' field");
  EXPECT_EQ(system_refusal(R"({"key":"k"})"), "Shared memory register request has no 'byte_size' field");
  EXPECT_EQ(system_refusal(R"({"key":1,"byte_size":1})"),
            "Unable to parse 'key': attempt to access JSON non-string as string");
  for (const char* number : {"-1", "1.5", "\"1\"", "null", "18446744073709551616"}) {
    EXPECT_EQ(system_refusal(cat(R"({"key":"k","byte_size":)", number, "}")),
              "Unable to parse 'byte_size': attempt to access JSON non-unsigned-integer as unsigned-integer");
    EXPECT_EQ(system_refusal(cat(R"({"key":"k","byte_size":1,"offset":)", number, "}")),
              "Unable to parse 'offset': attempt to access JSON non-unsigned-integer as unsigned-integer");
  }
  EXPECT_EQ(system_refusal(""), "failed to parse the request JSON buffer: The document is empty. at 0");
  EXPECT_EQ(system_refusal(R"({"key":"k","byte_size":1,"key":"l"})"),
            "the JSON object has the member 'key' twice, expected once");
}

TEST(SharedMemoryJson, ReadsCudaRegistrations) {
  inference::CudaSharedMemoryRegisterRequest request;
  const std::string body =
      cat(R"({"raw_handle":{"b64":")", kHandle, R"("},"device_id":9223372036854775807,"byte_size":8})");
  ASSERT_TRUE(read_cuda_register(body, &request).ok());
  EXPECT_EQ(request.raw_handle(), std::string(64, '\0'));
  EXPECT_EQ(request.device_id(), INT64_MAX);
  EXPECT_EQ(request.byte_size(), 8u);
}

TEST(SharedMemoryJson, RefusesCudaRegistrationsWithTheProtocolsTexts) {
  EXPECT_EQ(cuda_refusal(R"({"device_id":0,"byte_size":8})"),
            "Shared memory register request has no 'raw_handle' field");
  EXPECT_EQ(cuda_refusal(R"({"raw_handle":{"b64":""},"device_id":0})"),
            "Shared memory register request has no 'byte_size' field");
  EXPECT_EQ(cuda_refusal(R"({"raw_handle":{"b64":""},"byte_size":8})"),
            "Shared memory register request has no 'device_id' field");
  auto with_handle = [](std::string_view handle) {
    return cuda_refusal(cat(R"({"raw_handle":)", handle, R"(,"device_id":0,"byte_size":8})"));
  };
  const std::string invalid = "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t";
  for (const std::string& text : {std::string(), std::string("!"), std::string(84, 'A'), std::string(88, 'A'),
                                  std::string("not base64 at all")}) {
    EXPECT_EQ(with_handle(cat(R"({"b64":")", text, R"("})")), invalid) << text;
  }
  EXPECT_EQ(with_handle("{}"), "Unable to parse 'b64': attempt to access non-existing object member 'b64'");
  EXPECT_EQ(with_handle(R"({"b64":1})"),
            "Unable to parse 'b64': attempt to access JSON non-string as string");
  EXPECT_EQ(with_handle(R"("x")"),
            "Unable to parse 'raw_handle': attempt to access JSON non-object as object");
  EXPECT_EQ(with_handle(R"({"b64":"","b64":""})"),
            "the JSON object has the member 'b64' twice, expected once");
  for (const char* device : {"-1", "9223372036854775808", "\"0\""}) {
    EXPECT_EQ(cuda_refusal(
                  cat(R"({"raw_handle":{"b64":")", kHandle, R"("},"byte_size":8,"device_id":)", device, "}")),
              "Unable to parse 'device_id': attempt to access JSON non-unsigned-integer as unsigned-integer");
  }
}

TEST(SharedMemoryJson, WritesRegionsByName) {
  inference::SystemSharedMemoryStatusResponse system;
  EXPECT_EQ(system_regions_json(system), "[]");
  for (const char* name : {"b", "a"}) {
    auto& region = (*system.mutable_regions())[name];
    region.set_name(name);
    region.set_key(cat("/", name));
    region.set_offset(3);
    region.set_byte_size(UINT64_MAX);
  }
  EXPECT_EQ(system_regions_json(system),
            R"([{"name":"a","key":"/a","offset":3,"byte_size":18446744073709551615},)"
            R"({"name":"b","key":"/b","offset":3,"byte_size":18446744073709551615}])");
  inference::CudaSharedMemoryStatusResponse cuda;
  EXPECT_EQ(cuda_regions_json(cuda), "[]");
  auto& region = (*cuda.mutable_regions())["c"];
  region.set_name("c");
  region.set_device_id(1);
  region.set_byte_size(64);
  EXPECT_EQ(cuda_regions_json(cuda), R"([{"name":"c","device_id":1,"byte_size":64}])");
}

}  // namespace
}  // namespace atl::frontends::http
