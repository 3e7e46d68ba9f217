#include "pools/leases/servers/http_instance_models.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/stop_executor.h"
#include "atoll/testing/thread_executor.h"
#include "pools/leases/testing/scripted_server.h"

namespace atl::pools {
namespace {

using Names = std::vector<std::string>;

// --- answers, whoever wrote them ---

TEST(ServerAnswers, ErrorsAreTheirTexts) {
  EXPECT_EQ(answers::error_of({400, R"({"error":"no such model"})"}), "no such model");
  EXPECT_EQ(answers::error_of({502, "<html>\n<body>"}), "<html>");
  EXPECT_EQ(answers::error_of({503, ""}), "HTTP status 503");
  EXPECT_EQ(answers::error_of({500, R"({"error":7})"}), R"({"error":7})");
  EXPECT_EQ(answers::error_of({500, std::string(5000, 'x')}).size(), 1024u);
  EXPECT_EQ(answers::error_of({500, "\xff\xfe"}), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ServerAnswers, TheIndexSaysWhetherAModelIsInUse) {
  const auto in_use = [](std::string_view index, std::string_view model = "m") -> std::string {
    Result<bool> found = answers::is_in_use(index, model);
    return !found.ok() ? std::string(found.status().message()) : *found ? "yes" : "no";
  };
  EXPECT_EQ(in_use(R"([{"name":"m","version":"1","state":"READY"}])"), "yes");
  EXPECT_EQ(in_use(R"([{"name":"m","version":"1","state":"UNLOADING"}])"), "yes");
  EXPECT_EQ(in_use(R"([{"name":"m","version":"1","state":"UNAVAILABLE","reason":"unloaded"},
                       {"name":"m","version":"2","state":"LOADING"}])"),
            "yes");
  EXPECT_EQ(in_use(R"([{"name":"m","state":"UNAVAILABLE"},{"name":"n","state":"READY"}])"), "no");
  EXPECT_EQ(in_use(R"([{"name":"m"}])"), "no") << "it is in the repository, and was never loaded";
  EXPECT_EQ(in_use("[]"), "no");
  EXPECT_EQ(in_use(R"([1,"m",null,{"name":1,"state":"READY"},{"name":"m","state":2}])"), "no");
  for (const char* wrong : {"", "{}", "[", "null", "[[[[[["})
    EXPECT_EQ(in_use(wrong), "the repository's index is no JSON array") << wrong;
  EXPECT_EQ(in_use(std::string(1'000'000, '[')), "the repository's index is no JSON array") << "deep";
}

TEST(ServerAnswers, TheIndexSaysWhatIsServedAndWhatIsNot) {
  Result<ServedModels> models = answers::served_of(R"([
      {"name":"a","version":"1","state":"READY"},{"name":"a","version":"2","state":"UNAVAILABLE","reason":"broken"},
      {"name":"b","state":"LOADING"},{"name":"c","state":"UNLOADING"},{"name":"d"},
      {"name":"e","version":"1","state":"UNAVAILABLE","reason":"unloaded"},1,null,[],{"state":"READY"},{"name":5,"state":7}])");
  ASSERT_TRUE(models.ok()) << models.status().text();
  for (const char* served : {"a", "b"}) EXPECT_TRUE(models->served.contains(served)) << served;
  for (const char* lost : {"c", "d", "e"}) EXPECT_FALSE(models->served.contains(lost)) << lost;
  EXPECT_EQ(models->not_served.at("e"), "unloaded");
  for (const std::string& wrong :
       {std::string(), std::string("{}"), std::string("["), std::string(1'000'000, '[')})
    EXPECT_EQ(answers::served_of(wrong).status().message(), "the repository's index is no JSON array");
}

TEST(ServerAnswers, StatisticsSayWhatModelsWereUsedFor) {
  const Result<UseByModel> use = answers::use_of(R"({"model_stats":[
      {"name":"m","version":"1","last_inference":1000,"inference_stats":{"success":{"count":3,"ns":90},
       "fail":{"count":1,"ns":5},"queue":{"count":3,"ns":7},"compute_input":{"count":3,"ns":1},
       "compute_infer":{"count":3,"ns":20},"compute_output":{"count":3,"ns":2}}},
      {"name":"m","version":"2","last_inference":2000,"inference_stats":{"success":{"count":10}}},
      {"name":"n"},{"name":7,"inference_stats":{"success":{"count":-1},"fail":3,"queue":{"ns":1e300}}},"m",null]})");
  ASSERT_TRUE(use.ok()) << use.status().text();
  const ModelUse& m = use.value().at("m");
  EXPECT_EQ(m.requests, 14u);
  EXPECT_EQ(m.queue_ns, 7);
  EXPECT_EQ(m.compute_ns, 23);
  EXPECT_EQ(m.last_wall_ns, 2 * kNsPerSecond);
  EXPECT_EQ(use.value().at("n").requests, 0u);
  EXPECT_EQ(use.value().at("").requests, 0u);
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += cat(i == 0 ? "" : ",", R"({"name":"m","inference_stats":{"queue":{"ns":)", UINT64_MAX,
                R"(},"compute_input":{"ns":)", UINT64_MAX, R"(},"compute_infer":{"ns":)", UINT64_MAX, "}}}");
  Result<UseByModel> absurd = answers::use_of(cat(R"({"model_stats":[)", many, "]}"));
  ASSERT_TRUE(absurd.ok()) << absurd.status().text();
  EXPECT_EQ(absurd->at("m").queue_ns, INT64_MAX);
  EXPECT_EQ(absurd->at("m").compute_ns, INT64_MAX);
  EXPECT_EQ(answers::use_of("[]").status().message(), "the statistics are no JSON object");
  EXPECT_EQ(answers::use_of("{").status().message(), "the statistics are no JSON object");
  EXPECT_EQ(answers::use_of(R"({"model_stats":{}})").status().message(),
            "the statistics have no model_stats");
}

