// Web pages of other origins.
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

class CrossOriginTest : public HttpFrontendTest {
 protected:
  CrossOriginTest() { catalog_.add_identity("probe"); }
  ~CrossOriginTest() override { stop(); }
  void start_for(std::vector<std::string> origins) {
    host_.options().set_strings("cors_allowed_origins", std::move(origins));
    start();
  }
  static constexpr const char* kPage = "Origin: http://127.0.0.1:9\r\n";
};

TEST_F(CrossOriginTest, WithoutTheOptionNothingIsSaid) {
  start();
  const Reply reply = infer("probe", kPage);
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.headers.contains("access-control-allow-origin"));
  EXPECT_FALSE(reply.headers.contains("vary"));
  EXPECT_EQ(client().ask(request("OPTIONS", "/v2/models/probe/infer", "", kPage)).status, 405);
}

TEST_F(CrossOriginTest, AnswersAndErrorsMayBeRead) {
  start_for({"http://127.0.0.1:9"});
  HttpClient page = client();
  const std::string preflight = std::string(kPage) +
                                "Access-Control-Request-Method: POST\r\n"
                                "Access-Control-Request-Headers: content-type\r\n";
  Reply reply = page.ask(request("OPTIONS", "/v2/models/probe/infer", "", preflight));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(reply.header("access-control-allow-origin"), "http://127.0.0.1:9");
  EXPECT_EQ(reply.header("access-control-allow-headers"), "content-type");
  // On the same connection, which lines of earlier requests must not outlive.
  reply = page.ask(request("POST", "/v2/models/probe/infer", infer_body(), kPage));
  EXPECT_EQ(reply.body, infer_reply("probe"));
  EXPECT_EQ(reply.header("access-control-allow-origin"), "http://127.0.0.1:9");
  reply = page.ask(request("POST", "/v2/models/probe/infer", "{", kPage));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.header("access-control-allow-origin"), "http://127.0.0.1:9");
  reply = page.ask(request("GET", "/v2/health/live"));
  EXPECT_FALSE(reply.headers.contains("access-control-allow-origin"));
  EXPECT_EQ(reply.header("vary"), "Origin");
  reply = page.ask("GET /v2 HTTP/1.1\r\nHost : x\r\n\r\n");
  EXPECT_EQ(reply.status, 400);
  EXPECT_FALSE(reply.headers.contains("vary"));
}

TEST_F(CrossOriginTest, OtherPagesChangeNothing) {
  start_for({"https://app.example"});
  auto ask = [this](const char* path, const std::string& headers, const char* method = "POST") {
    return client().ask(cat(method, " ", path, " HTTP/1.1\r\n", headers, "Content-Length: 0\r\n\r\n"));
  };
  const std::string own = "Host: 127.0.0.1:8000\r\n";
  for (const char* path : {"/v2/repository/models/probe/load", "/v2/repository/models/probe/unload",
                           "/v2/systemsharedmemory/unregister", "/v2/trace/setting", "/v2/logging"}) {
    expect_error(ask(path, own + "Origin: http://evil.example\r\n"), 403,
                 "a web page of another origin may not make this call; its origin would have to stand in "
                 "cors_allowed_origins");
    EXPECT_EQ(ask(path, own + "Origin: null\r\n").status, 403) << path;
    EXPECT_EQ(ask(path, "Host: evil.example\r\nOrigin: http://evil.example\r\n").status, 403)
        << path << ": whose name was made to point to this machine";
    for (const char* allowed : {"", "Origin: http://127.0.0.1:8000\r\n", "Origin: https://app.example\r\n"})
      EXPECT_NE(ask(path, own + allowed).status, 403) << path << " " << allowed;
    EXPECT_NE(ask(path, "Host: localhost:8000\r\nOrigin: http://localhost:8000\r\n").status, 403) << path;
  }
  EXPECT_NE(ask("/v2/trace/setting", own + "Origin: http://evil.example\r\n", "GET").status, 403)
      << "it only reads";
}

TEST_F(CrossOriginTest, OtherPagesAreAnsweredButNotAllowed) {
  start_for({"https://app.example"});
  const Reply reply = infer("probe", kPage);
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.headers.contains("access-control-allow-origin"));
  const std::string preflight = std::string(kPage) + "Access-Control-Request-Method: POST\r\n";
  EXPECT_EQ(client().ask(request("OPTIONS", "/v2/models/probe/infer", "", preflight)).status, 405);
}

TEST_F(CrossOriginTest, AnOriginThatIsNoneIsRefused) {
  host_.options().set_strings("cors_allowed_origins", {"app.example/path"});
  HttpFrontend frontend(host_);
  const Status status = frontend.init();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.text().find("app.example/path"), std::string::npos) << status.text();
}

}  // namespace
}  // namespace atl::frontends::http
