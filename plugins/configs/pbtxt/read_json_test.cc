#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "atoll/testing/temporary_directory.h"
#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

Result<std::string> read_json(std::string_view json, bool strict = false,
                              std::vector<RepositoryVersion> versions = {}) {
  // The directory's own configuration is not looked at.
  return PbtxtModelConfigs({}, nullptr)
      .read_json(model_with("no configuration", std::move(versions)), json, strict);
}

std::string message(std::string_view json, bool strict = false) {
  auto bytes = read_json(json, strict);
  EXPECT_EQ(bytes.status().code(), Code::kInvalidArgument) << json;
  return std::string(bytes.status().message());
}

TEST(ReadJson, GivesWhatTheTextWouldGive) {
  auto json = read_json(R"({"backend":"identity","max_batch_size":8,"dynamic_batching":{}})");
  ASSERT_TRUE(json.ok()) << json.status().text();
  auto text = PbtxtModelConfigs({}, nullptr)
                  .read(model_with("backend: 'identity' max_batch_size: 8 dynamic_batching {}"), false);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*json, *text) << "derived, normalised and serialized alike";
  EXPECT_EQ(config_from_bytes(*json).name(), "m") << "the name may be left out";
}

TEST(ReadJson, DerivesFromTheFiles) {
  test::TemporaryDirectory disk;
  std::filesystem::create_directories(disk.path() / "1");
  std::ofstream(disk.path() / "1" / "model.onnx") << "x";
  auto json = read_json("{}", false, {{1, disk.path() / "1"}});
  ASSERT_TRUE(json.ok()) << json.status().text();
  EXPECT_EQ(config_from_bytes(*json).backend(), "onnxruntime");
}

TEST(ReadJson, SaysThatTheOverrideIsWrong) {
  EXPECT_TRUE(message("no JSON").starts_with("Invalid config override: ")) << message("no JSON");
  EXPECT_NE(message(R"({"max_batchsize":8})").find("max_batchsize"), std::string::npos);
  EXPECT_EQ(message(R"({"backend":"a","backend":"b"})"),
            "Invalid config override: the JSON object has the member 'backend' twice, expected once");
}

TEST(ReadJson, ChecksTheSameRules) {
  EXPECT_EQ(message(R"({"name":"n","backend":"identity"})"),
            "unexpected directory name 'm' for model 'n', directory name must equal model name");
  EXPECT_NE(message(R"({"backend":"identity","max_batch_size":-1})").find("max_batch_size"),
            std::string::npos);
  EXPECT_NE(message(R"({"backend":"../identity"})"), "");
  EXPECT_NE(message(R"({"backend":"identity","input":[{"name":"i"}]})", true), "") << "strict";
}

}  // namespace
}  // namespace atl::pbtxt
