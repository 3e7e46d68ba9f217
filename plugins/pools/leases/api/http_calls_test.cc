#include "pools/leases/api/http_calls.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/fake_http_exchange.h"
#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

class HttpCallsTest : public testing::Test, public PoolBench {
 protected:
  HttpCallsTest() { calls.emplace(*manager, context()); }
  ~HttpCallsTest() override {
    run([&] { calls->drain(); });
    for (const auto& exchange : exchanges) EXPECT_EQ(exchange->problems(), std::vector<std::string>());
    stop();
  }

  /// Not answered yet, maybe.
  test::FakeHttpExchange& send(const std::string& method, const std::string& target,
                               const std::string& body = {}, bool streams = false) {
    test::FakeHttpRequest request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    if (target.find('?') != std::string::npos) request.query = target.substr(target.find('?') + 1);
    request.body = body;
    if (streams) request.headers.emplace_back("accept", "text/event-stream");
    test::FakeHttpExchange& exchange =
        *exchanges.emplace_back(std::make_unique<test::FakeHttpExchange>(std::move(request)));
    exchange.set_identity(caller);
    exchange.send_to(*calls, "");
    run([] {});
    return exchange;
  }
  static std::string text_of(const test::FakeHttpExchange& exchange) {
    return cat(exchange.reply().status, " ", exchange.reply().body);
  }
  std::string ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    return text_of(send(method, target, body));
  }
  static std::string lease_body(const std::string& models, int quota = 2) {
    return cat(R"({"pool":"p","quota":)", quota, R"(,"duration":"60s","models":[)", models, "]}");
  }
  static bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  std::optional<HttpCalls> calls;
  const Identity* caller = nullptr;  ///< of the next send()
  std::vector<std::unique_ptr<test::FakeHttpExchange>> exchanges;
};

constexpr const char* kPool = R"({"name":"p","max_instances":2,"quota":8})";
constexpr const char* kModel = R"({"name":"a","source":"/models"})";

TEST_F(HttpCallsTest, PoolsAreMadeShownChangedAndDeleted) {
  EXPECT_EQ(ask("GET", "/v2/pools"), R"(200 {"pools":[]})");
  const std::string made = ask("POST", "/v2/pools", kPool);
  EXPECT_TRUE(
      made.starts_with(R"(200 {"name":"p","state":"ACTIVE","min_instances":0,"max_instances":2,"quota":8,)"))
      << made;
  EXPECT_EQ(ask("GET", "/v2/pools/p"), made);
  EXPECT_EQ(ask("GET", "/v2/pools"), cat(R"(200 {"pools":[)", made.substr(4), "]}"));
  EXPECT_EQ(ask("POST", "/v2/pools", kPool), R"(409 {"error":"pool 'p' already exists"})");
  EXPECT_TRUE(contains(ask("PATCH", "/v2/pools/p", R"({"max_instances":5})"), R"("max_instances":5)"));
  EXPECT_EQ(ask("PATCH", "/v2/pools/p", R"({"min_instances":6})"),
            R"(400 {"error":"min_instances is 6, expected at most max_instances, 5"})");
  EXPECT_EQ(ask("DELETE", "/v2/pools/p"), R"(200 {"name":"p"})");
  EXPECT_EQ(ask("DELETE", "/v2/pools/p"), R"(404 {"error":"pool 'p' is not found"})");
  EXPECT_EQ(ask("GET", "/v2/pools/a%20b"), R"(404 {"error":"pool 'a b' is not found"})");
}

