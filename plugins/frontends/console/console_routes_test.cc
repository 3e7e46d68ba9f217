#include "frontends/console/console_routes.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "atoll/core/text.h"
#include "atoll/frontend/console_page.h"
#include "atoll/testing/conformance/http_routes.h"
#include "frontends/console/testing/served_console.h"

namespace atl::test {
namespace {

std::string header(const ReceivedHttpReply& reply, const std::string& name) {
  for (const auto& [found, value] : reply.headers) {
    if (found == name) return value;
  }
  return {};
}

TEST(ConsoleRoutes, ThePageAndItsHeaders) {
  ServedConsole served;
  const ReceivedHttpReply page = served.ask("/console/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  const std::string policy = header(page, "content-security-policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'self'; ")) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(header(page, "x-content-type-options"), "nosniff");
  EXPECT_EQ(header(page, "referrer-policy"), "no-referrer");
  EXPECT_EQ(served.ask("/console/app.js").content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(served.ask("/console/none.js").status, 404);
  EXPECT_EQ(header(served.ask("/console"), "location"), "/console/");
}

TEST(ConsoleRoutes, WhoHasTheFileIsToldSo) {
  ServedConsole served;
  const std::string tag = header(served.ask("/console/app.js"), "etag");
  ASSERT_FALSE(tag.empty());
  EXPECT_EQ(served.ask("/console/app.js", {{"Host", "localhost"}, {"If-None-Match", tag}}).status, 304);
  EXPECT_EQ(served.ask("/console/app.js", {{"Host", "localhost"}, {"If-None-Match", "\"other\""}}).status,
            200);
}

TEST(ConsoleRoutes, FilesAreCompressedForWhoCanReadThem) {
  ServedConsole served;
  const auto with = [&](const char* accepted) {
    return served.ask("/console/uPlot.iife.min.js", {{"Host", "localhost"}, {"Accept-Encoding", accepted}});
  };
  const ReceivedHttpReply plain = served.ask("/console/uPlot.iife.min.js");
  EXPECT_EQ(header(plain, "content-encoding"), "");
  EXPECT_EQ(header(plain, "vary"), "accept-encoding");
  const ReceivedHttpReply packed = with("br, GZip");
  EXPECT_EQ(header(packed, "content-encoding"), "gzip");
  EXPECT_EQ(header(packed, "vary"), "accept-encoding");
  EXPECT_EQ(packed.content_type, plain.content_type);
  EXPECT_TRUE(packed.body.starts_with("\x1f\x8b"));
  EXPECT_LT(packed.body.size(), plain.body.size() / 2);
  for (const char* other : {"", "br", "gzip;q=0", "identity"})
    EXPECT_EQ(with(other).body, plain.body) << other;
  // A cache may keep both.
  const std::string tag = header(packed, "etag");
  EXPECT_NE(tag, header(plain, "etag"));
  const auto again = [&](const char* accepted) {
    return served.ask("/console/uPlot.iife.min.js",
                      {{"Host", "localhost"}, {"Accept-Encoding", accepted}, {"If-None-Match", tag}});
  };
  EXPECT_EQ(again("gzip").status, 304);
  EXPECT_EQ(again("br").status, 200);
}

TEST(ConsoleRoutes, ForgedHostsAndOriginsAreRefused) {
  ServedConsole served;
  for (const char* path :
       {"/console/", "/console/app.js", "/v2/console/overview", "/v2/console/models", "/v2/console/history",
        "/v2/console/timeline", "/v2/console/ensembles", "/v2/console/plugins", "/v2/console/caller",
        "/v2/console/tenants", "/v2/console/sequences", "/v2/console/waiting", "/v2/console/log",
        "/v2/console/options", "/v2/console/manifest", "/v2/console/memory", "/v2/console/pages"}) {
    const ReceivedHttpReply refused = served.ask(path, {{"Host", "evil.example:8000"}});
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_NE(refused.body.find("allowed_hosts of [plugin.console]"), std::string::npos) << refused.body;
    EXPECT_EQ(served.ask(path, {}).status, 403) << path;
    EXPECT_EQ(served.ask(path, {{"Host", "localhost"}, {"Host", "localhost"}}).status, 403) << path;
    for (const char* origin : {"http://evil.example", "null", "http://localhost:9000", "http://localhost", "",
                               "file://localhost:8000", "http://localhost:8000/"})
      EXPECT_EQ(served.ask(path, {{"Host", "localhost:8000"}, {"Origin", origin}}).status, 403) << origin;
    EXPECT_EQ(served.ask(path, {{"Host", "localhost:8000"}, {"Origin", "http://localhost:8000"}}).status,
              200);
  }
}

TEST(ConsoleRoutes, WithoutIdentitiesOnlyTheLoopback) {
  ServedConsole served(INADDR_ANY);
  for (const char* path : {"/console/", "/v2/console/overview"}) {
    const ReceivedHttpReply refused = served.ask(path);
    EXPECT_EQ(refused.status, 403);
    EXPECT_NE(refused.body.find("[plugin.http] listens for other machines"), std::string::npos)
        << refused.body;
    EXPECT_NE(refused.body.find("console.read"), std::string::npos) << refused.body;
    const OneModel all("*");
    EXPECT_EQ(served.ask(path, kLocal, &all).status, 200);
  }
}

TEST(ConsoleRoutes, TheOverviewCountsModels) {
  ServedConsole served;
  const std::string body = served.ask("/v2/console/overview").body;
  EXPECT_NE(body.find(R"("models":{"READY":2})"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("success":{"count":0,"ns":0})"), std::string::npos) << body;
}

TEST(ConsoleRoutes, ModelsAreFoundAndPaged) {
  ServedConsole served;
  const auto models = [&](const std::string& query) {
    const std::string body = served.ask("/v2/console/models?" + query).body;
    const size_t begin = body.find("\"matching\"");
    return begin == std::string::npos ? body : body.substr(begin);
  };
  const std::string first =
      R"({"name":"first","version":"1","state":"READY","reason":"","may_control":false})";
  const std::string second =
      R"({"name":"<img onerror>","version":"1","state":"READY","reason":"","may_control":false})";
  EXPECT_EQ(models(""), cat(R"("matching":2,"offset":0,"models":[)", second, ",", first, "]}"));
  EXPECT_EQ(models("search=FIR&state=READY"), cat(R"("matching":1,"offset":0,"models":[)", first, "]}"));
  EXPECT_EQ(models("search=%3Cimg%20"), cat(R"("matching":1,"offset":0,"models":[)", second, "]}"));
  EXPECT_EQ(models("offset=1&limit=1"), cat(R"("matching":2,"offset":1,"models":[)", first, "]}"));
  EXPECT_EQ(models("state=LOADING"), R"("matching":0,"offset":0,"models":[]})");
  for (const char* wrong : {"offset=-1", "limit=x", "limit=1001", "limit=99999999999999999999", "page=1"})
    EXPECT_EQ(served.ask(cat("/v2/console/models?", wrong)).status, 400) << wrong;
}

TEST(ConsoleRoutes, CallersSeeTheirModels) {
  ServedConsole served(INADDR_ANY);
  const OneModel one("first");
  EXPECT_EQ(served.ask("/v2/console/overview", kLocal, &one).status, 403);
  const std::string body = served.ask("/v2/console/models", kLocal, &one).body;
  EXPECT_NE(body.find(R"("matching":1)"), std::string::npos) << body;
  EXPECT_EQ(body.find("onerror"), std::string::npos) << body;
}

TEST(ConsoleRoutes, WhoMayControlAModel) {
  ServedConsole served(INADDR_LOOPBACK, true);
  EXPECT_NE(served.ask("/v2/console/overview").body.find(R"("control":"explicit")"), std::string::npos);
  const OneModel all("*", true);
  const std::string free = served.ask("/v2/console/models?search=first", kLocal, &all).body;
  EXPECT_NE(free.find(R"("may_control":true)"), std::string::npos) << free;
  // Where nobody is known, the console only reads.
  const std::string unknown = served.ask("/v2/console/models?search=first").body;
  EXPECT_NE(unknown.find(R"("may_control":false)"), std::string::npos) << unknown;
  // Who may only look.
  const OneModel one("first");
  const std::string watched = served.ask("/v2/console/models", kLocal, &one).body;
  EXPECT_NE(watched.find(R"("may_control":false)"), std::string::npos) << watched;
}

TEST(ConsoleRoutes, TheHistoryIsOfAllModelsOrOfOne) {
  ServedConsole served;
  const std::string all = served.ask("/v2/console/history").body;
  EXPECT_NE(all.find(R"("columns":["time_ms","covers_ms","success")"), std::string::npos) << all;
  EXPECT_NE(all.find(R"("points":[],"recent_ms":0,"busiest":[])"), std::string::npos) << all;
  EXPECT_EQ(served.ask("/v2/console/history?model=first&version=1").status, 200);
  EXPECT_EQ(served.ask("/v2/console/history?model=first").status, 400);
  const OneModel one("first");
  EXPECT_EQ(served.ask("/v2/console/history", kLocal, &one).status, 403);
  // What may not be seen is told from nothing that there is not.
  EXPECT_EQ(served.ask("/v2/console/history?model=%3Cimg%20onerror%3E&version=1", kLocal, &one).body,
            served.ask("/v2/console/history?model=none&version=1", kLocal, &one).body);
}

TEST(ConsoleRoutes, WhatWaitsIsCancelledAndDrainedByWhoMay) {
  ServedConsole served(INADDR_ANY);
  const OneModel all("*", true), one("first", true), reader("first");
  const auto post = [&](const std::string& call, const Identity* identity, Headers headers = kLocal) {
    return served.ask("/v2/console/waiting/" + call, std::move(headers), identity, "{}");
  };
  ReceivedHttpReply reply = post("cancel?model=first&version=1", &one);
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.body.find(R"("cancelled":3})"), std::string::npos) << reply.body;
  EXPECT_EQ(post("cancel?model=first&version=1&priority=2", &all).status, 200);
  EXPECT_NE(post("drain?model=first&version=1&on=true", &one).body.find(R"("draining":true})"),
            std::string::npos);
  EXPECT_EQ(post("drain?model=first&version=1&on=false", &one).status, 200);
  EXPECT_EQ(served.done(), (std::vector<std::string>{"cancel first 1 0", "cancel first 1 2", "drain first 1",
                                                     "resume first 1"}));
  // Who may not is told what is told of a model that there is not.
  EXPECT_EQ(post("cancel?model=first&version=1", &reader).status, 404);
  EXPECT_EQ(post("drain?model=other&version=1&on=true", &one).status, 404);
  EXPECT_EQ(post("drain?model=other&version=1&on=true", &all).status, 501);
  for (const char* wrong :
       {"cancel", "cancel?model=first", "cancel?version=1", "cancel?model=first&version=0",
        "cancel?model=first&version=x", "cancel?model=first&version=1&priority=-1",
        "cancel?model=first&version=99999999999999999999", "cancel?model=first&version=1&on=true",
        "drain?model=first&version=1", "drain?model=first&version=1&on=1", "drain?version=1&on=true"})
    EXPECT_EQ(post(wrong, &all).status, 400) << wrong;
  for (const char* call : {"cancel?model=first&version=1", "drain?model=first&version=1&on=true"}) {
    EXPECT_EQ(post(call, &all, {{"Host", "evil.example"}}).status, 403);
    EXPECT_EQ(post(call, &all, {{"Host", "localhost"}, {"Origin", "http://evil.example"}}).status, 403);
  }
  EXPECT_EQ(served.done().size(), 4U);
}

/// Brings two files, and one that no page may have.
class FixedPage final : public ConsolePage {
 public:
  virtual ~FixedPage() = default;
  std::string_view title() const noexcept override { return "<b>"; }
  std::span<const ConsoleFile> files() const noexcept override { return files_; }

 private:
  const std::array<ConsoleFile, 3> files_ = {
      {{"a.js", "export const show = 1;", "packed"}, {"b.css", "b {}", ""}, {"c.html", "<b>", ""}}};
};

TEST(ConsoleRoutes, PagesOfPluginsAreServed) {
  ServedConsole served;
  EXPECT_NE(served.ask("/v2/console/pages").body.find(R"("pages":[]})"), std::string::npos);
  EXPECT_EQ(served.ask("/console/pages/mine/a.js").status, 404);
  FixedPage page;
  served.registry().publish<ConsolePage>("mine", page);
  const std::string listed = served.ask("/v2/console/pages").body;
  EXPECT_NE(listed.find(R"("pages":[{"instance":"mine","title":"<b>","script":"a.js"}]})"), std::string::npos)
      << listed;
  const ReceivedHttpReply script = served.ask("/console/pages/mine/a.js");
  EXPECT_EQ(script.status, 200);
  EXPECT_EQ(script.content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(script.body, "export const show = 1;");
  EXPECT_NE(header(script, "content-security-policy").find("script-src 'self'"), std::string::npos);
  EXPECT_EQ(served.ask("/console/pages/mine/a.js", {{"Host", "localhost"}, {"Accept-Encoding", "gzip"}}).body,
            "packed");
  const ReceivedHttpReply style =
      served.ask("/console/pages/mine/b.css", {{"Host", "localhost"}, {"Accept-Encoding", "gzip"}});
  EXPECT_EQ(style.body, "b {}") << "it has no compressed form";
  EXPECT_EQ(style.content_type, "text/css; charset=utf-8");
  for (const char* none :
       {"mine/c.html", "mine/none.js", "other/a.js", "mine/", "mine", "/a.js", "", "mine/../app.js"})
    EXPECT_EQ(served.ask(cat("/console/pages/", none)).status, 404) << none;
}

TEST(ConsoleRoutes, TheMemoryIsOfTheWholeServer) {
  ServedConsole served;
  const std::string body = served.ask("/v2/console/memory").body;
  EXPECT_NE(body.find(R"("owner":"rest")"), std::string::npos) << body;
  const OneModel one("first");
  EXPECT_EQ(served.ask("/v2/console/memory", kLocal, &one).status, 403);
}

TEST(ConsoleRoutes, WithoutIdentitiesNothingIsCancelled) {
  ServedConsole served;
  EXPECT_EQ(served.ask("/v2/console/waiting/cancel?model=first&version=1", kLocal, nullptr, "{}").status,
            403);
  EXPECT_EQ(
      served.ask("/v2/console/waiting/drain?model=first&version=1&on=true", kLocal, nullptr, "{}").status,
      403);
  EXPECT_TRUE(served.done().empty());
}

TEST(ConsoleRoutes, WhoCalls) {
  ServedConsole served;
  EXPECT_EQ(served.ask("/v2/console/caller").body,
            R"({"name":"","tenant":"","may_act":false,"may_apply":false})");
  const OneModel one("first");
  EXPECT_EQ(served.ask("/v2/console/caller", kLocal, &one).body,
            R"({"name":"somebody","tenant":"","may_act":true,"may_apply":false})");
}

TEST(ConsoleRoutes, WhatIsOfTheWholeServerIsForThoseWhoSeeAllModels) {
  ServedConsole served;
  const OneModel one("first");
  for (const char* path : {"/v2/console/plugins", "/v2/console/log"})
    EXPECT_EQ(served.ask(path, kLocal, &one).status, 403) << path;
  EXPECT_EQ(served.ask("/v2/console/timeline", kLocal, &one).status, 200);
  for (const char* wrong : {"since=x", "page=1"})
    EXPECT_EQ(served.ask(cat("/v2/console/timeline?", wrong)).status, 400) << wrong;
}

TEST(ConsoleRoutes, OptionsAreThoseOfTheKernel) {
  ServedConsole served;
  const std::string body = served.ask("/v2/console/options").body;
  EXPECT_EQ(
      body.substr(body.find("\"generation\"")),
      R"("generation":3,"instances":[{"name":"<b>","plugin":"x/a","options":[{"key":"word","type":"string",)"
      R"("value":"","default":"","is_default":false,"secret":true,"help":"What is said."}]}]})");
  const OneModel one("first");
  for (const char* path : {"/v2/console/options", "/v2/console/manifest"})
    EXPECT_EQ(served.ask(path, kLocal, &one).status, 403) << path;
}

TEST(ConsoleRoutes, ManifestsAreCompared) {
  ServedConsole served;
  const OneModel all("*", true);
  const auto answer = [&](const char* path, const char* text) {
    const std::string body = served.ask(path, kLocal, &all, text).body;
    return body.substr(std::min(body.find("\"generation\""), body.size()));
  };
  const auto difference = [](const char* plugin) {
    return cat(
        R"("generation":3,"problems":[],"own":true,"unopened":["new"],"instances":[{"name":"a","plugin":")",
        plugin,
        R"(","change":"replaced","why":"options","options":[{"key":"n","before":"1","after":"2","secret":false},)"
        R"({"key":"word","before":"","after":"","secret":true}]}]})");
  };
  EXPECT_EQ(answer("/v2/console/manifest", nullptr), difference("x/file"));
  EXPECT_EQ(answer("/v2/console/manifest/check", "[atoll]"), difference("x/text"));
  EXPECT_EQ(
      answer("/v2/console/manifest/check", ""),
      R"("generation":3,"problems":["the text:1:1: one","the text:2:1: two"],"own":false,"unopened":[],"instances":[]})");
  EXPECT_EQ(served.ask("/v2/console/manifest/check", kLocal, &all, "late").status, 503);
}

TEST(ConsoleRoutes, ActsAreForThoseWhoAreKnownAndMay) {
  ServedConsole served;
  for (const char* path : {"/v2/console/manifest/check", "/v2/console/manifest/apply"}) {
    const ReceivedHttpReply unknown = served.ask(path, kLocal, nullptr, "x");
    EXPECT_EQ(unknown.status, 403) << path;
    EXPECT_NE(unknown.body.find("does not know who calls"), std::string::npos) << unknown.body;
    const OneModel one("first", true);
    EXPECT_EQ(served.ask(path, kLocal, &one, "x").status, 403) << path;
    const OneModel all("*", true);
    EXPECT_EQ(served.ask(path, {{"Host", "localhost"}, {"Origin", "http://evil.example"}}, &all, "x").status,
              403);
  }
  EXPECT_EQ(served.applied(), 0);
  const OneModel all("*", true);
  const ReceivedHttpReply begun = served.ask("/v2/console/manifest/apply", kLocal, &all, "");
  EXPECT_EQ(begun.status, 202);
  EXPECT_NE(begun.body.find(R"("generation":3,"since":0})"), std::string::npos) << begun.body;
  EXPECT_EQ(served.applied(), 1);
}

TEST(ConsoleRoutes, EnsemblesAreFoundAmongTheModels) {
  ServedConsole served;
  ModelInfo info;
  info.version = 2;
  info.platform = "ensemble";
  for (const char* name : {"pipeline", "<b>"}) {
    info.name = name;
    served.catalog().add(info);
  }
  const auto ensembles = [&](const Identity* identity) {
    const std::string body = served.ask("/v2/console/ensembles", kLocal, identity).body;
    return body.substr(std::min(body.find("\"ensembles\""), body.size()));
  };
  EXPECT_EQ(ensembles(nullptr),
            R"("ensembles":[{"name":"<b>","version":"2"},{"name":"pipeline","version":"2"}],"matching":2})");
  const OneModel one("pipeline");
  EXPECT_EQ(ensembles(&one), R"("ensembles":[{"name":"pipeline","version":"2"}],"matching":1})");
}

TEST(ConsoleRoutes, SixteenPagesMayAskAtATime) {
  ServedConsole served;
  const auto ask = [&](std::string page) {
    return served.ask("/v2/console/caller", {{"Host", "localhost"}, {"X-Atoll-Viewer", std::move(page)}});
  };
  for (int i = 0; i < 16; ++i) EXPECT_EQ(ask(cat("page", i)).status, 200);
  const ReceivedHttpReply refused = ask("one more");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("As many pages"), std::string::npos) << refused.body;
  EXPECT_EQ(ask("page7").status, 200);
  EXPECT_EQ(served.ask("/v2/console/caller").status, 200) << "a script";
  EXPECT_EQ(served.ask("/console/app.js", {{"Host", "localhost"}, {"X-Atoll-Viewer", "one more"}}).status,
            200);
}

TEST(ConsoleRoutes, LogLinesOfWhatIsNoFile) {
  ServedConsole served;
  EXPECT_EQ(served.ask("/v2/console/log").body,
            R"({"source":"","why":"The log's file cannot be read: it is no file","lines":[]})");
  EXPECT_EQ(served.ask("/v2/console/log?level=loud").status, 400);
}

std::vector<HttpRoutesCase> cases() {
  const auto get = [](std::string route, std::string path, int status) {
    return HttpRoutesCase{std::move(route), FakeHttpRequest{"GET", std::move(path), {}, kLocal, {}}, status};
  };
  const auto act = [](const char* path) {
    return HttpRoutesCase{path, FakeHttpRequest{"POST", path, {}, kLocal, {}}, 403};
  };
  return {get("/console", "/console", 308),
          get("/console/*", "/console/", 200),
          get("/console/*", "/console/none", 404),
          get("/v2/console/overview", "/v2/console/overview", 200),
          get("/v2/console/models", "/v2/console/models", 200),
          get("/v2/console/history", "/v2/console/history", 200),
          get("/v2/console/timeline", "/v2/console/timeline", 200),
          get("/v2/console/ensembles", "/v2/console/ensembles", 200),
          get("/v2/console/plugins", "/v2/console/plugins", 200),
          get("/v2/console/caller", "/v2/console/caller", 200),
          get("/v2/console/tenants", "/v2/console/tenants", 200),
          get("/v2/console/sequences", "/v2/console/sequences", 200),
          get("/v2/console/waiting", "/v2/console/waiting", 200),
          get("/v2/console/traces", "/v2/console/traces", 200),
          get("/v2/console/log", "/v2/console/log", 200),
          get("/v2/console/options", "/v2/console/options", 200),
          get("/v2/console/manifest", "/v2/console/manifest", 200),
          get("/v2/console/memory", "/v2/console/memory", 200),
          get("/v2/console/pages", "/v2/console/pages", 200),
          act("/v2/console/waiting/cancel"),
          act("/v2/console/waiting/drain"),
          act("/v2/console/manifest/check"),
          act("/v2/console/manifest/apply")};
}

class ConsoleUnderTest final : public HttpRoutesUnderTest {
 public:
  HttpRoutes& routes() override { return served_.routes(); }
  void drain() override { served_.drain(); }

 private:
  ServedConsole served_;
};

std::shared_ptr<HttpRoutesUnderTest> make_routes() { return std::make_shared<ConsoleUnderTest>(); }
INSTANTIATE_TEST_SUITE_P(Console, HttpRoutesConformance,
                         ::testing::Values(HttpRoutesProvider{"console", make_routes, cases(), {}}));

}  // namespace
}  // namespace atl::test
