#include "frontends/openai/request/completion_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "atoll/core/text.h"

namespace atl::frontends::openai {
namespace {

GenerationRequest read(const std::string& more, bool is_chat = false) {
  const std::string given = is_chat ? R"("messages":[{"role":"user","content":"hi"}])" : R"("prompt":"hi")";
  auto found = read_completion(cat(R"({"model":"m",)", given, more.empty() ? "" : ",", more, "}"), is_chat);
  if (const auto* error = std::get_if<ApiError>(&found)) {
    ADD_FAILURE() << more << ": " << error->message;
    return {};
  }
  return std::get<GenerationRequest>(std::move(found));
}

std::string wrong(const std::string& more, bool is_chat = false) {
  const std::string given = is_chat ? R"("messages":[{"role":"user","content":"hi"}])" : R"("prompt":"hi")";
  auto found = read_completion(cat(R"({"model":"m",)", given, ",", more, "}"), is_chat);
  const auto* error = std::get_if<ApiError>(&found);
  return error == nullptr ? "" : error->param;
}

TEST(RequestParser, NullIsTheDefault) {
  const GenerationRequest request = read(
      R"("n":null,"stream":null,"stream_options":null,"stop":null,"max_tokens":null,"temperature":null,"seed":null,"tools":null,)"
      R"("logprobs":null,"logit_bias":null,"response_format":null,"suffix":null)");
  EXPECT_EQ(request.n, 1u);
  EXPECT_FALSE(request.stream);
  EXPECT_FALSE(request.max_tokens);
  EXPECT_EQ(request.sampling_json(0), "{}");
  EXPECT_EQ(GenerationRequest::first_to_follow(request.sampling), nullptr);
  EXPECT_EQ(request.unknown_fields, 0u);
}

TEST(RequestParser, SamplingGoesToTheModelAsItIsWritten) {
  const GenerationRequest request = read(
      R"("temperature":0.7,"top_p":1,"top_k":-1,"seed":9223372036854775807,"max_tokens":5,"stop":["a","\"b"],)"
      R"("logit_bias":{"5":-100},"ignore_eos":true,"stop_token_ids":[2])");
  EXPECT_EQ(
      request.sampling_json(0),
      R"({"temperature":0.7,"top_p":1,"top_k":-1,"ignore_eos":true,"logit_bias":{"5":-100},"stop_token_ids":[2],)"
      R"("seed":9223372036854775807,"max_tokens":5,"stop":["a","\"b"]})");
  EXPECT_NE(request.sampling_json(1).find(R"("seed":-9223372036854775808)"), std::string::npos)
      << "each choice has a seed of its own";
  ASSERT_NE(GenerationRequest::first_to_follow(request.sampling), nullptr);
  EXPECT_EQ(GenerationRequest::first_to_follow(request.sampling)->name, "temperature");
}

TEST(RequestParser, DefaultsNeedNotBeFollowed) {
  EXPECT_EQ(
      GenerationRequest::first_to_follow(
          read(
              R"("temperature":1.0,"top_p":1.0,"presence_penalty":0,"frequency_penalty":0,"repetition_penalty":1.0,)"
              R"("top_k":0,"min_p":0,"min_tokens":0,"ignore_eos":false,"logit_bias":{},"best_of":1,"n":1,"echo":false,)"
              R"("logprobs":false,"tools":[],"tool_choice":"none","response_format":{"type":"text"})")
              .sampling),
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
                                  R"("logit_bias":[])",
                                  R"("logit_bias":{"x":1})",
                                  R"("logit_bias":{"-1":1})",
                                  R"("logit_bias":{"1":101})",
                                  R"("logit_bias":{"1":"2"})",
                                  R"("stop_token_ids":[-1])",
                                  R"("stop_token_ids":{})",
                                  R"("stream_options":{"include_usage":true})",
                                  R"("echo":true)",
                                  R"("suffix":"x")",
                                  R"("best_of":2)",
                                  R"("logprobs":6)",
                                  R"("logprobs":true)",
                                  R"("tools":[{"type":"function"}])",
                                  R"("tool_choice":"required")",
                                  R"("top_logprobs":3)",
                                  R"("response_format":{"type":"xml"})",
                                  R"("response_format":{"type":"json_schema"})",
                                  R"("json_schema":"{}")",
                                  R"("grammar":5)",
                                  R"("prediction":{"type":"content"})"}) {
    const std::string name = std::string(field).substr(1, std::string(field).find('"', 1) - 1);
    EXPECT_EQ(wrong(field), name) << field;
  }
  EXPECT_EQ(wrong(R"("stream":true,"stream_options":{"include_usage":1})"), "stream_options.include_usage");
}