TEST_F(HttpCallsTest, AFlagThatIsNoneDoesNothing) {
  (void)ask("POST", "/v2/pools", kPool);
  (void)send("POST", "/v2/leases", lease_body(kModel));
  run_for(3 * kNsPerSecond);
  for (const char* off : {"false", "False", "FALSE", "0"})
    EXPECT_TRUE(contains(ask("DELETE", cat("/v2/pools/p?force=", off)), "409 ")) << off;
  for (const char* wrong : {"no", "", "yes", "2", "maybe"}) {
    EXPECT_EQ(
        ask("DELETE", cat("/v2/pools/p?force=", wrong)),
        cat(R"(400 {"error":"the query's 'force' is ')", wrong, R"(', expected true, false, 1 or 0"})"));
    EXPECT_TRUE(contains(ask("POST", cat("/v2/leases?dry_run=", wrong), lease_body(kModel)), "400 "))
        << wrong;
  }
  EXPECT_TRUE(contains(ask("DELETE", "/v2/pools/p?force=false&force=true"), "400 "));
  EXPECT_TRUE(
      contains(ask("DELETE", "/v2/pools/p?froce=true"), "which this call does not have, expected 'force'"));
  EXPECT_TRUE(contains(ask("POST", "/v2/leases?dryrun=1", lease_body(kModel)), "expected 'dry_run'"));
  EXPECT_TRUE(contains(ask("GET", "/v2/leases?pools=p"), "expected 'pool'"));
  EXPECT_TRUE(contains(ask("GET", "/v2/pools?x=1"), "400 "));
  EXPECT_EQ(state("id-1"), "ACTIVE on i0");
  (void)send("DELETE", "/v2/pools/p?force=True");
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state("id-1"), "RELEASED");
}

TEST_F(HttpCallsTest, ALeaseOfAModelThatIsNotThereStartsNothing) {
  (void)ask("POST", "/v2/pools", kPool);
  servers.missing.insert("gone");
  const std::string models = R"({"name":"a","source":"/models"},{"name":"gone","source":"/models"})";
  for (const char* target : {"/v2/leases", "/v2/leases?dry_run=true"})
    EXPECT_EQ(ask("POST", target, lease_body(models)),
              R"(422 {"error":"source '/models' has no model 'gone'"})");
  EXPECT_EQ(instances("p"), "");
  EXPECT_EQ(ask("POST", "/v2/leases", lease_body(R"({"name":"gone","source":"/elsewhere"})")),
            R"(422 {"error":"source '/elsewhere' has no model 'gone'"})");
  EXPECT_TRUE(contains(
      ask("POST", "/v2/leases", R"({"pool":"q","quota":1,"models":[{"name":"gone","source":"/models"}]})"),
      "404 "))
      << "the pool comes first";
  // Full, and the text is the same: the mistake is the client's.
  (void)send("POST", "/v2/leases", lease_body(kModel, 8));
  (void)send("POST", "/v2/leases", lease_body(R"({"name":"b","source":"/models"})", 8));
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(ask("POST", "/v2/leases", lease_body(models)),
            R"(422 {"error":"source '/models' has no model 'gone'"})");
}

TEST_F(HttpCallsTest, ALeaseIsAnsweredWhenItIsActiveAndItsReleaseWhenItIsOver) {
  (void)ask("POST", "/v2/pools", kPool);
  test::FakeHttpExchange& acquired = send("POST", "/v2/leases", lease_body(kModel));
  EXPECT_EQ(acquired.reply().status, 0) << "it deploys";
  run_for(3 * kNsPerSecond);
  EXPECT_TRUE(
      text_of(acquired).starts_with(R"(200 {"id":"id-1","name":"","pool":"p","state":"ACTIVE","quota":2,)"))
      << text_of(acquired);
  EXPECT_TRUE(contains(ask("GET", "/v2/leases?pool=p"), R"("state":"ACTIVE")"));
  EXPECT_EQ(ask("GET", "/v2/leases?pool=q"), R"(200 {"leases":[]})");
  EXPECT_TRUE(contains(ask("POST", "/v2/leases/id-1/renew", R"({"duration":"10m"})"),
                       R"("expires_at":"2001-09-09T01:56:44)"));
  EXPECT_EQ(ask("DELETE", "/v2/pools/p"),
            R"(409 {"error":"pool 'p' has 1 lease: release them, or delete it with force"})");
  test::FakeHttpExchange& released = send("DELETE", "/v2/leases/id-1");
  EXPECT_EQ(released.reply().status, 0) << "it unloads";
  run_for(kNsPerSecond);
  EXPECT_TRUE(contains(text_of(released), R"("state":"RELEASED")"));
  EXPECT_TRUE(contains(ask("DELETE", "/v2/leases/id-1"), R"("state":"RELEASED")")) << "again is no harm";
  EXPECT_EQ(ask("POST", "/v2/leases/id-1/renew"), R"(409 {"error":"lease 'id-1' is RELEASED"})");
  EXPECT_EQ(ask("GET", "/v2/leases/id-9"), R"(404 {"error":"lease 'id-9' is not found"})");
  EXPECT_EQ(ask("POST", "/v2/leases/id-1"), R"(404 {"error":"Not Found"})");
}

TEST_F(HttpCallsTest, RefusalsHaveTheirStatus) {
  (void)ask("POST", "/v2/pools", R"({"name":"p","max_instances":1,"quota":8})");
  EXPECT_EQ(ask("POST", "/v2/leases", R"({"pool":"q","quota":1,"models":[{"name":"a","source":"/m"}]})"),
            R"(404 {"error":"pool 'q' is not found"})");
  EXPECT_EQ(ask("POST", "/v2/leases", lease_body(kModel, 12)),
            R"(400 {"error":"lease asks for quota 12 but instances of pool 'p' have 8"})");
  EXPECT_EQ(ask("POST", "/v2/leases", "{"),
            R"(400 {"error":"the body is not valid JSON at byte 1: Missing a name for object member."})");
  (void)send("POST", "/v2/leases", lease_body(kModel, 5));
  EXPECT_TRUE(ask("POST", "/v2/leases", lease_body(R"({"name":"b","source":"/m"})", 5)).starts_with("429 "));
  run_for(3 * kNsPerSecond);
  servers.broken["a2"] = "no such file";
  test::FakeHttpExchange& broken = send("POST", "/v2/leases", lease_body(R"({"name":"a2","source":"/m"})"));
  EXPECT_EQ(broken.reply().status, 429) << "an unknown model";
  EXPECT_EQ(ask("DELETE", "/v2/leases/id-77"), R"(404 {"error":"lease 'id-77' is not found"})");
}

TEST_F(HttpCallsTest, FailedDeploymentsSayWhoseMatterTheyAre) {
  (void)ask("POST", "/v2/pools", kPool);
  servers.broken["a"] = "no such file";
  test::FakeHttpExchange& broken = send("POST", "/v2/leases", lease_body(kModel));
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(broken.reply().status, 422);
  EXPECT_TRUE(contains(text_of(broken), "model 'a' failed to load: no such file"));
  servers.refusals.push_back(Status(Code::kResourceExhausted, "no node has 8 GPUs"));
  test::FakeHttpExchange& nowhere =
      send("POST", "/v2/leases", lease_body(R"({"name":"b","source":"/m"})", 8));
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(nowhere.reply().status, 503) << text_of(nowhere);
  EXPECT_TRUE(contains(text_of(nowhere), "no node has 8 GPUs"));
}

TEST_F(HttpCallsTest, AStreamHasEachChange) {
  (void)ask("POST", "/v2/pools", kPool);
  test::FakeHttpExchange& stream = send("POST", "/v2/leases", lease_body(kModel), true);
  run_for(3 * kNsPerSecond);
  const test::ReceivedHttpReply reply = stream.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "text/event-stream");
  EXPECT_TRUE(reply.body.starts_with("data: {\"id\":\"id-1\"")) << reply.body;
  EXPECT_TRUE(contains(reply.body, R"("state":"PENDING")"));
  EXPECT_TRUE(contains(reply.body, R"({"name":"a","state":"LOADING","reason":""})"));
  EXPECT_TRUE(contains(reply.body, R"("state":"ACTIVE")"));
  EXPECT_TRUE(reply.body.ends_with("}\n\n"));
  EXPECT_TRUE(stream.wait_end({}));
}

TEST_F(HttpCallsTest, AClientThatGoesAwayCancelsNothing) {
  (void)ask("POST", "/v2/pools", kPool);
  test::FakeHttpExchange& gone = send("POST", "/v2/leases", lease_body(kModel));
  gone.leave();
  run([] {});
  EXPECT_TRUE(gone.wait_end({}));
  run_for(3 * kNsPerSecond);
  EXPECT_TRUE(contains(ask("GET", "/v2/leases/id-1"), R"("state":"ACTIVE")"));
}

TEST_F(HttpCallsTest, WhoWaitsIsToldThatTheServerEnds) {
  (void)ask("POST", "/v2/pools", kPool);
  test::FakeHttpExchange& waits = send("POST", "/v2/leases", lease_body(kModel));
  run([&] { calls->drain(); });
  EXPECT_EQ(text_of(waits), R"(503 {"error":"the server is ending; lease 'id-1' goes on"})");
  EXPECT_EQ(ask("GET", "/v2/pools"), R"(503 {"error":"the server is ending"})");
}

TEST_F(HttpCallsTest, APlanChangesNothing) {
  (void)ask("POST", "/v2/pools", kPool);
  EXPECT_EQ(ask("POST", "/v2/leases?dry_run=true", lease_body(kModel)),
            R"(200 {"instance":null,"starts_instance":true,"reason":"","instances":[]})");
  EXPECT_EQ(ask("GET", "/v2/leases"), R"(200 {"leases":[]})");
}

TEST_F(HttpCallsTest, ALeaseOfAnotherTenantIsAsOneThatNeverWas) {
  const TenantCaller blue("blue"), red("red");
  (void)ask("POST", "/v2/pools", kPool);
  caller = &blue;
  const std::string body =
      R"({"pool":"p","quota":2,"models":[)" + std::string(kModel) + R"(],"idempotency_key":"k"})";
  (void)send("POST", "/v2/leases", body);
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(state("id-1"), "ACTIVE on i0");
  (void)ask("PUT", "/v2/lease_names/live", R"({"lease":"id-1"})");
  const std::string all = ask("GET", "/v2/leases"), pool = ask("GET", "/v2/pools/p");
  EXPECT_TRUE(contains(pool, R"("leases":["id-1"])")) << pool;

  for (const Identity* const other :
       {static_cast<const Identity*>(&red), static_cast<const Identity*>(nullptr)}) {
    caller = other;
    EXPECT_EQ(ask("GET", "/v2/leases"), R"(200 {"leases":[]})");
    EXPECT_EQ(ask("GET", "/v2/lease_names"), R"(200 {"names":[]})");
    EXPECT_TRUE(
        contains(ask("GET", "/v2/pools/p"), R"("used":2,"free":6,"backends":["onnxruntime"],"leases":[])"))
        << ask("GET", "/v2/pools/p");
    EXPECT_TRUE(contains(ask("GET", "/v2/pools"), R"("leases":[])"));
    for (const char* lease : {"id-1", "id-99", "live"}) {
      const std::string refused = cat("404 {\"error\":\"lease '", lease, "' is not found\"}");
      EXPECT_EQ(ask("GET", cat("/v2/leases/", lease)), refused);
      EXPECT_EQ(ask("DELETE", cat("/v2/leases/", lease)), refused);
      EXPECT_EQ(ask("POST", cat("/v2/leases/", lease, "/renew")), refused);
      EXPECT_EQ(ask("PUT", "/v2/lease_names/mine", cat("{\"lease\":\"", lease, "\"}")), refused);
    }
    EXPECT_EQ(ask("GET", "/v2/lease_names/live"), R"(404 {"error":"lease name 'live' is not found"})");
    EXPECT_EQ(ask("DELETE", "/v2/lease_names/live"), R"(404 {"error":"lease name 'live' is not found"})");
  }

  // A name and a key of one tenant do not stand in the way of another.
  caller = &red;
  test::FakeHttpExchange& second = send("POST", "/v2/leases", body);
  run_for(3 * kNsPerSecond);
  EXPECT_TRUE(contains(text_of(second), R"(200 {"id":"id-)")) << text_of(second);
  EXPECT_FALSE(contains(text_of(second), R"("id-1")"));
  const std::string id = second.reply().body.substr(7, second.reply().body.find('"', 7) - 7);
  EXPECT_EQ(ask("PUT", "/v2/lease_names/live", cat("{\"lease\":\"", id, "\"}")),
            cat("200 {\"name\":\"live\",\"lease\":\"", id, "\"}"));
  caller = &blue;
  EXPECT_EQ(ask("GET", "/v2/leases"), all);
  EXPECT_EQ(ask("GET", "/v2/lease_names/live"), R"(200 {"name":"live","lease":"id-1"})");
  EXPECT_TRUE(contains(ask("POST", "/v2/leases", body), R"("id":"id-1")")) << "its key is known";
}

TEST_F(HttpCallsTest, NamesStandForLeases) {
  (void)ask("POST", "/v2/pools", kPool);
  (void)send("POST", "/v2/leases", lease_body(kModel));
  run_for(3 * kNsPerSecond);
  EXPECT_EQ(ask("PUT", "/v2/lease_names/live", R"({"lease":"id-1"})"),
            R"(200 {"name":"live","lease":"id-1"})");
  EXPECT_EQ(ask("PUT", "/v2/lease_names/live", R"({"lease":"id-7"})"),
            R"(404 {"error":"lease 'id-7' is not found"})");
  EXPECT_EQ(ask("PUT", "/v2/lease_names/live", "{}"),
            R"(400 {"error":"lease is empty, expected the id of one"})");
  EXPECT_EQ(ask("GET", "/v2/lease_names"), R"(200 {"names":[{"name":"live","lease":"id-1"}]})");
  EXPECT_TRUE(contains(ask("GET", "/v2/leases/live"), R"({"id":"id-1","name":"live")"));
  EXPECT_EQ(ask("DELETE", "/v2/lease_names/live"), R"(200 {"name":"live"})");
  EXPECT_EQ(ask("GET", "/v2/lease_names/live"), R"(404 {"error":"lease name 'live' is not found"})");
}

TEST_F(HttpCallsTest, APatternOfModelsIsOneForLeases) {
  const TenantCaller all("blue"), some("blue", "a");
  (void)ask("POST", "/v2/pools", kPool);
  caller = &all;
  (void)send("POST", "/v2/leases", lease_body(R"({"name":"b","source":"/models"})"));
  run_for(3 * kNsPerSecond);
  ASSERT_EQ(state("id-1"), "ACTIVE on i0");

  caller = &some;
  for (const auto& [method, path] :
       std::initializer_list<std::pair<const char*, const char*>>{{"GET", "/v2/pools"},
                                                                  {"GET", "/v2/pools/p"},
                                                                  {"GET", "/v2/pools/x"},
                                                                  {"POST", "/v2/pools"},
                                                                  {"PATCH", "/v2/pools/p"},
                                                                  {"DELETE", "/v2/pools/p?force=true"}})
    EXPECT_EQ(ask(method, path, "{}"),
              R"(403 {"error":"calls about pools need 'pools.pool' for all models"})")
        << path;
  const std::string both = cat(kModel, R"(,{"name":"b","source":"/models"})");
  for (const char* target : {"/v2/leases", "/v2/leases?dry_run=true"})
    EXPECT_EQ(ask("POST", target, lease_body(both)),
              R"(403 {"error":"the caller may not lease the model 'b'"})");
  EXPECT_EQ(ask("GET", "/v2/leases"), R"(200 {"leases":[]})");
  for (const char* lease : {"id-1", "id-99"}) {
    const std::string refused = cat("404 {\"error\":\"lease '", lease, "' is not found\"}");
    EXPECT_EQ(ask("GET", cat("/v2/leases/", lease)), refused);
    EXPECT_EQ(ask("DELETE", cat("/v2/leases/", lease)), refused);
    EXPECT_EQ(ask("POST", cat("/v2/leases/", lease, "/renew")), refused);
    EXPECT_EQ(ask("PUT", "/v2/lease_names/live", cat(R"({"lease":")", lease, "\"}")), refused);
  }
  (void)send("POST", "/v2/leases", lease_body(kModel));
  run_for(3 * kNsPerSecond);
  EXPECT_TRUE(contains(ask("GET", "/v2/leases"), R"("models":[{"name":"a",)"));
  EXPECT_EQ(state("id-1"), "ACTIVE on i0");
}

}  // namespace
}  // namespace atl::pools
