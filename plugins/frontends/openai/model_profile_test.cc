#include "frontends/openai/model_profile.h"

#include <gtest/gtest.h>

#include <string>

#include "atoll/core/text.h"
#include "frontends/openai/testing/text_models.h"
#include "model_config.pb.h"

namespace atl::frontends::openai {
namespace {

ModelInfo with(ModelInfo info, const std::string& key, const std::string& value) {
  inference::ModelConfig config;
  (*config.mutable_parameters())[key].set_string_value(value);
  info.config = config.SerializeAsString();
  return info;
}

/// The roles that it has.
std::string roles(const ModelInfo& info) {
  const ModelProfile profile(info, ToolSyntax::kHermes);
  std::string names;
  for (const Role role : {Role::kChat, Role::kCompletion, Role::kEmbedding, Role::kRerank, Role::kClassify}) {
    if (profile.serves(role)) names += cat(names.empty() ? "" : " ", role_name(role));
  }
  return names;
}

TEST(ModelProfile, TensorsSayTheRole) {
  EXPECT_EQ(roles(language_model("m", true)), "chat completion");
  EXPECT_EQ(roles(embedding_model("m")), "embedding");
  ModelInfo info = language_model("m", true);
  info.outputs.push_back(tensor("embedding", DataType::kFp32));
  EXPECT_EQ(roles(info), "chat completion embedding");
  info.inputs.push_back(tensor("image", DataType::kUint8));
  EXPECT_EQ(roles(info), "") << "nobody can give the image";
  info.inputs.back().optional = true;
  EXPECT_EQ(roles(info), "chat completion embedding");
  ModelInfo ranker;
  ranker.inputs = {tensor("query", DataType::kBytes), tensor("documents", DataType::kBytes)};
  ranker.inputs[1].dims = {-1};
  ranker.outputs = {tensor("scores", DataType::kFp32)};
  EXPECT_EQ(roles(ranker), "rerank");
  ModelInfo classifier = plain_model("m");
  classifier.outputs = {tensor("label", DataType::kBytes), tensor("score", DataType::kFp32)};
  EXPECT_EQ(roles(classifier), "classify");
}

TEST(ModelProfile, TheConfigurationLeavesRolesOut) {
  ModelInfo info = language_model("m", true);
  info.outputs.push_back(tensor("embedding", DataType::kFp32));
  EXPECT_EQ(roles(with(info, "openai", "embeddings")), "embedding");
  EXPECT_EQ(roles(with(info, "openai", "chat, completion")), "chat completion");
  EXPECT_EQ(roles(with(info, "openai", "none")), "");
  EXPECT_EQ(roles(with(info, "other", "none")), "chat completion embedding");
}

TEST(ModelProfile, TheConfigurationNamesTensors) {
  ModelInfo info = plain_model("m");
  info.inputs[0].name = "TEXT";
  info.outputs = {tensor("VECTOR", DataType::kFp32)};
  EXPECT_EQ(roles(info), "");
  const ModelInfo named = with(info, "openai", "embedding, text_input=TEXT, embedding = VECTOR");
  EXPECT_EQ(roles(named), "embedding");
  const ModelProfile profile(named, ToolSyntax::kHermes);
  EXPECT_EQ(profile.input(named, kTextInput), &named.inputs[0]);
  EXPECT_EQ(profile.output(named, kEmbedding), &named.outputs[0]);
  EXPECT_EQ(profile.own_name(kEmbedding), "VECTOR");
}

TEST(ModelProfile, WhatIsWrongIsSaid) {
  const auto problem = [](const std::string& key, const std::string& value) {
    return ModelProfile(with(plain_model("m"), key, value), ToolSyntax::kHermes).problem();
  };
  EXPECT_EQ(problem("openai", "chat"), "");
  EXPECT_NE(problem("openai", "talk").find("'talk'"), std::string::npos);
  EXPECT_NE(problem("openai", "image=X").find("'image'"), std::string::npos);
  EXPECT_NE(problem("openai", "embedding").find("needs"), std::string::npos);
  EXPECT_NE(problem("tool_call_parser", "x").find("'x'"), std::string::npos);
}

TEST(ModelProfile, TheToolSyntaxIsTheModelsOrThePlugins) {
  const ModelInfo info = plain_model("m");
  EXPECT_EQ(ModelProfile(info, ToolSyntax::kMistral).tool_syntax(), ToolSyntax::kMistral);
  EXPECT_EQ(ModelProfile(with(info, "tool_call_parser", "llama3_json"), ToolSyntax::kMistral).tool_syntax(),
            ToolSyntax::kLlama3);
}

TEST(ModelProfiles, EachLoadHasItsOwn) {
  ModelProfiles profiles(ToolSyntax::kHermes);
  ModelInfo info = plain_model("m");
  info.load_id = 7;
  const auto first = profiles.of(info);
  EXPECT_EQ(profiles.of(info), first);
  info.load_id = 8;
  info.outputs = {tensor("embedding", DataType::kFp32)};
  EXPECT_TRUE(profiles.of(info)->serves(Role::kEmbedding));
}

}  // namespace
}  // namespace atl::frontends::openai
