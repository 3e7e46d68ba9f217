#include "atoll/testing/conformance/http_routes.h"
#include "atoll/testing/plugin_runner.h"

namespace atl::test {
namespace {

class Bench final : public HttpRoutesUnderTest {
 public:
  Bench() {
    plugin_.set("slow", "1ms");
    EXPECT_TRUE(is_ok(plugin_.create_and_start()));
  }
  virtual ~Bench() = default;
  HttpRoutes& routes() override { return *plugin_.query<HttpRoutes>(); }
  void drain() override { plugin_.drain(host_.clock().now_ns() + kNsPerSecond); }

 private:
  FakeHost host_{"routes", FakeHost::Threads::kReal};
  PluginRunner plugin_{host_};
};

std::vector<HttpRoutesCase> cases() {
  const auto get = [](std::string path, std::string query = {}) {
    return FakeHttpRequest{"GET", std::move(path), std::move(query)};
  };
  const auto post = [](std::string path, std::string body) {
    return FakeHttpRequest{"POST", std::move(path), {}, {{"Content-Type", "a/b"}}, std::move(body)};
  };
  return {{"/fixture/hello", get("/fixture/hello", "a=b")},
          {"/fixture/echo", post("/fixture/echo", std::string(100'000, 'x')), 201},
          {"/fixture/later", get("/fixture/later")},
          {"/fixture/slow", get("/fixture/slow")},
          {"/fixture/held", get("/fixture/held"), 200, /*lasts=*/true},
          {"/fixture/release", post("/fixture/release", {})},
          {"/fixture/stream", get("/fixture/stream", "5")},
          {"/fixture/flood", get("/fixture/flood"), 200, /*lasts=*/true},
          {"/fixture/closed", get("/fixture/closed")},
          {"/fixture/files/*", get("/fixture/files/a/b")}};
}

std::shared_ptr<HttpRoutesUnderTest> make() { return std::make_shared<Bench>(); }
INSTANTIATE_TEST_SUITE_P(Fixture, HttpRoutesConformance,
                         ::testing::Values(HttpRoutesProvider{"fixture", make, cases(), {}}));

}  // namespace
}  // namespace atl::test
