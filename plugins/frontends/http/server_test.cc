// The server as a whole: address, options, drain, replacement, many connections, metrics, tracing.
#include <dirent.h>

#include <future>
#include <map>
#include <set>

#include "atoll/request/tracing.h"
#include "atoll/testing/recorded_metrics.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

size_t entries(const char* directory) {
  size_t count = 0;
  DIR* open = opendir(directory);
  while (readdir(open) != nullptr) ++count;
  closedir(open);
  return count;
}
size_t open_descriptors() { return entries("/proc/self/fd"); }
size_t threads() { return entries("/proc/self/task"); }

class ServerTest : public HttpFrontendTest {
 protected:
  ServerTest() { catalog_.add_identity("probe"); }
  int64_t in_ms(int64_t ms) { return host_.clock().now_ns() + ms * kNsPerMs; }
  std::string target() const { return "127.0.0.1:" + std::to_string(port()); }
  /// What the kernel does before drain().
  void drain(int64_t deadline_ns) {
    host_.gate().close();
    frontend_->drain(deadline_ns);
  }
};

TEST_F(ServerTest, LogsTheBoundAddress) {
  start();
  EXPECT_NE(port(), 0);
  EXPECT_TRUE(host_.log().contains("Started HTTPService at " + target()));
}

TEST_F(ServerTest, OptionsThatCanNotBeReadAreRefused) {
  auto refusal = [](const std::function<void(test::FakeOptions&)>& change) {
    test::FakeHost host;
    set_default_options(host.options());
    change(host.options());
    HttpFrontend frontend(host);
    Status status = frontend.init();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  for (const char* address : {"", "8000", ":8000", "host:", "host:x", "host:70000", "::1:8000", "[]:1"}) {
    EXPECT_NE(
        refusal([&](auto& options) { options.set_string("address", address); }).find("expected host:port"),
        std::string::npos);
  }
  EXPECT_NE(refusal([](auto& options) { options.set_string("header_forward_pattern", "("); }), "");
}

TEST_F(ServerTest, AnAddressOfAnotherMachineIsRefused) {
  host_.options().set_string("address", "192.0.2.1:0");
  HttpFrontend frontend(host_);
  ASSERT_TRUE(frontend.init().ok());
  EXPECT_FALSE(frontend.start().ok());
  EXPECT_EQ(host_.registry().holders(), 0u);
}

TEST_F(ServerTest, APortInUseIsRefused) {
  start();
  host_.options().set_string("address", target());
  HttpFrontend second(host_);
  ASSERT_TRUE(second.init().ok());
  EXPECT_EQ(second.start().message(), "Socket '" + target() + "' already in use ");
}

TEST_F(ServerTest, NeedsACatalog) {
  host_.registry().withdraw(std::string(ModelCatalog::kInterfaceId), "models");
  HttpFrontend frontend(host_);
  ASSERT_TRUE(frontend.init().ok());
  EXPECT_EQ(frontend.start().code(), Code::kNotFound);
}

TEST_F(ServerTest, WhileTheServerExitsRunningCallsFinishAndNewOnesAreRefused) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  HttpClient running = client();
  running.send(request("POST", "/v2/models/m/infer", infer_body()));
  held.wait();
  HttpClient idle = client();
  EXPECT_EQ(idle.ask(request("GET", "/v2/health/live")).status, 200);
  catalog_.set_exiting(true);
  drain(in_ms(600'000));
  EXPECT_EQ(frontend_->holding(), "1 HTTP call");
  EXPECT_TRUE(idle.closed_by_server());
  expect_error(get("/v2/health/live"), 503, "Server exiting");
  expect_error(get("/v2/health/ready"), 503, "Server exiting");
  expect_error(get("/v2"), 503, "Server exiting");
  const Reply refused = infer("probe");
  expect_error(refused, 503, "Server exiting");
  EXPECT_EQ(refused.header("connection"), "close");
  held.answer();
  const Reply reply = running.receive();
  EXPECT_EQ(reply.body, infer_reply());
  EXPECT_EQ(reply.header("connection"), "close");
  EXPECT_TRUE(running.closed_by_server());
  EXPECT_TRUE(eventually([&] { return calls() == 0 && host_.gate().count() == 0; }));
  EXPECT_EQ(frontend_->holding(), "");
}

TEST_F(ServerTest, AtTheDeadlineRunningCallsAreCancelledAndTheirClientsTold) {
  for (bool exiting : {true, false}) {
    host_.gate().open();
    catalog_.set_exiting(false);
    test::FakeServedModel& model = catalog_.add_identity("m");
    HeldRequests held(model);
    start();
    HttpClient running = client();
    running.send(request("POST", "/v2/models/m/infer", infer_body()));
    held.wait();
    catalog_.set_exiting(exiting);
    drain(in_ms(20));
    EXPECT_TRUE(held.wait_cancelled());
    const Reply told = running.receive();
    expect_error(told, 503, "Server exiting: the request was not done when the drain timeout was over");
    EXPECT_EQ(told.header("connection"), "close");
    EXPECT_TRUE(running.closed_by_server());
    held.answer();
    stop();
    EXPECT_EQ(model.references(), 0);
  }
}

TEST_F(ServerTest, StopWaitsForRequestsThatAreStillRunning) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  std::vector<HttpClient> clients;
  clients.push_back(client());
  clients.back().send(request("POST", "/v2/models/m/infer", infer_body()));
  held.wait();
  std::thread stopper([this] { frontend_->stop(); });
  EXPECT_TRUE(held.wait_cancelled());
  EXPECT_EQ(calls(), 1);
  held.answer();
  stopper.join();
  EXPECT_EQ(model.references(), 0);
}

TEST_F(ServerTest, OutsideAnExitTheListenerClosesAtOnceAndRunningCallsFinish) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  HttpClient running = client();
  running.send(request("POST", "/v2/models/m/infer", infer_body()));
  held.wait();
  drain(in_ms(600'000));
  EXPECT_TRUE(eventually([&] { return !client().connected(); }));
  held.answer();
  EXPECT_EQ(running.receive().body, infer_reply());
}

TEST_F(ServerTest, WhileAnotherTakesOverRequestsOnTheirWayAreAnswered) {
  start();
  HttpClient idle = client();
  EXPECT_EQ(idle.ask(request("GET", "/v2/health/live")).header("connection"), "");
  HttpClient fresh = client();
  // One that nobody has taken yet waits for the instance that takes over, and there is none here.
  EXPECT_TRUE(eventually([&] { return frontend_->open_connections() == 2; }));
  drain(in_ms(600'000));
  EXPECT_EQ(host_.gate().count(), 1) << "it goes on answering";
  for (HttpClient* one : {&idle, &fresh}) {
    const Reply reply = one->ask(request("POST", "/v2/models/probe/infer", infer_body()));
    EXPECT_EQ(reply.body, infer_reply("probe"));
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_TRUE(one->closed_by_server());
    one->close();
  }
  EXPECT_TRUE(eventually([&] { return host_.gate().count() == 0; })) << "no connection is left";
}

TEST_F(ServerTest, WhileAnotherTakesOverPipelinedRequestsAreAnswered) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  HttpClient one = client();
  one.send(request("POST", "/v2/models/m/infer", infer_body()) +
           request("POST", "/v2/models/probe/infer", infer_body()) + request("GET", "/v2/health/live"));
  held.wait();
  drain(in_ms(600'000));
  held.answer();
  EXPECT_EQ(one.receive().body, infer_reply("m"));
  EXPECT_EQ(one.receive().body, infer_reply("probe"));
  const Reply last = one.receive();
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.header("connection"), "close");
  EXPECT_TRUE(one.closed_by_server());
}

TEST_F(ServerTest, WhileAnotherTakesOverIdleConnectionsEndInTheGracePeriod) {
  start();
  HttpClient idle = client();
  EXPECT_EQ(idle.ask(request("GET", "/v2/health/live")).status, 200);
  drain(in_ms(50));
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_TRUE(eventually([&] { return host_.gate().count() == 0; }));
}

TEST_F(ServerTest, TheNextGenerationTakesOverThePort) {
  start();
  EXPECT_EQ(infer("probe").status, 200);
  test::FakeHost next_host("http", test::FakeHost::Threads::kReal);
  set_default_options(next_host.options());
  next_host.options().set_string("address", target());
  next_host.registry().publish<ModelCatalog>("models", catalog_);
  host_.set_retires(true);
  next_host.registry().publish<Listeners>("kernel", listeners_);
  HttpFrontend next(next_host);
  ASSERT_TRUE(next.init().ok());
  Status status = next.start();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(next.bound_port(), port());
  const int port_of_both = port();
  drain(in_ms(600'000));
  stop();
  for (int i = 0; i < 20; ++i) {
    HttpClient one(port_of_both);
    EXPECT_EQ(one.ask(request("POST", "/v2/models/probe/infer", infer_body())).status, 200);
  }
}

TEST_F(ServerTest, StartingAndStoppingLeavesNoThreadsAndDescriptors) {
  auto round = [&] {
    start();
    EXPECT_EQ(infer("probe").status, 200);
    stop();
  };
  round();
  const size_t threads_before = threads();
  const size_t descriptors_before = open_descriptors();
  for (int i = 0; i < 20; ++i) round();
  EXPECT_TRUE(eventually([&] { return threads() == threads_before; }));
  EXPECT_EQ(open_descriptors(), descriptors_before);
}

TEST_F(ServerTest, AThousandConnectionsTakeNoThreadsAndGiveTheirDescriptorsBack) {
  raise_descriptor_limit(4096);
  start();
  EXPECT_EQ(infer("probe").status, 200);
  const size_t threads_before = threads();
  const size_t descriptors_before = open_descriptors();
  {
    std::vector<HttpClient> clients;
    for (int i = 0; i < 1000; ++i) {
      clients.push_back(client());
      ASSERT_TRUE(clients.back().send(request("POST", "/v2/models/probe/infer", infer_body())));
    }
    for (HttpClient& one : clients) ASSERT_EQ(one.receive().body, infer_reply("probe"));
    EXPECT_LE(threads(), threads_before) << "what an earlier test had may have ended meanwhile";
    EXPECT_EQ(infer("probe").status, 200);
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors_before; }));
  EXPECT_EQ(infer("probe").status, 200);
}

TEST_F(ServerTest, ConnectionsOverTheLimitAreToldSo) {
  host_.options().set_int("max_connections", 3);
  host_.options().set_int("threads", 1);
  start();
  std::vector<HttpClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(client());
    ASSERT_TRUE(clients.back().send("GET /v2/health/live HTTP/1.1\r\n"));
  }
  // The first one's answer tells that the beginnings before it have been read.
  ASSERT_EQ(clients[0].ask("Host: test\r\n\r\nGET ").status, 200);
  HttpClient fourth = client();
  expect_error(fourth.receive(), 503, "the server has as many connections as it may have");
  EXPECT_TRUE(fourth.closed_by_server());
  clients.pop_back();
  EXPECT_TRUE(eventually([&] { return get("/v2/health/live").status == 200; }));
}

TEST_F(ServerTest, OverTheLimitConnectionsWaitInTheQueueOfTheListener) {
  test::FakeServedModel& held_model = catalog_.add_identity("held");
  HeldRequests held(held_model);
  std::promise<void> started;
  std::promise<void> resume;
  catalog_.add_identity("slow").respond = [&](Request& request) {
    started.set_value();
    resume.get_future().wait();
    test::answer_identity(request);
    (void)request.release().ok();
  };
  host_.options().set_int("max_connections", 2);
  host_.options().set_int("threads", 2);
  start();
  HttpClient first = client();  // on the first thread
  first.send(request("POST", "/v2/models/held/infer", infer_body()));
  held.wait();
  HttpClient second = client();  // keeps the second thread busy
  second.send(request("POST", "/v2/models/slow/infer", infer_body()));
  started.get_future().wait();

  std::vector<HttpClient> flood;
  for (int i = 0; i < 20; ++i) flood.push_back(client());
  // The first thread decides; the next one has to wait for the second thread, the others for that one.
  expect_error(flood[0].receive(), 503, "the server has as many connections as it may have");
  EXPECT_TRUE(eventually([&] { return frontend_->open_connections() == 3; }));
  held.answer();
  EXPECT_EQ(first.receive().status, 200);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(first.ask(request("GET", "/v2/health/live")).status, 200);
  EXPECT_EQ(frontend_->open_connections(), 3);
  resume.set_value();
  EXPECT_EQ(second.receive().status, 200);
  EXPECT_EQ(flood[19].ask(request("GET", "/v2/health/live")).status, 200) << "idle ones made room";
}

TEST_F(ServerTest, AtTheLimitTheConnectionThatWasIdleTheLongestMakesRoom) {
  host_.options().set_int("max_connections", 3);
  host_.options().set_int("threads", 1);
  start();
  std::vector<HttpClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(client());
    ASSERT_EQ(clients.back().ask(request("GET", "/v2/health/live")).status, 200);
  }
  ASSERT_EQ(clients[0].ask(request("GET", "/v2/health/live")).status, 200);
  HttpClient fourth = client();
  EXPECT_EQ(fourth.ask(request("GET", "/v2/health/live")).status, 200);
  EXPECT_TRUE(clients[1].closed_by_server());
  for (int i : {0, 2}) EXPECT_EQ(clients[static_cast<size_t>(i)].ask(request("GET", "/v2")).status, 200) << i;
}

TEST_F(ServerTest, IdleConnectionsAreClosed) {
  host_.options().set_duration_ns("idle_timeout", 500 * kNsPerMs);
  start();
  HttpClient used = client();
  EXPECT_EQ(used.ask(request("GET", "/v2/health/live")).status, 200);
  EXPECT_TRUE(used.closed_by_server());
  EXPECT_TRUE(client().closed_by_server());
}

TEST_F(ServerTest, AReaderThatTakesNothingIsClosed) {
  host_.options().set_duration_ns("idle_timeout", 500 * kNsPerMs);
  test::FakeServedModel& model = catalog_.add_identity("m", DataType::kUint8);
  model.respond = [](Request& request) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {30 << 20};
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, shape);
    EXPECT_TRUE(response->allocate(output, 30 << 20).ok());
    std::memset(output.buffer.data, 1, output.buffer.size_bytes);
    response->send();
    (void)request.release().ok();
  };
  start();
  HttpClient slow(port(), 4096);
  slow.send(request("POST", "/v2/models/m/infer",
                    R"({"inputs":[{"name":"INPUT0","datatype":"UINT8","shape":[1],"data":[1]}],)"
                    R"("parameters":{"binary_data_output":true}})"));
  EXPECT_TRUE(eventually([&] { return calls() != 0; }));
  EXPECT_TRUE(eventually([&] { return calls() == 0; }));
  EXPECT_LT(slow.receive_all().size(), size_t{30} << 20);
}

