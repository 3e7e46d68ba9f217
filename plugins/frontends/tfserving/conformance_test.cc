#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/conformance/http_routes.h"
#include "frontends/tfserving/testing/serving_fixture.h"

namespace atl::test {
namespace {

class TfServingUnderTest final : public HttpRoutesUnderTest {
 public:
  HttpRoutes& routes() override { return *scripted_.routes; }
  void drain() override { scripted_.host.gate().close(); }

 private:
  frontends::tfserving::ScriptedServing scripted_;
};

std::vector<HttpRoutesCase> cases() {
  const auto post = [](std::string route, std::string path, std::string body, int status = 200) {
    return HttpRoutesCase{std::move(route), FakeHttpRequest{"POST", std::move(path), {}, {}, std::move(body)},
                          status};
  };
  const auto look = [](std::string route, std::string path, int status = 200) {
    return HttpRoutesCase{std::move(route), FakeHttpRequest{"GET", std::move(path), {}, {}, {}}, status};
  };
  const std::string one = R"({"x":1,"text":"a"})";
  return {
      look("/v1/models", "/v1/models"),
      look("/v1/models/*", "/v1/models/echo"),
      look("/v1/models/*", "/v1/models/none", 404),
      look("/v1/models/*/versions/*", "/v1/models/echo/versions/3"),
      look("/v1/models/*/labels/*", "/v1/models/echo/labels/stable"),
      look("/v1/models/*/metadata", "/v1/models/echo/metadata"),
      look("/v1/models/*/versions/*/metadata", "/v1/models/echo/versions/1/metadata"),
      look("/v1/models/*/labels/*/metadata", "/v1/models/echo/labels/none/metadata", 400),
      post("/v1/models/*:predict", "/v1/models/echo:predict", R"({"instances":[[1],[2],[3],[4],[5]]})"),
      post("/v1/models/*:predict", "/v1/models/echo:predict", "{", 400),
      post("/v1/models/*:predict", "/v1/models/echo:predict",
           R"({"instances":[[1]]})" + std::string(100'000, ' ')),
      post("/v1/models/*:classify", "/v1/models/pair:classify", R"({"examples":[)" + one + "]}"),
      post("/v1/models/*:regress", "/v1/models/pair:regress", R"({"examples":[)" + one + "]}"),
      post("/v1/models/*/versions/*:predict", "/v1/models/echo/versions/1:predict", R"({"instances":[[1]]})"),
      post("/v1/models/*/versions/*:classify", "/v1/models/pair/versions/1:classify",
           R"({"examples":[)" + one + "]}"),
      post("/v1/models/*/versions/*:regress", "/v1/models/pair/versions/1:regress",
           R"({"examples":[)" + one + "]}"),
      post("/v1/models/*/labels/*:predict", "/v1/models/echo/labels/none:predict", R"({"instances":[[1]]})",
           400),
      post("/v1/models/*/labels/*:classify", "/v1/models/pair/labels/none:classify",
           R"({"examples":[)" + one + "]}", 400),
      post("/v1/models/*/labels/*:regress", "/v1/models/pair/labels/none:regress",
           R"({"examples":[)" + one + "]}", 400)};
}

std::shared_ptr<HttpRoutesUnderTest> make_routes() { return std::make_shared<TfServingUnderTest>(); }
INSTANTIATE_TEST_SUITE_P(TfServing, HttpRoutesConformance,
                         ::testing::Values(HttpRoutesProvider{"tfserving", make_routes, cases(), {}}));

}  // namespace
}  // namespace atl::test
