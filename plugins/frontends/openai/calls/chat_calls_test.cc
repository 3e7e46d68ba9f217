/// Chats with tools, log probabilities and options, from the body of a request to what its client gets.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "frontends/openai/testing/routes_fixture.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},)"
    R"({"type":"function","function":{"name":"g"}}])";

class ChatCallsTest : public testing::Test {
 protected:
  test::ReceivedHttpReply ask(const std::string& path, std::string body) {
    test::FakeHttpExchange exchange({"POST", path, {}, {}, std::move(body)});
    exchange.send_to(*scripted.routes, path);
    EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
    for (const std::string& problem : exchange.problems()) ADD_FAILURE() << problem;
    return exchange.reply();
  }
  test::ReceivedHttpReply chat(const std::string& more, const std::string& model = "tools") {
    return ask("/v1/chat/completions",
               cat(R"({"model":")", model, R"(","messages":[{"role":"user","content":"hi"}],)", more, "}"));
  }
  /// What is in `body` behind `name`, up to what closes it; ids of calls are "ID".
  static std::string behind(const std::string& body, const std::string& name) {
    const size_t at = body.find(name);
    if (at == std::string::npos) return "nothing in " + body;
    std::string rest = body.substr(at + name.size());
    for (size_t id; (id = rest.find("call_")) != std::string::npos;)
      rest.replace(id, rest.find('"', id) - id, "ID");
    return rest;
  }
  /// The deltas of a stream.
  static std::string deltas(const std::string& body) {
    std::string text;
    for (size_t at = 0; (at = body.find("\"delta\":", at)) != std::string::npos;) {
      at += 8;
      text += behind(body.substr(at, body.find(",\"logprobs\"", at) - at), "") + "\n";
    }
    return text;
  }

  ScriptedRoutes scripted;
};

TEST_F(ChatCallsTest, CallsOfToolsAreAnswered) {
  scripted.pieces = {"I look.\n<tool_", "call>{\"name\":\"f\",\"argum", "ents\":{\"a\":1}}</tool_call>",
                     "<tool_call>{\"name\":\"g\"}</tool_call>"};
  const std::string body = chat(std::string(kTools)).body;
  EXPECT_TRUE(
      behind(body, "\"message\":")
          .starts_with(R"({"role":"assistant","content":"I look.","tool_calls":[)"
                       R"({"id":"ID","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},)"
                       R"({"id":"ID","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
                       R"("logprobs":null,"finish_reason":"tool_calls"}])"))
      << body;
  EXPECT_EQ(scripted.asked, cat(R"(|[{"role":"user","content":"hi"}]|{)", kTools, "}|{}"));
  scripted.pieces.erase(scripted.pieces.begin());
  scripted.pieces.front().insert(0, "<tool_");
  EXPECT_NE(chat(std::string(kTools)).body.find(R"("content":null,"tool_calls")"), std::string::npos);
}

TEST_F(ChatCallsTest, CallsOfToolsAreStreamed) {
  scripted.pieces = {"<tool_call>{\"name\":\"f\",\"arguments\":{\"a\"",
                     ":1}}</tool_call>\n<tool_call>{\"name\":\"g\"}"};
  const std::string body = chat(cat(kTools, R"(,"stream":true)")).body;
  EXPECT_EQ(deltas(body),
            R"({"role":"assistant","content":""}
{"tool_calls":[{"index":0,"id":"ID","type":"function","function":{"name":"f","arguments":""}}]}
{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}
{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}
{"tool_calls":[{"index":1,"id":"ID","type":"function","function":{"name":"g","arguments":""}}]}
{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}
{}
)");
  EXPECT_NE(body.find(R"("finish_reason":"tool_calls")"), std::string::npos);
}

TEST_F(ChatCallsTest, OneCallEndsTheModelsWork) {
  bool was_cancelled = false;
  scripted.tools->respond = [&](Request& request) {
    send_piece(request, "<tool_call>{\"name\":\"f\"}</tool_call><tool_call>{\"name\":\"g\"}", 1, 0);
    was_cancelled = request.cancelled();
    request.sink->new_response()->send_error(Status(Code::kCancelled, "cancelled"));
    (void)request.release().ok();
  };
  const std::string body = chat(cat(kTools, R"(,"parallel_tool_calls":false)")).body;
  EXPECT_EQ(body.find("\"g\""), std::string::npos) << body;
  EXPECT_NE(body.find(R"("finish_reason":"tool_calls")"), std::string::npos) << body;
  EXPECT_TRUE(was_cancelled);
}