TEST(ServerAnswers, ConfigurationsNameTheirBackend) {
  const auto backends = [](std::string_view config) -> std::string {
    Result<Names> found = answers::backends_of(config);
    if (!found.ok()) return std::string(found.status().message());
    return found->empty() ? "none" : found->front();
  };
  EXPECT_EQ(backends(R"({"name":"m","platform":"","backend":"python"})"), "python");
  EXPECT_EQ(backends(R"({"platform":"onnxruntime_onnx","backend":"onnxruntime"})"), "onnxruntime");
  EXPECT_EQ(backends(R"({"platform":"tensorrt_plan"})"), "tensorrt_plan");
  EXPECT_EQ(backends(R"({"platform":"ensemble"})"), "none");
  EXPECT_EQ(backends(R"({"ensemble_scheduling":{"step":[]}})"), "none");
  EXPECT_EQ(backends(R"({"backend":5})"), "its configuration names no backend");
  EXPECT_EQ(backends("[]"), "its configuration is no JSON object");
  EXPECT_EQ(backends(""), "its configuration is no JSON object");
}

// --- over sockets ---

class HttpInstanceModelsTest : public testing::Test {
 protected:
  HttpInstanceModelsTest() {
    settings.poll_interval_ns = kNsPerMs;
    Result<SerialExecutorPtr> made = threads.create("pools", {});
    EXPECT_TRUE(made.ok());
    executor = std::move(made).value();
    EXPECT_TRUE(client.start(threads, "calls").ok());
  }
  ~HttpInstanceModelsTest() override {
    client.stop();
    stop_executor(executor);
  }

  /// What `ask` ends with; "" success.
  template <class Ask>
  std::string outcome(Ask ask) {
    std::promise<std::string> ended;
    // Answers may come when nobody waits for them any more.
    HttpInstanceModels& host = *hosts.emplace_back(
        std::make_unique<HttpInstanceModels>(*executor, threads.clock(), client, settings));
    executor->post(make_task([&] {
      ask(host, [&](Status status) {
        ended.set_value(status.ok() ? "" : cat(code_name(status.code()), ": ", status.message()));
      });
    }));
    return ended.get_future().get();
  }
  static ServerAddress at(const ScriptedServer& server) { return {server.address(), {}}; }
  static ModelServer on(const ScriptedServer& server) { return {{}, at(server), "0aff"}; }

