#include "backends/llamacpp/sampling/sampling_options.h"

#include <gtest/gtest.h>

namespace atl::llamacpp {
namespace {

TEST(SamplingOptions, Defaults) {
  for (const char* json : {"", "{}", R"({"temperature": null, "stop": null, "n": 1})"}) {
    Result<SamplingOptions> options = read_sampling_options(json, 100);
    ASSERT_TRUE(options.ok()) << options.status().text();
    EXPECT_EQ(options->temperature, 1);
    EXPECT_EQ(options->max_tokens, std::numeric_limits<int32_t>::max());
    EXPECT_TRUE(options->skip_special_tokens);
    EXPECT_FALSE(options->logprobs);
  }
}

TEST(SamplingOptions, AllFields) {
  Result<SamplingOptions> options = read_sampling_options(
      R"({"temperature":0,"top_p":0.5,"min_p":0.1,"top_k":-1,"presence_penalty":-2,"frequency_penalty":2,
          "repetition_penalty":1.5,"seed":-7,"logit_bias":{"5":-100,"6":1.5},"max_tokens":10,"min_tokens":3,
          "stop":["a","b"],"stop_token_ids":[1,2],"ignore_eos":true,"include_stop_str_in_output":true,
          "skip_special_tokens":false,"logprobs":5,"json_schema":{"type":"object"},"priority":-3})",
      100);
  ASSERT_TRUE(options.ok()) << options.status().text();
  EXPECT_TRUE(options->is_greedy());
  EXPECT_EQ(options->top_k, 0);
  EXPECT_EQ(options->seed, static_cast<uint64_t>(-7));
  EXPECT_EQ(options->logit_bias, (std::vector<std::pair<Token, float>>{{5, -100.0f}, {6, 1.5f}}));
  EXPECT_EQ(options->stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options->stop_tokens, (std::vector<Token>{1, 2}));
  EXPECT_EQ(options->logprobs, 5);
  EXPECT_EQ(options->json_schema, R"({"type":"object"})");
  EXPECT_EQ(options->priority, -3);
}

TEST(SamplingOptions, NumbersInTexts) {
  Result<SamplingOptions> options =
      read_sampling_options(R"({"temperature":"0.1","max_tokens":"5","ignore_eos":"True","stop":"x"})", 100);
  ASSERT_TRUE(options.ok()) << options.status().text();
  EXPECT_EQ(options->temperature, 0.1);
  EXPECT_EQ(options->max_tokens, 5);
  EXPECT_TRUE(options->ignore_eos);
  EXPECT_EQ(options->stops, std::vector<std::string>{"x"});
}

TEST(SamplingOptions, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> kCases[] = {
      {"[]", "expected a JSON object"},
      {"{", "found no JSON"},
      {R"({"temperature":-1})", "field 'temperature': found -1, expected a number from 0 to 100"},
      {R"({"temperature":"hot"})", "field 'temperature': found \"hot\""},
      {R"({"top_p":1.5})", "field 'top_p'"},
      {R"({"max_tokens":0})", "field 'max_tokens': found 0, expected a whole number from 1"},
      {R"({"max_tokens":1.5})", "field 'max_tokens'"},
      {R"({"min_tokens":5,"max_tokens":2})",
       "field 'min_tokens': found 5, expected at most max_tokens, which is 2"},
      {R"({"stop":""})", "field 'stop'"},
      {R"({"stop":["a",""]})", "field 'stop'"},
      {R"({"stop_token_ids":[100]})", "token ids from 0 to 99"},
      {R"({"logit_bias":{"x":1}})", "field 'logit_bias'"},
      {R"({"logprobs":21})", "field 'logprobs'"},
      {R"({"n":2})", "field 'n'"},
      {R"({"grammar":"root ::= x","json_schema":{}})", "'grammar' and 'json_schema'"},
      {R"({"temprature":1})", "field 'temprature' is not known"},
  };
  for (const auto& [json, text] : kCases) {
    Result<SamplingOptions> options = read_sampling_options(json, 100);
    ASSERT_FALSE(options.ok()) << json;
    EXPECT_EQ(options.status().code(), Code::kInvalidArgument);
    EXPECT_NE(options.status().message().find(text), std::string::npos) << options.status().text();
  }
}

TEST(SamplingOptions, DeepJsonDoesNotOverflowTheStack) {
  const std::string deep = cat(R"({"stop":)", std::string(1'000'000, '['), std::string(1'000'000, ']'), "}");
  EXPECT_FALSE(read_sampling_options(deep, 100).ok());
}

}  // namespace
}  // namespace atl::llamacpp
