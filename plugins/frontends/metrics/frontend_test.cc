/// The plugin as the server runs it, with socket clients before it.
#include "frontends/metrics/frontend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "atoll/core/metrics.h"
#include "atoll/runtime/listener_list.h"
#include "atoll/testing/fake_access.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "frontends/metrics/testing/metrics_test_support.h"

namespace atl::frontends::metrics {
namespace {

class FrontendTest : public ::testing::Test {
 protected:
  FrontendTest() : host_("metrics", test::FakeHost::Threads::kReal) {
    set_default_options(host_.options());
    host_.options().set_duration_ns("interval", 2 * kNsPerMs);
    host_.registry().publish<ModelCatalog>("models", catalog_);
    host_.registry().publish<Listeners>("kernel", listeners_);
  }
  ~FrontendTest() override {
    frontend_.reset();
    EXPECT_EQ(host_.gate().count(), 0);
    EXPECT_EQ(host_.registry().holders(), 0u);
    EXPECT_EQ(host_.events().subscriptions(), 0u);
  }
  void start() {
    frontend_ = std::make_unique<MetricsFrontend>(host_);
    Status status = frontend_->init();
    ASSERT_TRUE(status.ok()) << status.text();
    status = frontend_->start();
    ASSERT_TRUE(status.ok()) << status.text();
  }
  std::string ask(const std::string& request) { return TextClient(frontend_->bound_port()).ask(request); }
  std::string page() { return body_of(ask(get("/metrics"))); }
  void expect_alive() { EXPECT_EQ(status_of(ask(get("/metrics"))), "HTTP/1.1 200 OK"); }