  HttpModelHostSettings settings;
  test::ThreadExecutors threads;
  SerialExecutorPtr executor;
  HttpClient client;
  std::vector<std::unique_ptr<HttpInstanceModels>> hosts;
};

TEST_F(HttpInstanceModelsTest, CallsAreThoseOfTheProtocol) {
  ScriptedServer server([](const std::string&) { return HttpAnswer{200, "[]"}; });
  EXPECT_EQ(outcome([&](HttpInstanceModels& host, InstanceModels::Done done) {
              host.check_ready(at(server), std::move(done));
            }),
            "");
  EXPECT_EQ(outcome([&](HttpInstanceModels& host, InstanceModels::Done done) {
              host.load(on(server), {"a b/c", "/models"}, std::move(done));
            }),
            "");
  EXPECT_EQ(outcome([&](HttpInstanceModels& host, InstanceModels::Done done) {
              host.unload(on(server), "m", std::move(done));
            }),
            "");
  EXPECT_EQ(server.calls(), (Names{"GET /v2/health/live", "POST /v2/repository/models/a%20b%2Fc/load",
                                   "POST /v2/repository/models/m/unload", "POST /v2/repository/index"}));
}

TEST_F(HttpInstanceModelsTest, ControlCallsShowTheKeyAndNobodyElseIsShownIt) {
  ScriptedServer server([](const std::string&) { return HttpAnswer{200, "[]"}; });
  const auto wait = [&](auto ask) {
    std::promise<void> ended;
    HttpInstanceModels host(*executor, threads.clock(), client, settings);
    executor->post(make_task([&] { ask(host, [&](auto&&) { ended.set_value(); }); }));
    ended.get_future().get();
  };
  wait([&](HttpInstanceModels& host, auto done) { host.load(on(server), {"m", "/models"}, done); });
  wait([&](HttpInstanceModels& host, auto done) { host.unload(on(server), "m", done); });
  wait([&](HttpInstanceModels& host, auto done) { host.find_models(on(server), done); });
  EXPECT_EQ(server.keys(), (Names{"0aff", "0aff", "0aff", "0aff"}));
  wait([&](HttpInstanceModels& host, auto done) { host.check_closed(at(server), done); });
  EXPECT_EQ(server.keys().back(), "") << "that is what it is asked without";
}

TEST_F(HttpInstanceModelsTest, AServerIsClosedIfItAnswersNoControlCallWithoutAKey) {
  int status = 200;
  ScriptedServer server([&](const std::string&) { return HttpAnswer{status, "[]"}; });
  const auto closed = [&](HttpInstanceModels& host, InstanceModels::Done done) {
    host.check_closed(at(server), std::move(done));
  };
  EXPECT_EQ(outcome(closed), "FAILED_PRECONDITION: it takes control calls of anybody");
  for (const int refused : {401, 403, 404, 500, 0}) {
    status = refused;
    EXPECT_EQ(outcome(closed), "") << refused;
  }
}

TEST_F(HttpInstanceModelsTest, FailuresHaveTheServersText) {
  ScriptedServer server([](const std::string&) {
    return HttpAnswer{400, R"({"error":"failed to load 'm', no version"})"};
  });
  EXPECT_EQ(outcome([&](HttpInstanceModels& host, InstanceModels::Done done) {
              host.load(on(server), {"m", "/models"}, std::move(done));
            }),
            "INTERNAL: failed to load 'm', no version");
}

TEST_F(HttpInstanceModelsTest, AnUnloadEndsWhenTheModelIsGone) {
  int looks = 0;
  ScriptedServer server([&](const std::string& call) -> HttpAnswer {
    if (!call.ends_with("/index")) return {200, ""};
    return {200, cat(R"([{"name":"m","state":")", ++looks < 4 ? "UNLOADING" : "UNAVAILABLE", R"("}])")};
  });
  EXPECT_EQ(outcome([&](HttpInstanceModels& host, InstanceModels::Done done) {
              host.unload(on(server), "m", std::move(done));
            }),
            "");
  EXPECT_EQ(looks, 4);
}