TEST_F(ServerTest, CountsConnectionsAndRequests) {
  start();
  EXPECT_EQ(infer("probe").status, 200);
  EXPECT_EQ(infer("probe").status, 200);
  EXPECT_EQ(infer("x").status, 404);
  EXPECT_EQ(get("/unknown").status, 404);
  HttpClient open = client();
  EXPECT_EQ(open.ask(request("GET", "/v2/health/live")).status, 200);
  EXPECT_TRUE(eventually([&] {
    return test::RecordedMetrics(*frontend_).values() ==
           std::map<std::string, double>{
               {"atoll_http_connections{instance=http}", 1},
               {"atoll_http_refused_connections_total{instance=http}", 0},
               {"atoll_http_slow_streams_total{instance=http}", 0},
               {"atoll_http_requests_total{instance=http,category=inference,status=2xx}", 2},
               {"atoll_http_requests_total{instance=http,category=inference,status=4xx}", 1},
               {"atoll_http_requests_total{instance=http,category=health,status=2xx}", 1},
               {"atoll_http_requests_total{instance=http,category=other,status=4xx}", 1}};
  }));
}

class FakeTracing final : public Tracing, public Trace {
 public:
  bool active() const noexcept override { return true; }
  Trace* start(const TraceStart& request) noexcept override {
    parent = request.traceparent;
    state = request.tracestate;
    id_text = request.request_id;
    return this;
  }
  Result<std::vector<TraceSetting>> settings(std::string_view) const noexcept override {
    return std::vector<TraceSetting>{};
  }
  Status update(std::string_view, std::span<const TraceSetting>) noexcept override { return {}; }
  uint64_t id() const noexcept override { return 1; }
  void report(TraceActivity, int64_t) noexcept override {}
  void report_tensor(TraceActivity, std::string_view, DataType, std::span<const int64_t>,
                     std::span<const Buffer>) noexcept override {}
  void report_named(const char* name, int64_t) noexcept override { names.push_back(name); }
  std::string_view traceparent() const noexcept override { return {}; }
  Trace* spawn_child(std::string_view, int64_t, std::string_view) noexcept override { return nullptr; }
  bool wants_tensors() const noexcept override { return false; }
  void release() noexcept override { ++released; }