TEST(RequestParser, PromptsMayBeSeveral) {
  auto found = read_completion(R"({"model":"m","prompt":["a","b"],"n":64})", false);
  EXPECT_EQ(std::get<GenerationRequest>(found).prompts.size(), 2u);
  found = read_completion(R"({"model":"m","prompt":["a","b"],"n":65})", false);
  EXPECT_EQ(std::get<ApiError>(found).param, "n");
  for (const char* const prompt :
       {"[]", "5", "[-1]", "[1.5]", "[2147483648]", "[[]]", R"(["a",[5]])", R"(["a",null])", "{}"}) {
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
  }
}

TEST(RequestParser, DeepBodiesAreRefused) {
  const std::string levels(100'000, '[');
  for (const std::string field : {"logit_bias", "tools", "chat_template_kwargs", "x"}) {
    const auto found = read_completion(cat(R"({"model":"m","messages":[{"role":"user","content":"a"}],")",
                                           field, "\":", levels, std::string(levels.size(), ']'), "}"),
                                       true);
    ASSERT_TRUE(std::holds_alternative<ApiError>(found)) << field;
    EXPECT_NE(std::get<ApiError>(found).message.find("levels"), std::string::npos);
  }
  EXPECT_EQ(read(R"("x":"[[[[\"[[","seed":1)").seed, 1) << "what stands in a text has no levels";
  EXPECT_EQ(read(cat(R"("x":)", std::string(199, '['), std::string(199, ']'))).unknown_fields, 1u);
}

TEST(RequestParser, StopStringsAreShort) {
  EXPECT_EQ(read(cat(R"("stop":")", std::string(1024, 'x'), "\"")).stops.size(), 1u);
  EXPECT_EQ(wrong(cat(R"("stop":")", std::string(1025, 'x'), "\"")), "stop");
}

TEST(RequestParser, UnknownFieldsAreCounted) {
  EXPECT_EQ(read(R"("x":1,"y":null,"user":"me","store":true)").unknown_fields, 2u);
}

TEST(RequestParser, PromptsMayBeTokenIds) {
  auto found = read_completion(R"({"model":"m","prompt":[1,2,3]})", false);
  EXPECT_EQ(std::get<GenerationRequest>(found).prompts[0].ids, (std::vector<int32_t>{1, 2, 3}));
  found = read_completion(R"({"model":"m","prompt":[[1],[2,3]]})", false);
  ASSERT_EQ(std::get<GenerationRequest>(found).prompts.size(), 2u);
  EXPECT_EQ(std::get<GenerationRequest>(found).prompts[1].ids, (std::vector<int32_t>{2, 3}));
}

TEST(RequestParser, FormatsBecomeASchema) {
  const auto sampling = [](const std::string& more) { return read(more).sampling_json(0); };
  const std::string schema = R"({"json_schema":{"type":"integer"}})";
  EXPECT_EQ(sampling(R"("response_format":{"type":"json_object"})"), R"({"json_schema":{"type":"object"}})");
  EXPECT_EQ(sampling(R"("response_format":{"type":"json_object","schema":{"type":"integer"}})"), schema);
  EXPECT_EQ(
      sampling(
          R"("response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"integer"}}})"),
      schema);
  EXPECT_EQ(sampling(R"("response_format":{"type":"json_schema","schema":{"type":"integer"}})"), schema);
  EXPECT_EQ(sampling(R"("guided_json":{"type":"integer"})"), schema);
  EXPECT_EQ(sampling(R"("grammar":"root ::= \"a\"")"), R"({"grammar":"root ::= \"a\""})");
  EXPECT_EQ(wrong(R"("grammar":"root ::= \"a\"","response_format":{"type":"json_object"})"), "grammar");
}

TEST(RequestParser, AStrictSchemaHasNoKeywordThatIsNotEnforced) {
  const auto refused = [](const std::string& schema, const std::string& strict = "true") {
    const std::string inner = cat(R"({"name":"n","strict":)", strict, R"(,"schema":)", schema, "}");
    const auto found = read_completion(
        cat(R"({"model":"m","prompt":"p","response_format":{"type":"json_schema","json_schema":)", inner,
            "}}"),
        false);
    return std::holds_alternative<ApiError>(found) ? std::get<ApiError>(found).message : "";
  };
  EXPECT_NE(refused(R"({"type":"integer","multipleOf":5})").find("'multipleOf'"), std::string::npos);
  EXPECT_NE(refused(R"({"properties":{"a":{"anyOf":[{"not":{}}]}}})").find("'not'"), std::string::npos);
  EXPECT_NE(refused(R"({"$defs":{"a":{"uniqueItems":true}}})").find("'uniqueItems'"), std::string::npos);
  // A property may have such a name, and a value may look like a schema.
  EXPECT_EQ(
      refused(R"({"properties":{"not":{"type":"integer"},"if":{"const":{"not":1}}},"enum":[{"else":1}]})"),
      "");
  EXPECT_EQ(refused(R"({"type":"integer","multipleOf":5})", "false"), "");
}

TEST(RequestParser, AlternativesOfTokens) {
  EXPECT_EQ(read(R"("logprobs":0)").logprobs, 0);
  EXPECT_EQ(read(R"("logprobs":5)").sampling_json(0), R"({"logprobs":5})");
  EXPECT_EQ(read(R"("logprobs":true)", true).logprobs, 0);
  EXPECT_EQ(read(R"("logprobs":true,"top_logprobs":20)", true).logprobs, 20);
  EXPECT_FALSE(read(R"("logprobs":false,"top_logprobs":0)", true).logprobs);
  EXPECT_EQ(wrong(R"("top_logprobs":2)", true), "top_logprobs");
  EXPECT_EQ(wrong(R"("logprobs":true,"top_logprobs":21)", true), "top_logprobs");
}

TEST(RequestParser, WhatTheTemplateIsTold) {
  const auto options = [](const std::string& more) { return object_of(read(more, true).chat_options); };
  EXPECT_EQ(options(""), "{}");
  EXPECT_EQ(options(R"("chat_template":"{{ x }}","chat_template_kwargs":{"a":1},"reasoning_effort":"low")"),
            R"({"chat_template":"{{ x }}","reasoning_effort":"low","chat_template_kwargs":{"a":1}})");
  const GenerationRequest open = read(R"("continue_final_message":true,"add_generation_prompt":false)", true);
  EXPECT_EQ(object_of(open.chat_options), R"({"add_generation_prompt":false,"continue_final_message":true})");
  EXPECT_EQ(open.prompts[0].text, "<|im_start|>user\nhi");
  EXPECT_EQ(read(R"("add_generation_prompt":false)", true).prompts[0].text,
            "<|im_start|>user\nhi<|im_end|>\n");
  EXPECT_EQ(wrong(R"("continue_final_message":true,"add_generation_prompt":true)", true),
            "continue_final_message");
}

}  // namespace
}  // namespace atl::frontends::openai
