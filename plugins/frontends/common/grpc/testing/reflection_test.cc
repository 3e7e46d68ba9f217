// Server reflection, as its clients ask.
#include "frontends/common/grpc/reflection.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/unknown_field_set.h>

#include <map>
#include <optional>
#include <set>

#include "atoll/frontend/grpc_calls.h"
#include "atoll/testing/fake_access.h"
#include "atoll/testing/fake_request_memory.h"
#include "frontends/common/grpc/testing/generic_client.h"

namespace atl::frontends::grpc_cases {
namespace {

using google::protobuf::FileDescriptorProto;
using google::protobuf::UnknownFieldSet;
using grpc::StatusCode;

/// The values of a field, in their order.
std::vector<std::string> values(const std::string& message, int number) {
  UnknownFieldSet fields;
  EXPECT_TRUE(fields.ParseFromString(message));
  std::vector<std::string> found;
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == number) found.push_back(fields.field(i).length_delimited());
  }
  return found;
}
std::string question(int number, const std::string& value) {
  UnknownFieldSet fields;
  fields.AddLengthDelimited(number, value);
  std::string bytes;
  EXPECT_TRUE(fields.SerializeToString(&bytes));
  return bytes;
}
constexpr int kFileByName = 3, kFileOfSymbol = 4, kFileOfExtension = 5, kExtensionNumbers = 6,
              kListServices = 7;

class ReflectionTest : public GrpcFrontendTest {
 protected:
  ReflectionTest() { host_.options().set_bool("reflection", true); }
  ~ReflectionTest() override { stop(); }

  /// One question, one answer.
  std::string ask(int number, const std::string& value, const char* path = kReflectionPaths[0]) {
    GenericClient client(channel(), path);
    client.send(question(number, value));
    const std::string answer = client.read().value_or("");
    EXPECT_FALSE(client.read());
    EXPECT_TRUE(client.finish().ok());
    EXPECT_EQ(values(answer, 2), std::vector{question(number, value)}) << "what was asked";
    return answer;
  }
  std::map<std::string, FileDescriptorProto> files(const std::string& answer) {
    std::map<std::string, FileDescriptorProto> found;
    for (const std::string& response : values(answer, 4)) {
      for (const std::string& bytes : values(response, 1)) {
        FileDescriptorProto file;
        EXPECT_TRUE(file.ParseFromString(bytes));
        found[file.name()] = file;
      }
    }
    return found;
  }
  std::set<std::string> services(const std::string& answer) {
    std::set<std::string> found;
    for (const std::string& list : values(answer, 6)) {
      for (const std::string& service : values(list, 1)) found.insert(values(service, 1).at(0));
    }
    return found;
  }
};

TEST_F(ReflectionTest, TheServicesAreListedInBothVersions) {
  start();
  for (const char* path : kReflectionPaths) {
    EXPECT_EQ(services(ask(kListServices, "", path)),
              (std::set<std::string>{"inference.GRPCInferenceService", "grpc.health.v1.Health",
                                     "grpc.reflection.v1.ServerReflection",
                                     "grpc.reflection.v1alpha.ServerReflection"}));
  }
}

TEST_F(ReflectionTest, EveryListedServiceOfItsOwnIsDescribedWithWhatItImports) {
  start();
  for (const std::string& service : services(ask(kListServices, ""))) {
    const auto found = files(ask(kFileOfSymbol, service));
    ASSERT_FALSE(found.empty()) << service;
    google::protobuf::DescriptorPool pool;
    for (const auto& [name, file] : found) {
      for (const std::string& import : file.dependency()) EXPECT_TRUE(found.contains(import)) << import;
    }
    // In the order of imports.
    std::function<void(const std::string&)> build = [&](const std::string& name) {
      if (pool.FindFileByName(name) != nullptr) return;
      for (const std::string& import : found.at(name).dependency()) build(import);
      EXPECT_NE(pool.BuildFile(found.at(name)), nullptr) << name;
    };
    for (const auto& [name, file] : found) build(name);
    EXPECT_NE(pool.FindServiceByName(service), nullptr) << service;
  }
}

TEST_F(ReflectionTest, SymbolsAndFilesAreFound) {
  start();
  for (const char* symbol :
       {"inference.GRPCInferenceService.ModelInfer", "inference.ModelInferRequest.InferInputTensor",
        "grpc.health.v1.HealthCheckResponse.ServingStatus", "inference.ModelConfig"}) {
    EXPECT_FALSE(files(ask(kFileOfSymbol, symbol)).empty()) << symbol;
  }
  const auto by_name = files(ask(kFileByName, "model_config.proto"));
  EXPECT_EQ(by_name.count("model_config.proto"), 1u);
  const std::vector<std::string> numbers = values(ask(kExtensionNumbers, "inference.ModelConfig"), 5);
  ASSERT_EQ(numbers.size(), 1u);
  EXPECT_EQ(values(numbers[0], 1), std::vector<std::string>{"inference.ModelConfig"});
}