  std::string parent, state, id_text;
  std::vector<std::string> names;
  std::atomic<int> released{0};
};

TEST_F(ServerTest, TracesTellWhenBytesCameAndWent) {
  FakeTracing tracing;
  host_.registry().publish<Tracing>("trace", tracing);
  start();
  const std::vector<std::string> expected = {"HTTP_RECV_START", "HTTP_RECV_END", "INFER_RESPONSE_COMPLETE",
                                             "HTTP_SEND_START", "HTTP_SEND_END"};
  EXPECT_EQ(infer("probe", "TraceParent: 00-1-2-3\r\nTraceState: a=b\r\n").status, 200);
  EXPECT_TRUE(eventually([&] { return tracing.released == 1; }));
  EXPECT_EQ(tracing.names, expected);
  EXPECT_EQ(tracing.parent, "00-1-2-3");
  EXPECT_EQ(tracing.state, "a=b");
  EXPECT_EQ(tracing.id_text, "7");
  tracing.names.clear();
  EXPECT_EQ(post("/v2/models/probe/generate", R"({"INPUT0":[1,2]})").status, 200);
  EXPECT_TRUE(eventually([&] { return tracing.released == 2; }));
  EXPECT_EQ(tracing.names, expected);
  stop();
}

}  // namespace
}  // namespace atl::frontends::http
