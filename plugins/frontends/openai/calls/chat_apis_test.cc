/// /v1/responses and /v1/messages, from the body of a request to what its client gets.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "frontends/openai/testing/routes_fixture.h"

namespace atl::frontends::openai {
namespace {

class ChatApisTest : public testing::Test {
 protected:
  test::ReceivedHttpReply ask(const std::string& path, std::string body, const std::string& method = "POST") {
    test::FakeHttpExchange exchange({method, path, {}, {}, std::move(body)});
    exchange.send_to(*scripted.routes, path.starts_with("/v1/responses/") ? "/v1/responses/*" : path);
    EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
    for (const std::string& problem : exchange.problems()) ADD_FAILURE() << problem;
    return exchange.reply();
  }
  std::string respond(const std::string& more) {
    return ask("/v1/responses", cat(R"({"model":"tools","input":"hi")", more, "}")).body;
  }
  std::string message(const std::string& more) {
    return ask("/v1/messages",
               cat(R"({"model":"tools","max_tokens":9,"messages":[{"role":"user","content":"hi"}])", more,
                   "}"))
        .body;
  }
  /// The names of a stream's events, one a line.
  static std::string events(const std::string& body) {
    std::string names;
    for (size_t at = 0; (at = body.find("event: ", at)) != std::string::npos;) {
      const size_t end = body.find('\n', at);
      const std::string name = body.substr(at + 7, end - at - 7);
      EXPECT_TRUE(body.substr(end + 1).starts_with(cat(R"(data: {"type":")", name, '"')))
          << "both say what it is";
      names += name + "\n";
      at = end;
    }
    return names;
  }
  void expect_in(const std::string& body, const std::string& text) {
    EXPECT_NE(body.find(text), std::string::npos) << text << "\nin\n" << body;
  }

  ScriptedRoutes scripted;
};

const std::string kTool = R"(,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}])";

TEST_F(ChatApisTest, AResponseSaysWhatWasAsked) {
  scripted.pieces = {"one ", "two"};
  const std::string body =
      respond(R"(,"instructions":"brief","temperature":0.5,"store":true,"reasoning":{"effort":"low"})");
  expect_in(body, R"("object":"response")");
  expect_in(body, R"("status":"completed")");
  expect_in(body, R"("content":[{"type":"output_text","text":"one two","annotations":[],"logprobs":[]}])");
  expect_in(body, R"("instructions":"brief")");
  expect_in(body, R"("temperature":0.5)");
  expect_in(body, R"("store":false)");
  expect_in(body,
            R"("usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,)");
  EXPECT_EQ(scripted.asked, R"(|[{"role":"system","content":"brief"},{"role":"user","content":"hi"}]|)"
                            R"({"reasoning_effort":"low"}|{"temperature":0.5})");
}

TEST_F(ChatApisTest, AResponseIsStreamed) {
  scripted.pieces = {"Wait. ", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\"", ":1}}</tool_call>",
                     " Done."};
  const std::string body = respond(R"(,"stream":true)" + kTool);
  const std::string text =
      "response.output_item.added\nresponse.content_part.added\nresponse.output_text.delta\n"
      "response.output_text.done\nresponse.content_part.done\nresponse.output_item.done\n";
  EXPECT_EQ(events(body),
            cat("response.created\nresponse.in_progress\n", text,
                "response.output_item.added\nresponse.function_call_arguments.delta\n"
                "response.function_call_arguments.delta\nresponse.function_call_arguments.done\n"
                "response.output_item.done\n",
                text, "response.completed\n"));
  expect_in(body, R"("name":"f","arguments":"{\"a\":1}")");
  expect_in(body, R"("output_index":2)");
}

TEST_F(ChatApisTest, AResponseWithoutTextHasAnEmptyMessage) {
  EXPECT_TRUE(
      events(respond(R"(,"stream":true)")).ends_with("response.output_item.done\nresponse.completed\n"));
  expect_in(respond(""), R"("text":"")");
}

TEST_F(ChatApisTest, AFailureEndsAStream) {
  scripted.tools->respond = [](Request& request) {
    send_piece(request, "a", 1, 0);
    request.sink->new_response()->send_error(internal_error("out of order"));
    (void)request.release().ok();
  };
  const std::string body = respond(R"(,"stream":true)");
  EXPECT_TRUE(events(body).ends_with("response.output_text.delta\nresponse.failed\n")) << body;
  expect_in(body, R"("error":{"code":"server_error","message":"out of order"})");
  const std::string told = message(R"(,"stream":true)");
  EXPECT_TRUE(
      told.ends_with("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\","
                     "\"message\":\"out of order\"}}\n\n"))
      << told;
}

TEST_F(ChatApisTest, AMessageHasBlocks) {
  scripted.pieces = {"Wait.\n", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>"};
  const std::string tools = R"(,"tools":[{"name":"f","input_schema":{"type":"object"}}])";
  const std::string body = message(tools);
  expect_in(body, R"("content":[{"type":"text","text":"Wait."},{"type":"tool_use","id":"call_)");
  expect_in(body, R"("name":"f","input":{"a":1}}],"stop_reason":"tool_use","stop_sequence":null)");
  EXPECT_EQ(events(message(tools + R"(,"stream":true)")),
            "message_start\ncontent_block_start\ncontent_block_delta\ncontent_block_stop\n"
            "content_block_start\ncontent_block_delta\ncontent_block_stop\nmessage_delta\nmessage_stop\n");
  scripted.pieces = {"<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":"};
  expect_in(message(tools), R"("input":{"INVALID_JSON":"{\"a\":"})");
}

TEST_F(ChatApisTest, MessagesBecomeThoseOfAChat) {
  scripted.pieces = {"x"};
  const std::string blocks =
      R"({"model":"tools","max_tokens":9,"system":[{"type":"text","text":"brief"}],"stop_sequences":["s"],"messages":[)"
      R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
      R"({"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"c"},)"
      R"({"type":"tool_use","id":"u","name":"f","input":{"k":1}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"u","content":[{"type":"text","text":"d"}]},)"
      R"({"type":"text","text":"e"}]},{"role":"assistant","content":"so"}]})";
  EXPECT_EQ(ask("/v1/messages", blocks).status, 200);
  EXPECT_EQ(
      scripted.asked,
      R"(|[{"role":"system","content":"brief"},{"role":"user","content":"ab"},{"role":"assistant","content":"c",)"
      R"("tool_calls":[{"id":"u","type":"function","function":{"name":"f","arguments":"{\"k\":1}"}}]},)"
      R"({"role":"tool","content":"d","tool_call_id":"u"},{"role":"user","content":"e"},)"
      R"({"role":"assistant","content":"so"}]|{"add_generation_prompt":false,"continue_final_message":true}|)"
      R"({"max_tokens":9,"stop":["s"]})");
}

TEST_F(ChatApisTest, ErrorsOfMessagesHaveTheirShape) {
  const auto type = [&](const std::string& body) {
    const test::ReceivedHttpReply reply = ask("/v1/messages", body);
    EXPECT_TRUE(reply.body.starts_with(R"({"type":"error","error":{"type":")")) << reply.body;
    return cat(reply.status, " ", reply.body.substr(33, reply.body.find('"', 33) - 33));
  };
  const std::string head = R"({"model":"tools","max_tokens":9,"messages":)";
  EXPECT_EQ(type("{"), "400 invalid_request_error");
  EXPECT_EQ(type(R"({"model":"tools","messages":[{"role":"user","content":"a"}]})"),
            "400 invalid_request_error");
  EXPECT_EQ(type(R"({"model":"none","max_tokens":9,"messages":[{"role":"user","content":"a"}]})"),
            "404 not_found_error");
  for (const char* messages : {"[]", "5", "[5]", R"([{"role":"system","content":"a"}])",
                               R"([{"role":"user"}])", R"([{"role":"user","content":[{"type":"image"}]}])",
                               R"([{"role":"user","content":[{"type":"tool_use"}]}])",
                               R"([{"role":"assistant","content":[{"type":"tool_use","name":"f"}]}])"}) {
    EXPECT_EQ(type(cat(head, messages, "}")), "400 invalid_request_error") << messages;
  }
  scripted.host.gate().close();
  EXPECT_EQ(type("{}"), "503 overloaded_error");
}

}  // namespace
}  // namespace atl::frontends::openai