  test::FakeModelCatalog catalog_;
  runtime::ListenerList listeners_;
  test::FakeHost host_;
  std::unique_ptr<MetricsFrontend> frontend_;
};

TEST_F(FrontendTest, BothPathsGiveThePage) {
  catalog_.add_identity("m");
  start();
  EXPECT_TRUE(host_.log().contains("Started Metrics Service at 127.0.0.1:" +
                                   std::to_string(frontend_->bound_port())));
  for (const char* path : {"/metrics", "/metrics/", "/metrics?name[]=x"}) {
    const std::string answer = ask(get(path));
    EXPECT_EQ(status_of(answer), "HTTP/1.1 200 OK") << path;
    EXPECT_NE(answer.find("\r\nContent-Type: text/plain; charset=utf-8\r\n"), std::string::npos);
    EXPECT_TRUE(has_line(body_of(answer), R"(nv_inference_request_success{model="m",version="1"} 0)"));
    EXPECT_TRUE(
        has_line(body_of(answer), R"(nv_inference_request_failure{model="m",reason="OTHER",version="1"} 0)"));
  }
}

TEST_F(FrontendTest, WhatIsOnThePage) {
  host_.options().set_bool("summary_latencies", true).set_bool("histogram_latencies", true);
  host_.options().set_strings("phase_histograms", {"all"});
  catalog_.add_identity("m", DataType::kFp32, 0, 2);
  start();
  ServerStateChanged state;
  state.generation = 3;
  host_.events().publish(state);
  host_.run_control();
  host_.events().deliver();
  ASSERT_TRUE(eventually([&] { return lines_with(page(), "nv_cpu_utilization ") == 1; }));
  const std::string text = page();
  for (const char* line :
       {"nv_cpu_memory_total_bytes ", "nv_cpu_memory_used_bytes ", "process_open_fds ",
        "atoll_event_bus_published_total 1", "atoll_event_bus_delivered_total 1",
        "atoll_event_bus_dropped_total 0", "atoll_event_bus_queued 0", "atoll_event_bus_subscriptions 6",
        "atoll_manifest_generation 3", "atoll_server_info{version=\"0.0.0-test\"} 1",
        "atoll_metrics_left_out_samples 0", "atoll_metrics_refused_connections_total 0",
        "# TYPE nv_inference_queue_summary_us summary",
        "# TYPE atoll_inference_queue_duration_seconds histogram"}) {
    EXPECT_EQ(lines_with(text, line), 1u) << line;
  }
  EXPECT_EQ(text.find("nv_inference_first_response"), std::string::npos) << "of decoupled models only";
  EXPECT_EQ(text.find("nv_pinned"), std::string::npos);
  EXPECT_EQ(text.find("nv_gpu"), std::string::npos);
}

TEST_F(FrontendTest, ACollectorGetsTheFormatAndTheEncodingThatItAccepts) {
  catalog_.add_identity("m");
  start();
  TextClient client(frontend_->bound_port());
  const auto ask = [&](const std::string& headers) {
    return client.ask("GET /metrics HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n");
  };
  const std::string protobuf =
      "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
  const std::string as_protobuf = ask("Accept: " + protobuf + ";q=0.6,text/plain;version=0.0.4;q=0.3\r\n");
  EXPECT_NE(as_protobuf.find("Content-Type: application/vnd.google.protobuf; "
                             "proto=io.prometheus.client.MetricFamily; encoding=delimited\r\n"),
            std::string::npos);
  EXPECT_NE(body_of(as_protobuf).find("\n\x1cnv_inference_request_success\x12"), std::string::npos);
  const std::string as_text = ask("Accept: text/plain;q=0.7," + protobuf + ";q=0.6\r\n");
  EXPECT_NE(as_text.find("Content-Type: text/plain; charset=utf-8\r\n"), std::string::npos);
  EXPECT_TRUE(has_line(body_of(as_text), R"(nv_inference_count{model="m",version="1"} 0)"));
  const std::string zipped = ask("Accept-Encoding: gzip\r\n");
  EXPECT_NE(zipped.find("Content-Encoding: gzip\r\n"), std::string::npos);
  EXPECT_EQ(body_of(zipped).substr(0, 2), "\x1f\x8b");
  EXPECT_LT(body_of(zipped).size() * 3, body_of(as_text).size());
}

TEST(AcceptedFormatTest, ProtobufOnlyWhereItIsListedWithTheWeightOfTextOrMore) {
  const std::string protobuf =
      "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
  const auto is_protobuf = [](const std::string& accept) {
    return accepted_format(accept) == PageFormat::kProtobuf;
  };
  EXPECT_TRUE(is_protobuf(protobuf));
  EXPECT_TRUE(is_protobuf(protobuf + ", text/plain"));
  EXPECT_TRUE(
      is_protobuf("*/*;q=0.1, Application/Vnd.Google.Protobuf; encoding=\"delimited\" ; "
                  "proto=io.prometheus.client.MetricFamily ;q=0.6,text/plain;q=0.3"));
  for (const std::string& text :
       {std::string(), std::string("*/*"), std::string("text/plain"), protobuf + ";q=0", protobuf + ";q=x",
        protobuf + ";q=0.5,text/plain;q=0.6", std::string("application/vnd.google.protobuf"),
        std::string("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text"),
        std::string("application/vnd.google.protobuf;proto=other;encoding=delimited"),
        std::string(";;,,;=,=;q")}) {
    EXPECT_FALSE(is_protobuf(text)) << text;
  }
}

TEST_F(FrontendTest, WithoutModelsTheFamiliesOfModelsAreOmitted) {
  start();
  EXPECT_EQ(page().find("nv_inference"), std::string::npos);
  EXPECT_EQ(page().find("atoll_inference"), std::string::npos);
  catalog_.add_identity("m");
  EXPECT_NE(page().find("nv_inference"), std::string::npos);
  catalog_.unload({"m"}, [](auto) {});
  EXPECT_EQ(page().find("nv_inference"), std::string::npos);
}

TEST_F(FrontendTest, WithoutACatalogAndCpuMetrics) {
  host_.registry().withdraw(std::string(ModelCatalog::kInterfaceId), "models");
  host_.options().set_bool("cpu_metrics", false);
  start();
  EXPECT_EQ(page().find("nv_"), std::string::npos);
  EXPECT_EQ(lines_with(page(), "process_threads "), 1u);
}

TEST_F(FrontendTest, OtherPathsAndMethods) {
  start();
  const std::string missing = ask(get("/"));
  EXPECT_EQ(status_of(missing), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(body_of(missing), "not found; metrics are at /metrics\n");
  for (const char* path : {"/metric", "/metricsx", "/metrics//", "/v2/health/live", "*", "/metrics%2f"}) {
    EXPECT_EQ(status_of(ask(get(path))), "HTTP/1.1 404 Not Found") << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"}) {
    const std::string answer = ask(std::string(method) + " /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(status_of(answer), "HTTP/1.1 405 Method Not Allowed") << method;
    EXPECT_NE(answer.find("\r\nAllow: GET\r\n"), std::string::npos) << method;
  }
  EXPECT_EQ(body_of(ask("HEAD / HTTP/1.1\r\n\r\n")), "");
  expect_alive();
}

TEST_F(FrontendTest, ThePageIsForThoseWhoMayHaveIt) {
  test::FakeAccess access;
  access.require(ApiCategory::kMetrics, "scrape-key", "right",
                 make_status(Code::kPermissionDenied, "not you"));
  host_.registry().publish<Access>("keys", access);
  start();
  const std::string refused = ask(get("/metrics"));
  EXPECT_EQ(status_of(refused), "HTTP/1.1 403 Forbidden");
  EXPECT_EQ(body_of(refused), "not you");
  EXPECT_EQ(status_of(ask("POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n")), "HTTP/1.1 403 Forbidden");
  EXPECT_EQ(status_of(ask(get("/other"))), "HTTP/1.1 404 Not Found");
  const std::string allowed = ask("GET /metrics HTTP/1.1\r\nHost: x\r\nScrape-Key: right\r\n\r\n");
  EXPECT_EQ(status_of(allowed), "HTTP/1.1 200 OK");
  frontend_.reset();
}

TEST_F(FrontendTest, ConnectionsAreKeptAndRequestsPipelined) {
  start();
  TextClient client(frontend_->bound_port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(client.ask(get("/metrics"))), "HTTP/1.1 200 OK");
  client.send(get("/metrics") + get("/") + get("/metrics"));
  EXPECT_EQ(status_of(client.receive()), "HTTP/1.1 200 OK");
  EXPECT_EQ(status_of(client.receive()), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(status_of(client.receive()), "HTTP/1.1 200 OK");
  client.send("GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(client.receive_all().find("Connection: close"), std::string::npos);
  TextClient old(frontend_->bound_port());
  old.send("GET /metrics HTTP/1.0\r\n\r\n");
  EXPECT_EQ(status_of(old.receive_all()), "HTTP/1.0 200 OK");
}

TEST_F(FrontendTest, BodiesUpToALimit) {
  start();
  auto post = [&](size_t size) {
    return status_of(ask("POST /metrics HTTP/1.1\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
                         std::string(size, 'x')));
  };
  constexpr size_t kLimit = MetricsEndpoint::kMaxBodyBytes;
  EXPECT_EQ(post(kLimit - 1), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_EQ(post(kLimit), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_EQ(post(kLimit + 1), "HTTP/1.1 413 Payload Too Large");
  expect_alive();
}

TEST_F(FrontendTest, HeadsUpToALimit) {
  start();
  auto with_head = [&](size_t size) {
    const std::string begin = "X: ", end = "\r\n\r\n";
    return status_of(
        ask("GET /metrics HTTP/1.1\r\n" + begin + std::string(size - begin.size() - end.size(), 'x') + end));
  };
  constexpr size_t kLimit = MetricsEndpoint::kMaxHeadBytes;
  EXPECT_EQ(with_head(kLimit - 1), "HTTP/1.1 200 OK");
  EXPECT_EQ(with_head(kLimit), "HTTP/1.1 200 OK");
  EXPECT_EQ(with_head(kLimit + 1), "HTTP/1.1 431 Request Header Fields Too Large");
  EXPECT_EQ(with_head(4 * kLimit), "HTTP/1.1 431 Request Header Fields Too Large");
  EXPECT_EQ(status_of(ask(get("/metrics?" + std::string(kLimit, 'x')))),
            "HTTP/1.1 431 Request Header Fields Too Large");
  expect_alive();
}

TEST_F(FrontendTest, WhatIsNoRequest) {
  start();
  for (const char* bytes : {"hello\r\n\r\n", "GET /metrics HTTP/9.9\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
                            "GET /metrics HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                            "GET /metrics HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                            "GET /metrics HTTP/1.1\r\nno colon\r\n\r\n", "\x16\x03\x01\x02\r\n\r\n"}) {
    EXPECT_EQ(status_of(ask(bytes)), "HTTP/1.1 400 Bad Request") << bytes;
  }
  TextClient half(frontend_->bound_port());
  half.send("GET /met");
  half.end_sending();
  EXPECT_EQ(half.receive_all(), "");
  expect_alive();
}

TEST_F(FrontendTest, SlowClientsAreDisconnected) {
  host_.options().set_duration_ns("idle_timeout", 20 * kNsPerMs);
  start();
  EXPECT_EQ(TextClient(frontend_->bound_port()).receive_all(), "");
  TextClient slow(frontend_->bound_port());
  slow.send("GET /metrics HTTP/1.1\r\n");
  EXPECT_EQ(slow.receive_all(), "");
}

TEST_F(FrontendTest, AtTheLimitTheConnectionThatWaitedTheLongestMakesRoom) {
  host_.options().set_int("max_connections", 2);
  start();
  TextClient first(frontend_->bound_port()), second(frontend_->bound_port());
  EXPECT_EQ(status_of(second.ask(get("/metrics"))), "HTTP/1.1 200 OK");
  EXPECT_EQ(status_of(first.ask(get("/metrics"))), "HTTP/1.1 200 OK");
  TextClient third(frontend_->bound_port());
  EXPECT_EQ(status_of(third.ask(get("/metrics"))), "HTTP/1.1 200 OK");
  EXPECT_EQ(second.receive_all(), "");
  EXPECT_TRUE(has_line(body_of(first.ask(get("/metrics"))), "atoll_metrics_refused_connections_total 0"));
}

TEST_F(FrontendTest, ConnectionsAreRefusedWhenAllOthersAreBeingAnswered) {
  for (int i = 0; i < 4000; ++i) catalog_.add_identity("a_model_with_a_name_" + std::to_string(i));
  host_.options().set_int("max_connections", 1);
  start();
  {
    TextClient stuck(frontend_->bound_port());
    stuck.set_receive_buffer(4096);
    stuck.send(get("/metrics"));
    ASSERT_TRUE(eventually([&] { return host_.gate().count() == 1; }));
    EXPECT_EQ(status_of(TextClient(frontend_->bound_port()).receive_all()),
              "HTTP/1.1 503 Service Unavailable");
  }
  int refused = 1;
  EXPECT_TRUE(eventually([&] {
    if (status_of(ask(get("/metrics"))) == "HTTP/1.1 200 OK") return true;
    ++refused;  // the stuck one has not gone yet
    return false;
  }));
  EXPECT_TRUE(has_line(page(), "atoll_metrics_refused_connections_total " + std::to_string(refused)));
}

TEST_F(FrontendTest, ATakenPortIsRefused) {
  start();
  const std::string address = "127.0.0.1:" + std::to_string(frontend_->bound_port());
  test::FakeHost other("metrics2", test::FakeHost::Threads::kReal);
  other.registry().publish<Listeners>("kernel", listeners_);
  set_default_options(other.options());
  other.options().set_string("address", address);
  MetricsFrontend second(other);
  ASSERT_TRUE(second.init().ok());
  Status status = second.start();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "Socket '" + address + "' already in use ");
  EXPECT_EQ(other.events().subscriptions(), 0u) << "a start that failed leaves nothing";
  // The next generation goes on with the socket of an instance that retires.
  host_.set_retires(true);
  status = second.start();
  EXPECT_TRUE(status.ok()) << status.text();
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns() + 10 * kNsPerSecond);
  const int port = frontend_->bound_port();
  frontend_.reset();
  EXPECT_EQ(status_of(TextClient(port).ask(get("/metrics"))), "HTTP/1.1 200 OK");
}

TEST_F(FrontendTest, AnAddressOfAnotherMachineIsRefused) {
  host_.options().set_string("address", "192.0.2.1:0");
  frontend_ = std::make_unique<MetricsFrontend>(host_);
  ASSERT_TRUE(frontend_->init().ok());
  Status status = frontend_->start();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("192.0.2.1"), std::string_view::npos);
}

TEST_F(FrontendTest, ADrainClosesIdleConnectionsAndTheListener) {
  start();
  TextClient idle(frontend_->bound_port());
  EXPECT_EQ(status_of(idle.ask(get("/metrics"))), "HTTP/1.1 200 OK");
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns() + 10 * kNsPerSecond);
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_TRUE(eventually([&] { return !TextClient(frontend_->bound_port()).connected(); }));
}

TEST_F(FrontendTest, WhileTheServerEndsMetricsAreStillToBeHad) {
  catalog_.add_identity("m");
  start();
  page();
  catalog_.set_exiting(true);
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns() + 10 * kNsPerSecond);
  EXPECT_TRUE(has_line(page(), R"(nv_inference_count{model="m",version="1"} 0)"));
  EXPECT_EQ(frontend_->holding(), "");
}

TEST_F(FrontendTest, AReaderThatDoesNotReadIsCutOffAtTheDeadlineOfADrain) {
  for (int i = 0; i < 4000; ++i) catalog_.add_identity("a_model_with_a_name_" + std::to_string(i));
  start();
  TextClient stuck(frontend_->bound_port());
  stuck.set_receive_buffer(4096);
  stuck.send(get("/metrics"));
  ASSERT_TRUE(eventually([&] { return host_.gate().count() == 1; }));
  EXPECT_EQ(frontend_->holding(), "1 scrape");
  host_.gate().close();
  frontend_->drain(host_.clock().now_ns());
  EXPECT_TRUE(eventually([&] { return host_.gate().count() == 0; }));
}

TEST_F(FrontendTest, ManyScrapesWhileModelsAndSourcesComeAndGo) {
  struct Source final : MetricSource {
    virtual ~Source() = default;
    void collect(MetricSink& sink) const noexcept override {
      sink.family("atoll_source", "S.", MetricKind::kGauge);
      sink.sample({}, 1);
    }
  } source;
  host_.options().set_bool("summary_latencies", true);
  for (int i = 0; i < 10; ++i) {
    catalog_.add_identity("m" + std::to_string(i));
    catalog_.add_identity("stays" + std::to_string(i));
  }
  start();
  std::atomic<bool> over{false};
  std::thread changes([&] {
    for (uint64_t i = 0; !over; ++i) {
      const std::vector<std::string> names = {"m" + std::to_string(i % 10)};
      catalog_.unload(names, [](auto) {});
      catalog_.load(names, [](auto) {});
      host_.registry().publish<MetricSource>("source", source);
      host_.registry().withdraw(std::string(MetricSource::kInterfaceId), "source");
    }
  });
  std::vector<std::thread> scrapers;
  for (int scraper = 0; scraper < 2; ++scraper) {
    scrapers.emplace_back([&] {
      TextClient client(frontend_->bound_port());
      for (int i = 0; i < 100; ++i) {
        const std::string text = body_of(client.ask(get("/metrics")));
        EXPECT_EQ(lines_with(text, "nv_inference_count{model=\"stays"), 10u);
        EXPECT_LE(lines_with(text, "nv_inference_count{"), 20u);
        EXPECT_EQ(lines_with(text, "nv_inference_count{"), lines_with(text, "nv_inference_exec_count{"));
        EXPECT_TRUE(has_line(text, "atoll_metrics_left_out_samples 0"));
        EXPECT_EQ(text.back(), '\n');
      }
    });
  }
  for (std::thread& scraper : scrapers) scraper.join();
  over = true;
  changes.join();
  EXPECT_TRUE(has_line(page(), "atoll_metrics_scrapes_total 201"));
}

TEST_F(FrontendTest, OtherPluginsGetTheSamePage) {
  catalog_.add_identity("m");
  start();
  MetricsPage& service = *frontend_;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const Result<std::string> text = service.text();
        ASSERT_TRUE(text.ok());
        EXPECT_TRUE(has_line(text.value(), R"(nv_inference_request_success{model="m",version="1"} 0)"));
        expect_alive();
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(has_line(page(), "atoll_metrics_scrapes_total 81"));
}

TEST_F(FrontendTest, ThePageIsThereWithoutAPort) {
  catalog_.add_identity("m");
  host_.options().set_bool("listen", false);
  start();
  EXPECT_EQ(frontend_->bound_port(), 0);
  const Result<std::string> text = static_cast<MetricsPage&>(*frontend_).text();
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(has_line(text.value(), R"(nv_inference_request_success{model="m",version="1"} 0)"));
}

TEST_F(FrontendTest, StopsAndStartsAgain) {
  for (int i = 0; i < 20; ++i) {
    start();
    TextClient open(frontend_->bound_port());
    open.send("GET /metrics HTTP/1.1\r\n");
    expect_alive();
    frontend_->stop();
    EXPECT_EQ(frontend_->bound_port(), 0);
    EXPECT_TRUE(frontend_->start().ok());
    expect_alive();
    frontend_.reset();
  }
}

}  // namespace
}  // namespace atl::frontends::metrics
