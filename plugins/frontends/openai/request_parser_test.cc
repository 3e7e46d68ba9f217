#include "frontends/openai/request_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "atoll/core/text.h"

namespace atl::frontends::openai {
namespace {

CompletionRequest read(const std::string& more, bool is_chat = false) {
  const std::string given = is_chat ? R"("messages":[{"role":"user","content":"hi"}])" : R"("prompt":"hi")";
  auto found = read_completion(cat(R"({"model":"m",)", given, more.empty() ? "" : ",", more, "}"), is_chat);
  if (const auto* error = std::get_if<ApiError>(&found)) {
    ADD_FAILURE() << more << ": " << error->message;
    return {};
  }
  return std::get<CompletionRequest>(std::move(found));
}

std::string wrong(const std::string& more, bool is_chat = false) {
  const std::string given = is_chat ? R"("messages":[{"role":"user","content":"hi"}])" : R"("prompt":"hi")";
  auto found = read_completion(cat(R"({"model":"m",)", given, ",", more, "}"), is_chat);
  const auto* error = std::get_if<ApiError>(&found);
  return error == nullptr ? "" : error->param;
}

TEST(RequestParser, NullIsTheDefault) {
  const CompletionRequest request = read(
      R"("n":null,"stream":null,"stream_options":null,"stop":null,"max_tokens":null,"temperature":null,"seed":null,"tools":null,)"
      R"("logprobs":null,"logit_bias":null,"response_format":null,"suffix":null)");
  EXPECT_EQ(request.n, 1u);
  EXPECT_FALSE(request.stream);
  EXPECT_FALSE(request.max_tokens);
  EXPECT_EQ(request.sampling_json(0), "{}");
  EXPECT_EQ(request.first_to_follow(), nullptr);
  EXPECT_EQ(request.unknown_fields, 0u);
}

TEST(RequestParser, SamplingGoesToTheModelAsItIsWritten) {
  const CompletionRequest request = read(
      R"("temperature":0.7,"top_p":1,"top_k":-1,"seed":9223372036854775807,"max_tokens":5,"stop":["a","\"b"],)"
      R"("logit_bias":{"5":-100},"ignore_eos":true,"stop_token_ids":[2])");
  EXPECT_EQ(
      request.sampling_json(0),
      R"({"temperature":0.7,"top_p":1,"top_k":-1,"ignore_eos":true,"logit_bias":{"5":-100},"stop_token_ids":[2],)"
      R"("seed":9223372036854775807,"max_tokens":5,"stop":["a","\"b"]})");
  EXPECT_NE(request.sampling_json(1).find(R"("seed":-9223372036854775808)"), std::string::npos)
      << "each choice has a seed of its own";
  ASSERT_NE(request.first_to_follow(), nullptr);
  EXPECT_EQ(request.first_to_follow()->name, "temperature");
}

TEST(RequestParser, DefaultsNeedNotBeFollowed) {
  EXPECT_EQ(
      read(
          R"("temperature":1.0,"top_p":1.0,"presence_penalty":0,"frequency_penalty":0,"repetition_penalty":1.0,)"
          R"("top_k":0,"min_p":0,"min_tokens":0,"ignore_eos":false,"logit_bias":{},"best_of":1,"n":1,"echo":false,)"
          R"("logprobs":false,"tools":[],"tool_choice":"none","response_format":{"type":"text"})")
          .first_to_follow(),
      nullptr);
}

TEST(RequestParser, InAChatTheNewerNameWins) {
  EXPECT_EQ(read(R"("max_tokens":5,"max_completion_tokens":7)", true).max_tokens, 7);
  EXPECT_EQ(read(R"("max_tokens":5)", true).max_tokens, 5);
  EXPECT_EQ(read(R"("max_tokens":5,"max_completion_tokens":7)").max_tokens, 5);
}

