#include "control/explicit/load_parameters.h"

#include <gtest/gtest.h>

namespace atl::control {
namespace {

ModelControlParameter text(std::string key, ParameterType type, std::string value) {
  return {std::move(key), type, std::move(value)};
}

std::string refusal(std::vector<ModelControlParameter> parameters) {
  auto request = read_load_request("m", std::move(parameters));
  EXPECT_EQ(request.status().code(), Code::kInvalidArgument);
  return std::string(request.status().message());
}

TEST(LoadParameters, AreTakenOver) {
  auto request = read_load_request(
      "m", {text("file:1/model.onnx", ParameterType::kBytes, "weights"),
            text("config", ParameterType::kString, "{}"), text("file:", ParameterType::kBytes, "")});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->model, "m");
  EXPECT_EQ(request->config, "{}");
  ASSERT_EQ(request->files.size(), 2u);
  EXPECT_EQ(request->files[0].path, "1/model.onnx");
  EXPECT_EQ(request->files[0].content, "weights");
  EXPECT_EQ(request->files[1].path, "") << "the repository says what is wrong with it";
  EXPECT_TRUE(request->refresh_members);
  auto plain = read_load_request("m", {});
  EXPECT_FALSE(plain->config || !plain->files.empty());
}

TEST(LoadParameters, OthersAreRefused) {
  EXPECT_EQ(refusal({text("other", ParameterType::kString, "")}),
            "Unrecognized load parameter 'other' with type 'string'");
  EXPECT_EQ(refusal({text("config", ParameterType::kBytes, "{}")}),
            "Unrecognized load parameter 'config' with type 'bytes'");
  EXPECT_EQ(refusal({text("file:1/x", ParameterType::kString, "")}),
            "Unrecognized load parameter 'file:1/x' with type 'string'");
  EXPECT_EQ(refusal({text("a", ParameterType::kInt, "")}), "Unrecognized load parameter 'a' with type 'int'");
  EXPECT_EQ(refusal({text("a", ParameterType::kBool, "")}),
            "Unrecognized load parameter 'a' with type 'bool'");
  EXPECT_EQ(refusal({text("a", ParameterType::kDouble, "")}),
            "Unrecognized load parameter 'a' with type 'double'");
  EXPECT_EQ(
      refusal({text("config", ParameterType::kString, "{}"), text("config", ParameterType::kString, "{}")}),
      "load parameter 'config' is given twice");
}

TEST(LoadName, HasToBeOne) {
  for (const char* name : {"", " ", "\t\n "}) {
    EXPECT_EQ(check_load_name(name).message(),
              "Model name cannot be empty. Please enter a valid name to deploy.");
  }
  for (const char* name :
       {"..", ".", "../etc", "a/../b", "/etc/passwd", "model/sub", "model/", " ..", "./m"}) {
    EXPECT_EQ(check_load_name(name).message(),
              cat("invalid model name '", name, "', model name must not contain path traversal characters"));
    EXPECT_EQ(check_load_name(name).code(), Code::kInvalidArgument);
  }
  for (std::string_view name : {std::string_view("..\0x", 4), std::string_view("a\0", 2)}) {
    EXPECT_EQ(check_load_name(name).message(), "invalid model name: it contains a NUL byte");
    EXPECT_EQ(check_load_name(name).code(), Code::kInvalidArgument);
  }
  for (const char* name : {"m", "m.onnx", "a..b", "..m", " m", "\"%\n", "\xc3\xbc"}) {
    EXPECT_TRUE(check_load_name(name).ok()) << name;
  }
}

TEST(UnloadParameters, OnlyTheOneIsLookedAt) {
  EXPECT_FALSE(wants_dependents({}));
  EXPECT_FALSE(wants_dependents({{"other", ParameterType::kBool, {}, true}}));
  EXPECT_TRUE(wants_dependents({{"unload_dependents", ParameterType::kBool, {}, true}}));
  EXPECT_FALSE(wants_dependents({{"unload_dependents", ParameterType::kBool, {}, false}}));
}

struct AnswerCase {
  bool overridden, exiting;
  Code code;
  bool was_read;
  Code answer;
  std::string text;
};

TEST(LoadAnswer, HasTheProtocolsTexts) {
  const std::string kPoll = "failed to load 'm', failed to poll from model repository: why";
  const std::string kLoad = "load failed for model 'm': why\n";
  const std::vector<AnswerCase> cases = {
      {false, false, Code::kOk, true, Code::kOk, ""},
      {false, false, Code::kNotFound, false, Code::kInternal, kPoll},
      {false, false, Code::kInvalidArgument, false, Code::kInternal, kPoll},
      {true, false, Code::kInvalidArgument, false, Code::kInvalidArgument, kPoll},
      {true, false, Code::kUnavailable, false, Code::kInternal, kPoll},
      {false, false, Code::kInvalidArgument, true, Code::kInvalidArgument, kLoad},
      {true, false, Code::kInternal, true, Code::kInvalidArgument, kLoad},
      {false, false, Code::kAborted, true, Code::kInternal,
       "failed to load 'm', no version is available: why"},
      {false, true, Code::kUnavailable, false, Code::kUnavailable, "why"},
  };
  for (const AnswerCase& one : cases) {
    ModelLoadOutcome outcome{Status(one.code, "why"), one.was_read};
    Status answer = load_answer("m", one.overridden, one.exiting, std::move(outcome));
    EXPECT_EQ(answer.code(), one.answer);
    EXPECT_EQ(answer.message(), one.text);
  }
  Status noted = std::move(invalid_argument("why").note("/models/m/config.pbtxt:3:1"));
  EXPECT_EQ(load_answer("m", false, false, {std::move(noted), false}).message(),
            "failed to load 'm', failed to poll from model repository: /models/m/config.pbtxt:3:1: why")
      << "the place is told, too";
}

}  // namespace
}  // namespace atl::control
