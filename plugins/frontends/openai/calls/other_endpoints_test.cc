/// Calls that generate no text, from the body of a request to what its client gets.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "frontends/openai/testing/routes_fixture.h"

namespace atl::frontends::openai {
namespace {

class OtherEndpointsTest : public testing::Test {
 protected:
  test::ReceivedHttpReply ask(const std::string& path, std::string body, const std::string& method = "POST") {
    test::FakeHttpExchange exchange({method, path, {}, {}, std::move(body)});
    exchange.send_to(*scripted.routes, path.starts_with("/v1/models/") ? "/v1/models/*" : path);
    EXPECT_TRUE(exchange.wait_end(std::chrono::minutes(1)));
    for (const std::string& problem : exchange.problems()) ADD_FAILURE() << problem;
    return exchange.reply();
  }
  /// Without the id, which differs from call to call.
  static std::string without_id(std::string body) {
    const size_t begin = body.find(R"("id":")"), end = body.find(R"(",)", begin);
    return begin == std::string::npos ? body : body.erase(begin, end + 2 - begin);
  }
  std::string param(const std::string& path, std::string body) {
    const test::ReceivedHttpReply reply = ask(path, std::move(body));
    EXPECT_EQ(reply.status, 400) << reply.body;
    const size_t at = reply.body.find(R"("param":")");
    return at == std::string::npos ? "" : reply.body.substr(at + 9, reply.body.find('"', at + 9) - at - 9);
  }