TEST_F(ReflectionTest, WhatIsNotServedIsNotFound) {
  start();
  const std::map<int, std::vector<std::string>> unknown = {
      {kFileByName, {"", "none.proto", "google/protobuf/descriptor.proto"}},
      {kFileOfSymbol, {"", "no.Such", "google.protobuf.FileDescriptorProto"}},
      {kFileOfExtension, {"", question(1, "inference.ModelConfig")}},
      {kExtensionNumbers, {"no.Such", "google.protobuf.FileOptions"}}};
  for (const auto& [number, names] : unknown) {
    for (const std::string& name : names) {
      const std::vector<std::string> errors = values(ask(number, name), 7);
      ASSERT_EQ(errors.size(), 1u) << number << " " << name;
      UnknownFieldSet error;
      ASSERT_TRUE(error.ParseFromString(errors[0]));
      EXPECT_EQ(error.field(0).varint(), static_cast<uint64_t>(StatusCode::NOT_FOUND));
    }
  }
}

TEST_F(ReflectionTest, SeveralQuestionsOfOneStreamAreAnsweredInTheirOrder) {
  start();
  GenericClient client(channel(), kReflectionPaths[0]);
  for (const char* symbol : {"inference.ModelConfig", "no.Such", "grpc.health.v1.Health"}) {
    client.send_one_of_several(question(kFileOfSymbol, symbol));
  }
  client.send_nothing();
  EXPECT_FALSE(files(client.read().value_or("")).empty());
  EXPECT_FALSE(values(client.read().value_or(""), 7).empty());
  EXPECT_FALSE(files(client.read().value_or("")).empty());
  EXPECT_FALSE(client.read());
  EXPECT_TRUE(client.finish().ok());
}

TEST_F(ReflectionTest, WhatIsNoQuestionEndsTheStream) {
  start();
  expect_status(call_raw(kReflectionPaths[0], "\xFF"), StatusCode::INVALID_ARGUMENT,
                "the question is not a valid ServerReflectionRequest message");
  EXPECT_EQ(call_raw(kReflectionPaths[0], std::string(kMostReflectionBytes + 1, 'x')).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(values(ask(1, "host"), 1), std::vector<std::string>{"host"});
}

TEST_F(ReflectionTest, ItIsACallOfTheCategoryMetadata) {
  test::FakeAccess access;
  access.require("metadata", "key", "secret", make_status(Code::kPermissionDenied, "not you"));
  host_.registry().publish<Access>("keys", access);
  start();
  expect_status(call_raw(kReflectionPaths[0], ""), StatusCode::PERMISSION_DENIED, "not you");
  GenericClient client(channel(), kReflectionPaths[0], {{"key", "secret"}});
  client.send(question(kListServices, ""));
  EXPECT_TRUE(client.read());
  EXPECT_TRUE(client.finish().ok());
  stop();
}

TEST_F(ReflectionTest, AnIdleStreamHoldsUpNoDrain) {
  start();
  GenericClient client(channel(), kReflectionPaths[0]);
  client.send_one_of_several(question(kListServices, ""));
  EXPECT_TRUE(client.read());
  EXPECT_EQ(calls(), 0);
  catalog_.set_exiting(true);
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns() + 600 * kNsPerSecond);
  client.send(question(kListServices, ""));
  expect_status(client.finish(), StatusCode::UNAVAILABLE,
                "GRPC server is shutting down and has stopped accepting new requests.");
}

TEST_F(ReflectionTest, WithoutTheOptionThereIsNone) {
  host_.options().set_bool("reflection", false);
  start();
  for (const char* path : kReflectionPaths) {
    expect_status(call_raw(path, ""), StatusCode::UNIMPLEMENTED, "");
  }
}

TEST_F(ReflectionTest, AnswersCountAsMemoryOfRequestsWhileTheyWait) {
  test::FakeRequestMemory memory;
  host_.registry().publish<RequestMemory>("memory", memory);
  start();
  const size_t bytes = ask(kFileOfSymbol, "inference.GRPCInferenceService").size();
  EXPECT_GE(memory.peak_bytes(), bytes);
  EXPECT_TRUE(eventually([&] { return memory.used_bytes() == 0; }));
  memory.set_limit(bytes - 1);
  GenericClient refused(channel(), kReflectionPaths[0]);
  refused.send(question(kFileOfSymbol, "inference.GRPCInferenceService"));
  EXPECT_FALSE(refused.read());
  EXPECT_EQ(refused.finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_FALSE(services(ask(kListServices, "")).empty()) << "small ones do not";
  stop();
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