TEST_F(ChatCallsTest, RequiredCallsFollowASchema) {
  scripted.pieces = {R"([{"name":"f","parameters":{"a":1}}])"};
  EXPECT_NE(chat(cat(kTools, R"(,"tool_choice":"required")")).body.find(R"("arguments":"{\"a\":1}")"),
            std::string::npos);
  EXPECT_NE(scripted.asked.find(R"("json_schema":{"type":"array")"), std::string::npos) << scripted.asked;
  scripted.pieces = {R"({"a":)", "1}"};
  const std::string body =
      chat(cat(kTools, R"(,"tool_choice":{"type":"function","function":{"name":"f"}})")).body;
  EXPECT_NE(body.find(R"("function":{"name":"f","arguments":"{\"a\":1}"})"), std::string::npos) << body;
  EXPECT_NE(scripted.asked.find(R"("json_schema":{"type":"object"})"), std::string::npos) << scripted.asked;
}

TEST_F(ChatCallsTest, WithoutToolsTextIsText) {
  scripted.pieces = {"<tool_call>{\"name\":\"f\"}</tool_call>"};
  EXPECT_NE(chat(R"("n":1)").body.find("<tool_call>"), std::string::npos);
  EXPECT_NE(chat(cat(kTools, R"(,"tool_choice":"none")")).body.find("<tool_call>"), std::string::npos);
}

TEST_F(ChatCallsTest, WhatAModelCannotFollowIsNamed) {
  const auto param = [&](const std::string& more, const std::string& model) {
    const test::ReceivedHttpReply reply = chat(more, model);
    EXPECT_EQ(reply.status, 400) << more;
    const std::string rest = behind(reply.body, "\"param\":\"");
    return rest.substr(0, rest.find('"'));
  };
  for (const char* model : {"canned", "plain"}) {
    EXPECT_EQ(param(std::string(kTools), model), "tools");
    EXPECT_EQ(param(R"("chat_template":"x")", model), "chat_template");
    EXPECT_EQ(param(R"("logprobs":true)", model), "logprobs");
  }
  EXPECT_EQ(param(R"("response_format":{"type":"json_object"})", "plain"), "response_format");
  EXPECT_EQ(param(cat(kTools, R"(,"response_format":{"type":"json_object"})"), "tools"), "response_format");
  EXPECT_EQ(ask("/v1/completions", R"({"model":"canned","prompt":[1,2]})").status, 400);
  EXPECT_EQ(chat(R"("continue_final_message":true,"add_generation_prompt":false)", "canned").status, 200);
}

TEST_F(ChatCallsTest, LogprobsComeWithTheirText) {
  scripted.tools->respond = [&](Request& request) {
    scripted.asked = text_in(request, "sampling_parameters");
    for (const char* piece : {"a", "b"}) {
      Response* const response = request.sink->new_response();
      add_text(*response, "text_output", piece);
      add_text(*response, "logprobs", cat(R"([{"token":")", piece, R"(","logprob":-1,"bytes":null}])"));
      response->send(0);
    }
    request.sink->send(nullptr, kFinal);
    (void)request.release().ok();
  };
  const auto token = [](std::string_view name, int byte) {
    return cat(R"({"token":")", name, R"(","logprob":-1,"bytes":[)", byte, R"(],"top_logprobs":[]})");
  };
  const std::string body = chat(R"("logprobs":true,"top_logprobs":2)").body;
  EXPECT_NE(body.find(cat(R"("logprobs":{"content":[)", token("a", 97), ",", token("b", 98), "]")),
            std::string::npos)
      << body;
  EXPECT_EQ(scripted.asked, R"({"logprobs":2})");
  const std::string stream = chat(R"("logprobs":true,"stream":true,"stop":["bc"])").body;
  EXPECT_NE(stream.find(cat(R"("delta":{"content":"a"},"logprobs":{"content":[)", token("a", 97), "]")),
            std::string::npos)
      << stream;
  EXPECT_NE(stream.find(cat(R"("delta":{"content":"b"},"logprobs":{"content":[)", token("b", 98), "]")),
            std::string::npos)
      << stream;
  const std::string completion =
      ask("/v1/completions", R"({"model":"tools","prompt":"x","logprobs":0})").body;
  EXPECT_NE(
      completion.find(
          R"("logprobs":{"tokens":["a","b"],"token_logprobs":[-1,-1],"top_logprobs":[{},{}],"text_offset":[0,1]})"),
      std::string::npos)
      << completion;
}

TEST_F(ChatCallsTest, PromptsOfTokenIdsReachTheModel) {
  std::vector<int32_t> ids;
  scripted.tools->respond = [&](Request& request) {
    const InputTensor* input = request.find_input("token_ids");
    ASSERT_NE(input, nullptr);
    EXPECT_EQ(input->shape[0], 3);
    const auto* first = static_cast<const int32_t*>(input->buffers[0].data);
    ids.assign(first, first + 3);
    EXPECT_EQ(text_in(request, "text_input"), "");
    send_piece(request, "x", 1, kFinal);
    (void)request.release().ok();
  };
  EXPECT_EQ(ask("/v1/completions", R"({"model":"tools","prompt":[7,8,9]})").status, 200);
  EXPECT_EQ(ids, (std::vector<int32_t>{7, 8, 9}));
}

}  // namespace
}  // namespace atl::frontends::openai
