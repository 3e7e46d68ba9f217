#include "frontends/http/management/repository_json.h"

#include <gtest/gtest.h>

namespace atl::frontends::http {
namespace {

template <class Message>
std::string refusal(Status (*read)(std::string_view, Message*) noexcept, std::string_view body) {
  Message message;
  Status status = read(body, &message);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << body;
  return std::string(status.message());
}

// --- index ---

bool ready_of(std::string_view body) {
  inference::RepositoryIndexRequest request;
  Status status = read_index_request(body, &request);
  EXPECT_TRUE(status.ok()) << status.text();
  return request.ready();
}

TEST(IndexRequest, ReadsReady) {
  EXPECT_FALSE(ready_of(""));
  EXPECT_FALSE(ready_of("{}"));
  EXPECT_FALSE(ready_of(R"({"ready":false})"));
  EXPECT_TRUE(ready_of(R"({"other":[1],"ready":true})"));
}

TEST(IndexRequest, RefusesWithTheProtocolsTexts) {
  for (const char* body : {R"({"ready":1})", R"({"ready":"true"})", R"({"ready":null})"}) {
    EXPECT_EQ(refusal(&read_index_request, body), "Invalid value for 'ready': expected a boolean");
  }
  EXPECT_EQ(refusal(&read_index_request, R"({"ready":true)"),
            "failed to parse the request JSON buffer: Missing a comma or '}' after an object member. at 13");
  EXPECT_EQ(refusal(&read_index_request, R"({"ready":true,"ready":true})"),
            "the JSON object has the member 'ready' twice, expected once");
}

// --- load ---

TEST(LoadRequest, MayBeEmpty) {
  for (const char* body : {"", "{}", R"({"parameters":{}})"}) {
    inference::RepositoryModelLoadRequest request;
    EXPECT_TRUE(read_load_request(body, &request).ok());
    EXPECT_TRUE(request.parameters().empty());
  }
}

TEST(LoadRequest, ReadsConfigAndFiles) {
  inference::RepositoryModelLoadRequest request;
  Status status = read_load_request(
      R"({"parameters":{"config":"{\"name\":\"m\"}","file:1/model.onnx":"AAEC/w==","file:":""}})", &request);
  ASSERT_TRUE(status.ok()) << status.text();
  const auto& parameters = request.parameters();
  ASSERT_EQ(parameters.size(), 3u);
  EXPECT_EQ(parameters.at("config").string_param(), R"({"name":"m"})");
  EXPECT_EQ(parameters.at("file:1/model.onnx").bytes_param(), std::string("\0\1\2\xff", 4));
  EXPECT_EQ(parameters.at("file:").parameter_choice_case(), inference::ModelRepositoryParameter::kBytesParam);
}

TEST(LoadRequest, ReadsLargeFiles) {
  std::string encoded;
  for (int i = 0; i < 1'000'000; ++i) encoded += "TWFu";
  inference::RepositoryModelLoadRequest request;
  ASSERT_TRUE(read_load_request(cat(R"({"parameters":{"file:1/f":")", encoded, R"("}})"), &request).ok());
  EXPECT_EQ(request.parameters().at("file:1/f").bytes_param().size(), 3'000'000u);
}

TEST(LoadRequest, RefusesWithTheProtocolsTexts) {
  auto refused = [](std::string_view body) { return refusal(&read_load_request, body); };
  EXPECT_EQ(refused(R"({"parameters":{"config":{}}})"), "attempt to access JSON non-string as string");
  EXPECT_EQ(refused(R"({"parameters":{"file:1/f":1}})"), "attempt to access JSON non-string as string");
  EXPECT_EQ(refused(R"({"parameters":{"other":"x"}})"), "unexpected error on creating Triton parameter");
  EXPECT_EQ(refused(R"({"parameters":[]})"),
            "Unable to parse 'parameters': attempt to access JSON non-object as object");
  EXPECT_EQ(refused(R"({"parameters":{"file:1/f":"*"}})"),
            "load parameter 'file:1/f': expected the file's content as base64");
  EXPECT_EQ(refused(R"({"parameters":{"config":"a","config":"b"}})"),
            "the JSON object has the member 'config' twice, expected once");
  EXPECT_EQ(refused("[]"), "attempt to access JSON non-object as object");
}

// --- unload ---

TEST(UnloadRequest, ReadsUnloadDependents) {
  for (const char* body : {"", "{}", R"({"parameters":{}})", R"({"parameters":{"other":[1,2]}})"}) {
    inference::RepositoryModelUnloadRequest request;
    EXPECT_TRUE(read_unload_request(body, &request).ok()) << body;
    EXPECT_TRUE(request.parameters().empty());
  }
  for (bool dependents : {true, false}) {
    inference::RepositoryModelUnloadRequest request;
    ASSERT_TRUE(
        read_unload_request(cat(R"({"parameters":{"unload_dependents":)", dependents, "}}"), &request).ok());
    EXPECT_EQ(request.parameters().at("unload_dependents").bool_param(), dependents);
    EXPECT_EQ(request.parameters().at("unload_dependents").parameter_choice_case(),
              inference::ModelRepositoryParameter::kBoolParam);
  }
}

TEST(UnloadRequest, RefusesWrongTypes) {
  EXPECT_EQ(refusal(&read_unload_request, R"({"parameters":{"unload_dependents":"true"}})"),
            "Unable to parse 'unload_dependents': attempt to access JSON non-boolean as boolean");
  EXPECT_EQ(refusal(&read_unload_request, R"({"parameters":1})"),
            "Unable to parse 'parameters': attempt to access JSON non-object as object");
  EXPECT_EQ(refusal(&read_unload_request, "{"),
            "failed to parse the request JSON buffer: Missing a name for object member. at 1");
}

}  // namespace
}  // namespace atl::frontends::http