  ScriptedRoutes scripted;
};

TEST_F(OtherEndpointsTest, DocumentsAreRanked) {
  scripted.ranks->respond = [](Request& request) {
    EXPECT_EQ(text_in(request, "query"), "q");
    EXPECT_GE(request.find_input("documents")->shape[0], 2);
    Response* const response = request.sink->new_response();
    add_floats(*response, "scores", {0.25, 2, 0.25});
    response->send(kFinal);
    (void)request.release().ok();
  };
  const std::string body = R"({"model":"ranks","query":"q","documents":["a",{"text":"b"},"c"])";
  for (const char* path : {"/v1/rerank", "/v2/rerank", "/rerank"}) {
    EXPECT_EQ(without_id(ask(path, body + "}").body),
              R"({"model":"ranks","results":[{"index":1,"document":{"text":"b"},"relevance_score":2},)"
              R"({"index":0,"document":{"text":"a"},"relevance_score":0.25},)"
              R"({"index":2,"document":{"text":"c"},"relevance_score":0.25}],)"
              R"("usage":{"prompt_tokens":0,"total_tokens":0}})");
  }
  EXPECT_EQ(
      without_id(ask("/v1/rerank", body + R"(,"top_n":1,"return_documents":false})").body),
      R"({"model":"ranks","results":[{"index":1,"relevance_score":2}],"usage":{"prompt_tokens":0,"total_tokens":0}})");
  EXPECT_EQ(ask("/v1/rerank", R"({"model":"ranks","query":"q","documents":["a","b"]})").status, 500)
      << "three scores for two documents";
}

TEST_F(OtherEndpointsTest, TextsGetLabels) {
  scripted.labels->respond = [](Request& request) {
    const bool has_each = text_in(request, "text_input") == "each";
    Response* const response = request.sink->new_response();
    if (has_each) {
      const std::string two("\1\0\0\0n\1\0\0\0y", 10);
      add_bytes(*response, "label", DataType::kBytes, two, 2);
      add_floats(*response, "score", {0.25, 0.75});
    } else {
      add_text(*response, "label", "n");
      add_floats(*response, "score", {0.5});
    }
    response->send(kFinal);
    (void)request.release().ok();
  };
  const std::string body = ask("/v1/classify", R"({"model":"labels","input":["each","one"]})").body;
  EXPECT_NE(body.find(R"("data":[{"index":0,"label":"y","probs":[0.25,0.75],"num_classes":2},)"
                      R"({"index":1,"label":"n","probs":[0.5],"num_classes":1}])"),
            std::string::npos)
      << body;
}

TEST_F(OtherEndpointsTest, TokensAreShown) {
  scripted.tools->respond = [&](Request& request) {
    EXPECT_EQ(request.outputs.size(), 1u) << "nothing is to be generated";
    Response* const response = request.sink->new_response();
    if (request.find_output("prompt_token_ids") != nullptr) {
      const int32_t ids[] = {7, 8};
      add_bytes(*response, "prompt_token_ids", DataType::kInt32,
                {reinterpret_cast<const char*>(ids), sizeof ids}, 2);
    } else {
      const auto* ids = static_cast<const int32_t*>(request.find_input("token_ids")->buffers[0].data);
      add_text(*response, "prompt_text", cat("ids ", ids[0], " ", ids[1]));
    }
    scripted.asked = cat(text_in(request, "text_input"), "|", text_in(request, "messages"));
    response->send(kFinal);
    (void)request.release().ok();
  };
  EXPECT_EQ(ask("/tokenize", R"({"model":"tools","prompt":"hi"})").body, R"({"count":2,"tokens":[7,8]})");
  EXPECT_EQ(scripted.asked, "hi|");
  EXPECT_EQ(ask("/tokenize", R"({"model":"tools","messages":[{"role":"user","content":"hi"}]})").status, 200);
  EXPECT_EQ(scripted.asked, R"(|[{"role":"user","content":"hi"}])");
  EXPECT_EQ(ask("/detokenize", R"({"model":"tools","tokens":[5,6]})").body, R"({"prompt":"ids 5 6"})");
  EXPECT_EQ(ask("/detokenize", R"({"model":"tools","tokens":[]})").body, R"({"prompt":""})");
}

TEST_F(OtherEndpointsTest, WhatCannotBeAskedIsNamed) {
  EXPECT_EQ(param("/v1/rerank", R"({"model":"ranks","documents":["a"]})"), "query");
  EXPECT_EQ(param("/v1/rerank", R"({"model":"ranks","query":"a"})"), "documents");
  EXPECT_EQ(param("/v1/rerank", R"({"model":"ranks","query":"a","documents":[]})"), "documents");
  EXPECT_EQ(param("/v1/rerank", R"({"model":"ranks","query":"a","documents":[{"x":1}]})"), "documents");
  EXPECT_EQ(param("/v1/rerank", R"({"model":"ranks","query":"a","documents":["a"],"top_n":-1})"), "top_n");
  EXPECT_EQ(param("/v1/rerank", R"({"model":"labels","query":"a","documents":["a"]})"), "model");
  EXPECT_EQ(param("/v1/classify", R"({"model":"labels"})"), "input");
  EXPECT_EQ(param("/v1/classify", R"({"model":"labels","input":[1]})"), "input");
  EXPECT_EQ(param("/tokenize", R"({"model":"tools"})"), "prompt");
  EXPECT_EQ(param("/tokenize", R"({"model":"plain","prompt":"a"})"), "model");
  EXPECT_EQ(param("/detokenize", R"({"model":"tools","tokens":["a"]})"), "tokens");
  EXPECT_EQ(param("/detokenize", R"({"model":"plain","tokens":[1]})"), "model");
  EXPECT_EQ(ask("/v1/rerank", R"({"model":"none","query":"a","documents":["a"]})").status, 404);
}

TEST_F(OtherEndpointsTest, ModelsAreLoadedAndUnloaded) {
  EXPECT_NE(ask("/v1/models/org%2Fe/load", "").body.find(R"("id":"org/e","object":"model")"),
            std::string::npos);
  EXPECT_EQ(ask("/v1/models/gpt-4o/unload", "").body, R"({"id":"gpt-4o","object":"model","deleted":true})");
  ASSERT_EQ(scripted.control.calls().size(), 2u);
  EXPECT_TRUE(scripted.control.calls()[0].load);
  EXPECT_EQ(scripted.control.calls()[0].model, "org/e");
  EXPECT_FALSE(scripted.control.calls()[1].load);
  EXPECT_EQ(scripted.control.calls()[1].model, "canned") << "an alias stands for its model";
  EXPECT_EQ(ask("/v1/models/x/move", "").status, 404);
  EXPECT_EQ(ask("/v1/models//load", "").status, 400);
  scripted.control.decide = [](const auto&) { return invalid_argument("no such file"); };
  EXPECT_EQ(ask("/v1/models/x/load", "").status, 400);
  scripted.host.registry().withdraw(std::string(ModelControl::kInterfaceId), "control");
  EXPECT_EQ(ask("/v1/models/x/load", "").status, 503);
}

TEST_F(OtherEndpointsTest, HealthIsThatOfTheServer) {
  EXPECT_EQ(ask("/health", "", "GET").status, 200);
  scripted.catalog.is_ready = false;
  EXPECT_EQ(ask("/health", "", "GET").status, 503);
}

}  // namespace
}  // namespace atl::frontends::openai
