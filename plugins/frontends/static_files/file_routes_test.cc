#include "frontends/static_files/file_routes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "atoll/testing/conformance/http_routes.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::test {
namespace {

using frontends::static_files::FileRoutes;

/// A folder with a page and a script, at /a/.
class ServedFolder final : public HttpRoutesUnderTest {
 public:
  ServedFolder() : routes_(host_, {{"/a/", folder_.path()}}, 1 << 20) {
    std::ofstream(folder_.path() / "index.html") << "page";
    std::ofstream(folder_.path() / "a script.js") << "code";
    EXPECT_TRUE(routes_.start().ok());
  }
  HttpRoutes& routes() override { return routes_; }
  void drain() override { host_.gate().close(); }

  ReceivedHttpReply ask(const std::string& path,
                        std::vector<std::pair<std::string, std::string>> headers = {}) {
    FakeHttpExchange exchange({"GET", path, {}, std::move(headers), {}});
    exchange.send_to(routes_, "/a/*");
    return exchange.reply();
  }

 private:
  FakeHost host_{"files", FakeHost::Threads::kReal};
  const TemporaryDirectory folder_;
  FileRoutes routes_;
};

std::string header(const ReceivedHttpReply& reply, const std::string& name) {
  for (const auto& [found, value] : reply.headers) {
    if (found == name) return value;
  }
  return {};
}

TEST(FileRoutes, AFileIsAnsweredWithItsType) {
  ServedFolder served;
  const ReceivedHttpReply page = served.ask("/a/");
  EXPECT_EQ(page.body, "page");
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(header(page, "x-content-type-options"), "nosniff");
  EXPECT_EQ(served.ask("/a/a%20script.js").body, "code");
  EXPECT_EQ(served.ask("/a/none").status, 404);
}

TEST(FileRoutes, TheFolderWithoutItsSlashLeadsThere) {
  ServedFolder served;
  const ReceivedHttpReply reply = served.ask("/a");
  EXPECT_EQ(reply.status, 308);
  EXPECT_EQ(header(reply, "location"), "/a/");
}

TEST(FileRoutes, WhoHasTheFileIsToldSo) {
  ServedFolder served;
  const std::string tag = header(served.ask("/a/"), "etag");
  ASSERT_FALSE(tag.empty());
  const ReceivedHttpReply same = served.ask("/a/", {{"If-None-Match", "\"other\", W/" + tag}});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_EQ(served.ask("/a/", {{"If-None-Match", "\"other\""}}).status, 200);
}

std::vector<HttpRoutesCase> cases() {
  const auto get = [](std::string route, std::string path, int status) {
    return HttpRoutesCase{std::move(route), FakeHttpRequest{"GET", std::move(path), {}, {}, {}}, status};
  };
  return {get("/a/*", "/a/", 200), get("/a/*", "/a/index.html", 200), get("/a/*", "/a/none", 404),
          get("/a", "/a", 308)};
}

std::shared_ptr<HttpRoutesUnderTest> make_routes() { return std::make_shared<ServedFolder>(); }
INSTANTIATE_TEST_SUITE_P(StaticFiles, HttpRoutesConformance,
                         ::testing::Values(HttpRoutesProvider{"static files", make_routes, cases(), {}}));

}  // namespace
}  // namespace atl::test