TEST(RequestParser, WrongValuesAreNamed) {
  for (const char* const field : {R"("temperature":2.1)",
                                  R"("temperature":-0.1)",
                                  R"("temperature":"1")",
                                  R"("top_p":1.5)",
                                  R"("n":0)",
                                  R"("n":129)",
                                  R"("n":1.5)",
                                  R"("max_tokens":0)",
                                  R"("max_tokens":3000000000)",
                                  R"("seed":1.5)",
                                  R"("stream":1)",
                                  R"("stop":[""])",
                                  R"("stop":5)",
                                  R"("presence_penalty":-3)",
                                  R"("top_k":-2)",
                                  R"("logit_bias":5)",
                                  R"("stream_options":{"include_usage":true})",
                                  R"("logprobs":1)",
                                  R"("echo":true)",
                                  R"("suffix":"x")",
                                  R"("best_of":2)",
                                  R"("tools":[{"type":"function"}])",
                                  R"("response_format":{"type":"json_object"})"}) {
    const std::string name = std::string(field).substr(1, std::string(field).find('"', 1) - 1);
    EXPECT_EQ(wrong(field), name) << field;
  }
  EXPECT_EQ(wrong(R"("stream":true,"stream_options":{"include_usage":1})"), "stream_options.include_usage");
}

TEST(RequestParser, PromptsMayBeSeveral) {
  auto found = read_completion(R"({"model":"m","prompt":["a","b"],"n":64})", false);
  EXPECT_EQ(std::get<CompletionRequest>(found).prompts, (std::vector<std::string>{"a", "b"}));
  found = read_completion(R"({"model":"m","prompt":["a","b"],"n":65})", false);
  EXPECT_EQ(std::get<ApiError>(found).param, "n");
  for (const char* const prompt : {"[]", "5", "[5]", "[[5]]", R"(["a",null])", "{}"}) {
    found = read_completion(cat(R"({"model":"m","prompt":)", prompt, "}"), false);
    ASSERT_TRUE(std::holds_alternative<ApiError>(found)) << prompt;
    EXPECT_EQ(std::get<ApiError>(found).param, "prompt");
  }
}

TEST(RequestParser, BodiesThatAreNoObjectsAreRefused) {
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("\"\xff\""),
        std::string(100'000, '['), std::string("{\"model\":\"m\"}"), std::string("{\"prompt\":\"m\"}")}) {
    EXPECT_TRUE(std::holds_alternative<ApiError>(read_completion(body, false))) << body.substr(0, 20);
    EXPECT_TRUE(std::holds_alternative<ApiError>(read_completion(body, true))) << body.substr(0, 20);
    EXPECT_TRUE(std::holds_alternative<ApiError>(read_embedding(body))) << body.substr(0, 20);
  }
}

TEST(RequestParser, UnknownFieldsAreCounted) {
  EXPECT_EQ(read(R"("x":1,"y":null,"user":"me","store":true)").unknown_fields, 2u);
}

TEST(RequestParser, Embeddings) {
  auto found =
      read_embedding(R"({"model":"m","input":["a",""],"encoding_format":"base64","dimensions":3,"x":1})");
  const auto& request = std::get<EmbeddingRequest>(found);
  EXPECT_EQ(request.texts, (std::vector<std::string>{"a", ""}));
  EXPECT_TRUE(request.is_base64);
  EXPECT_EQ(request.dimensions, 3);
  EXPECT_EQ(request.unknown_fields, 1u);
  EXPECT_EQ(std::get<ApiError>(read_embedding(R"({"model":"m","input":[1,2]})")).param, "input");
  EXPECT_EQ(std::get<ApiError>(read_embedding(R"({"model":"m","input":"a","encoding_format":"hex"})")).param,
            "encoding_format");
  EXPECT_EQ(std::get<ApiError>(read_embedding(R"({"model":"m","input":"a","dimensions":0})")).param,
            "dimensions");
}

}  // namespace
}  // namespace atl::frontends::openai