TEST_F(HttpInstanceModelsTest, AnUnloadThatIsRefusedFailsOnlyIfTheModelIsThere) {
  std::string state = "READY";
  ScriptedServer server([&](const std::string& call) -> HttpAnswer {
    if (!call.ends_with("/index")) return {400, R"({"error":"not allowed"})"};
    return {200, cat(R"([{"name":"m","state":")", state, R"("}])")};
  });
  const auto unload = [&](HttpInstanceModels& host, InstanceModels::Done done) {
    host.unload(on(server), "m", std::move(done));
  };
  EXPECT_EQ(outcome(unload), "INTERNAL: not allowed");
  state = "UNAVAILABLE";
  EXPECT_EQ(outcome(unload), "");
}

TEST_F(HttpInstanceModelsTest, AnUnloadThatDoesNotEndIsGivenUp) {
  settings.load_timeout_ns = 20 * kNsPerMs;
  ScriptedServer server([](const std::string&) {
    return HttpAnswer{200, R"([{"name":"m","state":"UNLOADING"}])"};
  });
  EXPECT_EQ(outcome([&](HttpInstanceModels& host, InstanceModels::Done done) {
              host.unload(on(server), "m", std::move(done));
            }),
            "DEADLINE_EXCEEDED: still UNLOADING after 20 ms");
}

TEST_F(HttpInstanceModelsTest, NobodyGarbageAndTooMuchAreFailures) {
  const auto ready = [](const ServerAddress& server) {
    return [&server](HttpInstanceModels& host, InstanceModels::Done done) {
      host.check_ready(server, std::move(done));
    };
  };
  ServerAddress nobody;
  {
    ScriptedServer gone([](const std::string&) { return HttpAnswer{}; });
    nobody = at(gone);
    EXPECT_TRUE(outcome(ready(nobody)).starts_with("UNAVAILABLE: 127.0.0.1:")) << "closed without an answer";
  }
  EXPECT_TRUE(outcome(ready(nobody)).starts_with("UNAVAILABLE: 127.0.0.1:"));

  ScriptedServer large([](const std::string&) { return HttpAnswer{200, std::string(5 << 20, 'x')}; });
  const ServerAddress at_large = at(large);
  EXPECT_EQ(outcome(ready(at_large)),
            cat("RESOURCE_EXHAUSTED: ", at_large.http.text(), " answered more than 4194304 bytes"));
}

TEST_F(HttpInstanceModelsTest, ASlowServerIsNotWaitedForAndDelaysNobodyElse) {
  settings.call_timeout_ns = 50 * kNsPerMs;
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  ScriptedServer slow([released](const std::string&) {
    released.wait();
    return HttpAnswer{200, ""};
  });
  ScriptedServer quick([](const std::string&) { return HttpAnswer{200, ""}; });
  EXPECT_EQ(outcome([&](HttpInstanceModels& host, InstanceModels::Done done) {
              host.check_ready(at(slow), std::move(done));
            }),
            cat("DEADLINE_EXCEEDED: ", slow.address().text(), " did not answer in 50 ms"));
  EXPECT_EQ(outcome([&](HttpInstanceModels& host, InstanceModels::Done done) {
              host.load(on(slow), {"m", "/models"}, [](const Status&) {});  // it hangs meanwhile
              host.check_ready(at(quick), std::move(done));
            }),
            "");
  release.set_value();
}

TEST_F(HttpInstanceModelsTest, BackendsComeFromTheConfiguration) {
  ScriptedServer server([](const std::string&) { return HttpAnswer{200, R"({"backend":"python"})"}; });
  std::promise<Names> ended;
  HttpInstanceModels host(*executor, threads.clock(), client, settings);
  executor->post(make_task([&] {
    host.find_backends(at(server), "m",
                       [&](Result<Names> found) { ended.set_value(found.ok() ? *found : Names()); });
  }));
  EXPECT_EQ(ended.get_future().get(), Names{"python"});
  EXPECT_EQ(server.calls(), Names{"GET /v2/models/m/config"});
}

}  // namespace
}  // namespace atl::pools
