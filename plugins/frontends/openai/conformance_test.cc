#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/conformance/http_routes.h"
#include "frontends/openai/testing/routes_fixture.h"

namespace atl::test {
namespace {

class OpenAiUnderTest final : public HttpRoutesUnderTest {
 public:
  HttpRoutes& routes() override { return *scripted_.routes; }
  void drain() override { scripted_.host.gate().close(); }

 private:
  frontends::openai::ScriptedRoutes scripted_;
};

std::vector<HttpRoutesCase> cases() {
  const auto post = [](std::string path, std::string body, int status = 200) {
    return HttpRoutesCase{path, FakeHttpRequest{"POST", path, {}, {}, std::move(body)}, status};
  };
  const auto look = [](std::string route, std::string path, int status) {
    return HttpRoutesCase{std::move(route), FakeHttpRequest{"GET", std::move(path), {}, {}, {}}, status};
  };
  const std::string chat = R"({"model":"canned","messages":[{"role":"user","content":"a"}])";
  return {
      look("/v1/models", "/v1/models", 200),
      look("/v1/models/*", "/v1/models/canned", 200),
      look("/v1/models/*", "/v1/models/none", 404),
      post("/v1/chat/completions", chat + "}"),
      post("/v1/chat/completions", chat + R"(,"stream":true,"n":3})"),
      post("/v1/completions", R"({"model":"plain","prompt":"a"})"),
      post("/v1/completions", R"({"model":"plain","prompt":")" + std::string(100'000, 'x') + "\"}"),
      post("/v1/completions", "{", 400),
      post("/v1/embeddings", R"({"model":"org/e","input":["a","b"]})"),
      post("/v1/responses", R"({"model":"canned","input":"a"})"),
      post("/v1/responses", R"({"model":"canned","input":"a","stream":true})"),
      look("/v1/responses/*", "/v1/responses/resp_1", 404),
      post("/v1/messages", R"({"model":"tools","messages":[{"role":"user","content":"a"}],"max_tokens":5})"),
      post("/v1/messages",
           R"({"model":"tools","messages":[{"role":"user","content":"a"}],"max_tokens":5,"stream":true})"),
      post("/v1/messages/count_tokens", "{", 400),
      post("/v1/rerank", "{", 400),
      post("/v2/rerank", "{", 400),
      post("/rerank", R"({"model":"none","query":"a","documents":["a"]})", 404),
      post("/v1/classify", "{", 400),
      post("/classify", "{", 400),
      post("/tokenize", R"({"model":"plain","prompt":"a"})", 400),
      post("/detokenize", "{", 400),
      {"/v1/models/*", FakeHttpRequest{"POST", "/v1/models/canned/load", {}, {}, {}}, 200},
      look("/health", "/health", 200)};
}

std::shared_ptr<HttpRoutesUnderTest> make_routes() { return std::make_shared<OpenAiUnderTest>(); }
INSTANTIATE_TEST_SUITE_P(OpenAi, HttpRoutesConformance,
                         ::testing::Values(HttpRoutesProvider{"openai", make_routes, cases(), {}}));

}  // namespace
}  // namespace atl::test
