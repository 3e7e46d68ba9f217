#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;

TEST(Catalog, LoadsAcquiresInfersUnloads) {
  CatalogBench bench;
  ASSERT_TRUE(bench.start_status.ok()) << bench.start_status.text();
  bench.put("m");
  EXPECT_THAT(bench.index(), ElementsAre("m"));
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_TRUE(bench.host.log().contains("successfully loaded 'm' version 1"));
  {
    auto model = bench.catalog().acquire("m", ModelCatalog::kLatest);
    ASSERT_TRUE(model.ok()) << model.status().text();
    TestRequest request("7");
    fill_simple(request);
    ASSERT_EQ(request.infer(*model->get()).text(), "OK");
    ASSERT_TRUE(request.done());
    ASSERT_EQ(request.response().outputs.size(), 1U);
    EXPECT_EQ(request.response().outputs[0].name, "OUTPUT0");
    EXPECT_THAT(request.response().outputs[0].shape, ElementsAre(1, 4));
    EXPECT_EQ(test::values_of<float>(request.response().outputs[0].bytes), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_THAT(request.problems(), ElementsAre());

    bench.unload({"m"});
    EXPECT_THAT(bench.index(), ElementsAre("m/1 UNLOADING"));
    EXPECT_EQ(bench.catalog().acquire("m", 1).status().text(),
              "Request for unknown model: 'm' version 1 is not at ready state");
    EXPECT_EQ(bench.backend.live_instances(), 1);
  }
  bench.host.run_ready();
  EXPECT_THAT(bench.index(), ElementsAre("m/1 UNAVAILABLE unloaded"));
  EXPECT_EQ(bench.backend.live_instances(), 0);
  EXPECT_EQ(bench.backend.live_models(), 0);
  EXPECT_EQ(bench.scheduler.live(), 0);
  EXPECT_EQ(bench.host.registry().holders("atoll.backend/1"), 0U);
  EXPECT_TRUE(bench.host.log().contains("successfully unloaded 'm' version 1"));
}

TEST(Catalog, TheIndexHasWhatTheRepositoryRemarks) {
  CatalogBench bench;
  bench.put("m");
  bench.put("fresh");
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  bench.repository.set_remark("an hour old");
  EXPECT_THAT(bench.index(), ElementsAre("fresh an hour old", "m/1 READY an hour old"));
  bench.unload({"m"});
  bench.host.run_ready();
  EXPECT_THAT(bench.index(), ElementsAre("fresh an hour old", "m/1 UNAVAILABLE unloaded"))
      << "its own reason counts";
}

TEST(Catalog, GivesOutputsTheirConfiguredShape) {
  CatalogBench bench;
  bench.put("m", R"(backend: "fake" max_batch_size: 8
    input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: 4 } }
    output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1, 2 ] reshape { shape: -1 } })");
  // The backend sees and answers [B, 4]; the configured run of dims is deduced from its own shape.
  bench.backend.behavior.respond = [](Request& request) {
    EXPECT_THAT(request.inputs[0].shape, ElementsAre(1, 4));
    Response* response = request.sink->new_response();
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kFp32, std::array<int64_t, 2>{1, 2});
    EXPECT_TRUE(response->allocate(output, 16).ok());
    request.sink->discard(response);
    response = request.sink->new_response();
    OutputTensor& again = response->add_output("OUTPUT0", DataType::kFp32, std::array<int64_t, 2>{1, 2});
    EXPECT_TRUE(response->allocate(again, 16).ok());
    response->send();
  };
  ASSERT_TRUE(bench.load_one("m").ok());
  auto model = bench.catalog().acquire("m", 1);
  TestRequest request;
  request.add_input<float>("INPUT0", DataType::kFp32, {1, 2, 2}, {1, 2, 3, 4});
  ASSERT_TRUE(request.infer(*model->get()).ok());
  EXPECT_THAT(request.response().outputs.at(0).shape, ElementsAre(1, 2, 2));
  EXPECT_THAT(request.problems(), ElementsAre());
  EXPECT_EQ(request->sink, &request);
}

TEST(Catalog, ARefusedRequestIsItsMakersAgain) {
  CatalogBench bench;
  bench.put("m", R"(backend: "fake"
    input { name: "INPUT0" data_type: TYPE_FP32 dims: 4 }
    output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 reshape { shape: [ 2, 2 ] } })");
  ASSERT_TRUE(bench.load_one("m").ok());
  auto model = bench.catalog().acquire("m", 1);
  bench.host.events().publish(ServerStateChanged{ServerStateChanged::State::kDraining, 1});
  bench.host.run_ready();
  TestRequest request;
  request.add_input<float>("INPUT0", DataType::kFp32, {4}, {1, 2, 3, 4});
  EXPECT_EQ(request.infer(*model->get()).text(),
            "Server is stopping, scheduler for model has stopped accepting new inference requests");
  EXPECT_EQ(request->sink, &request);
  EXPECT_THAT(request.problems(), ElementsAre());
}

TEST(Catalog, IndexShowsDuplicatesAndWhatTheRepositoryNoLongerHas) {
  struct Twins final : Repository {
    Result<std::vector<RepositoryEntry>> list() noexcept override {
      return std::vector<RepositoryEntry>{
          {"fresh", "/a", "/a/fresh"}, {"twin", "/a", "/a/twin"}, {"twin", "/b", "/b/twin"}};
    }
    Result<RepositoryModel> open(std::string_view name) noexcept override {
      if (name == "twin")
        return Status(Code::kFailedPrecondition, "model appears in two or more repositories");
      return RepositoryModel{
          {std::string(name), "/a", "/a/m"}, {{1, "/a/m/1"}}, {}, "c", std::string(kSimpleConfig)};
    }
  } twins;
  CatalogBench bench;
  bench.plugin->stop();
  bench.plugin.reset();
  bench.host.registry().publish<Repository>("repository", twins);
  bench.plugin = std::make_unique<CatalogPlugin>(bench.host);
  ASSERT_TRUE(bench.plugin->start().ok());
  EXPECT_FALSE(bench.load({"twin", "override"})[0].status.ok());
  const std::string kTwin = "twin UNAVAILABLE model appears in two or more repositories";
  EXPECT_THAT(bench.index(), ElementsAre("fresh", "override/1 READY", kTwin));
  EXPECT_THAT(bench.index(true), ElementsAre("override/1 READY", kTwin));
  bench.end();
}

TEST(Catalog, IndexSaysWhenTheRepositoryCanNotBeRead) {
  CatalogBench bench;
  bench.repository.fail(Code::kUnavailable, "/srv: gone");
  EXPECT_THAT(bench.index(), ElementsAre("/srv: gone"));
}

TEST(Catalog, IndexHasWhatServesWhileTheRepositoryCanNotBeRead) {
  CatalogBench bench;
  bench.put("m");
  bench.put("n");
  ASSERT_TRUE(bench.load_one("m").ok());
  bench.repository.fail(Code::kUnavailable, "/srv: gone");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_EQ(bench.host.log().count(LogLevel::kWarning, "/srv: gone"), 1U);
}

TEST(Catalog, ARepositoryThatGoesAndComesBackIsToldOnce) {
  CatalogBench bench;
  bench.put("m");
  ASSERT_TRUE(bench.load_one("m").ok());
  const std::string again = "can be listed again";
  for (size_t i = 1; i <= 2; ++i) {
    bench.repository.fail(Code::kUnavailable, "/srv: gone");
    for (int asked = 0; asked < 10; ++asked) EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
    EXPECT_EQ(bench.host.log().count(LogLevel::kWarning, "/srv: gone"), i);
    EXPECT_EQ(bench.host.log().count(LogLevel::kInfo, again), i - 1);
    bench.repository.fail(Code::kOk);
    for (int asked = 0; asked < 10; ++asked) EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
    EXPECT_EQ(bench.host.log().count(LogLevel::kInfo, again), i);
  }
  bench.repository.fail(Code::kUnavailable, "/srv: gone");
  (void)bench.index();
  bench.repository.fail(Code::kUnavailable, "/srv: not a directory");
  (void)bench.index();
  EXPECT_EQ(bench.host.log().count(LogLevel::kWarning, "/srv: not a directory"), 1U) << "another reason";
}

TEST(Catalog, StatisticsAreOrderedAndOfReadyVersions) {
  CatalogBench bench;
  bench.put("b");
  bench.put("a", kSimpleConfig, {3, 12});
  ASSERT_EQ(bench.load({"b", "a"}).size(), 2U);
  auto names = [&](std::string_view name, int64_t version) {
    std::vector<std::string> lines;
    auto all = bench.catalog().statistics(name, version);
    if (!all.ok()) return std::vector<std::string>{all.status().text()};
    for (const ModelStatistics& one : all.value()) lines.push_back(cat(one.name, "/", one.version));
    return lines;
  };
  EXPECT_THAT(names("", ModelCatalog::kLatest), ElementsAre("a/3", "a/12", "b/1"));
  EXPECT_THAT(names("a", ModelCatalog::kLatest), ElementsAre("a/3", "a/12"));
  EXPECT_THAT(names("a", 12), ElementsAre("a/12"));
  EXPECT_THAT(names("a", 4), ElementsAre("requested model version is not available for model 'a'"));
  bench.unload({"b"});
  EXPECT_THAT(names("b", ModelCatalog::kLatest), ElementsAre("requested model 'b' is not available"));
  EXPECT_THAT(names("", ModelCatalog::kLatest), ElementsAre("a/3", "a/12"));
}

TEST(Catalog, ReadyWhenEveryVersionIs) {
  CatalogBench bench;
  ModelCatalog& catalog = bench.catalog();
  EXPECT_TRUE(catalog.live());
  EXPECT_FALSE(catalog.ready());
  const Startup& startup = bench.plugin->startup();
  EXPECT_FALSE(startup.complete());
  catalog.set_startup_complete();
  EXPECT_TRUE(startup.complete());
  EXPECT_TRUE(catalog.ready());
  bench.put("m");
  catalog.load({"m"}, [&](const std::vector<ModelLoadResult>&) { EXPECT_TRUE(catalog.ready()); });
  bench.host.run_ready();
  EXPECT_TRUE(catalog.ready());
  bench.backend.behavior.ready = false;
  EXPECT_FALSE(catalog.ready());
  EXPECT_FALSE(catalog.acquire("m", 1)->get()->ready());
  bench.backend.behavior.ready = true;
  bench.put("bad");
  bench.backend.behavior.fail_loads = 1;
  EXPECT_FALSE(bench.load_one("bad").ok());
  EXPECT_FALSE(catalog.ready());
  bench.unload({"bad"});
  EXPECT_TRUE(catalog.ready());
  bench.unload({"m"});
  EXPECT_TRUE(catalog.ready());
}

TEST(Catalog, IsNotReadyBeforeEveryPluginHasStarted) {
  CatalogBench bench;
  CatalogPlugin starting(bench.host);
  ASSERT_TRUE(starting.start().ok());
  starting.catalog().set_startup_complete();
  EXPECT_TRUE(starting.catalog().live());
  EXPECT_FALSE(starting.catalog().ready());
  bench.host.events().publish(ServerStateChanged{ServerStateChanged::State::kStarting, 1});
  bench.host.run_ready();
  EXPECT_FALSE(starting.catalog().ready());
  bench.host.events().publish(ServerStateChanged{ServerStateChanged::State::kActive, 1});
  bench.host.run_ready();
  EXPECT_TRUE(starting.catalog().ready());
  starting.drain(0);
  bench.host.run_ready();
  starting.stop();
}

TEST(Catalog, TheIndexSaysWhyAnInstanceIsNotReady) {
  CatalogBench bench;
  bench.put("m");
  EXPECT_TRUE(bench.load_one("m").ok());
  bench.backend.behavior.unready_reason = "GPU 0 is lost";
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY")) << "it is ready";
  bench.backend.behavior.ready = false;
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY an instance is not ready"))
      << "its backend is of a minor version that gives no reasons";
  bench.unload({"m"});
  bench.host.registry().publish<Backend>("fake", bench.backend, 0, Backend::kUnreadyReasonMinor);
  EXPECT_TRUE(bench.load_one("m").ok());
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY an instance is not ready: GPU 0 is lost"));
  bench.catalog().set_startup_complete();
  EXPECT_FALSE(bench.catalog().ready());
  EXPECT_EQ(bench.host.log().count(LogLevel::kError,
                                   "the server is not ready because of model 'm': an instance is not ready: "
                                   "GPU 0 is lost; correct or unload it"),
            1U);
  bench.backend.behavior.ready = true;
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_TRUE(bench.catalog().ready());
}

/// One model that can be loaded and one that cannot, loaded at start in strict readiness.
std::vector<ModelLoadResult> start_with_good_and(CatalogBench& bench, const std::string& other) {
  bench.put("good");
  std::vector<ModelLoadResult> results = bench.load({"good", other});
  bench.catalog().set_startup_complete();
  return results;
}

TEST(Catalog, NotReadyWhateverAStartupModelFailedAt) {
  const std::vector<std::pair<const char*, std::function<void(CatalogBench&)>>> ways = {
      {"configuration", [](CatalogBench& bench) { bench.put("bad", "no text format"); }},
      {"versions", [](CatalogBench& bench) { bench.put("bad", kSimpleConfig, {}); }},
      {"directory", [](CatalogBench&) {}},
      {"backend", [](CatalogBench& bench) { bench.put("bad", R"(backend: "nobody")"); }},
      {"load",
       [](CatalogBench& bench) {
         bench.put("bad");
         bench.backend.complete = [](const ModelSource& source) -> Result<std::string> {
           if (source.name == "bad") return internal_error("weights");
           return source.config;
         };
       }},
      {"members",
       [](CatalogBench& bench) {
         bench.put("bad", R"(ensemble_scheduling { step { model_name: "x" model_version: -1 } })");
       }},
  };
  for (const auto& [what, make_bad] : ways) {
    SCOPED_TRACE(what);
    CatalogBench bench;
    make_bad(bench);
    EXPECT_FALSE(start_with_good_and(bench, "bad")[1].status.ok());
    EXPECT_FALSE(bench.catalog().ready());
    EXPECT_TRUE(bench.catalog().live());
    EXPECT_THAT(bench.index(), testing::Contains(testing::StartsWith("bad")));
    EXPECT_EQ(bench.host.log().count(LogLevel::kError, "the server is not ready because of model 'bad': "),
              1U);
    bench.unload({"bad"});
    EXPECT_TRUE(bench.catalog().ready());
    EXPECT_THAT(bench.index(true), ElementsAre("good/1 READY"));
  }
}

TEST(Catalog, ACorrectedStartupModelMakesTheServerReady) {
  CatalogBench bench;
  EXPECT_FALSE(start_with_good_and(bench, "late")[1].status.ok());
  EXPECT_FALSE(bench.catalog().ready());
  bench.put("late");
  EXPECT_EQ(bench.load_one("late").text(), "OK");
  EXPECT_TRUE(bench.catalog().ready());
  bench.put("late", "no text format");
  EXPECT_FALSE(bench.load_one("late").ok());
  EXPECT_TRUE(bench.catalog().ready()) << "what was loaded before keeps serving";
}

TEST(Catalog, ANameThatOnlyClientsKnowDoesNotCount) {
  CatalogBench bench;
  bench.catalog().set_startup_complete();
  EXPECT_FALSE(bench.load_one("nosuch").ok());
  EXPECT_TRUE(bench.catalog().ready());
  EXPECT_THAT(bench.index(), ElementsAre());
}

TEST(Catalog, SaysInOneLineWhatKeepsItFromBeingReady) {
  CatalogBench bench;
  for (const char* model : {"b", "c", "d"}) bench.put(model, "no text format");
  bench.put("a");
  bench.load({"a", "b", "c", "d"});
  bench.catalog().set_startup_complete();
  EXPECT_EQ(bench.host.log().count(LogLevel::kError,
                                   "the server is not ready because of model 'b' (and 2 more): Invalid "
                                   "argument: "),
            1U);
  EXPECT_EQ(bench.host.log().count(LogLevel::kError,
                                   "correct or unload them, or set plugin.catalog.strict_readiness = false"),
            1U);
}

TEST(Catalog, AReasonThatIsAListIsFollowedByOneSemicolon) {
  CatalogBench bench;
  bench.put("x", R"(backend: "nobody")");
  bench.put("ensemble", R"(ensemble_scheduling { step { model_name: "x" model_version: -1 } })");
  bench.load({"ensemble"});
  bench.catalog().set_startup_complete();
  std::string said;
  for (const auto& record : bench.host.log().records()) {
    if (record.message.starts_with("the server is not ready")) said = record.message;
  }
  EXPECT_THAT(said, testing::HasSubstr("is at UNAVAILABLE state"));
  EXPECT_THAT(said, testing::HasSubstr("; correct or unload them"));
  EXPECT_THAT(said, testing::Not(testing::HasSubstr(";;")));
}

TEST(Catalog, WhatIsOnItsWayTakesNothingFromReadiness) {
  CatalogBench bench;
  ModelCatalog& catalog = bench.catalog();
  catalog.set_startup_complete();
  bench.put("m");
  std::string seen;
  bench.backend.complete = [&](const ModelSource& source) -> Result<std::string> {
    seen = cat(bench.index()[0], catalog.ready() ? ", ready" : ", not ready");
    return source.config;
  };
  EXPECT_TRUE(bench.load_one("m").ok());
  EXPECT_EQ(seen, "m/1 LOADING, ready");
  {
    auto held = catalog.acquire("m", 1);
    catalog.unload({"m"}, [](const auto&) {});
    EXPECT_THAT(bench.index(), ElementsAre("m/1 UNLOADING"));
    EXPECT_TRUE(catalog.ready());
  }
  bench.host.run_ready();
  EXPECT_TRUE(catalog.ready());
  bench.backend.behavior.fail_loads = 1;
  EXPECT_FALSE(bench.load_one("m").ok());
  EXPECT_FALSE(catalog.ready());
  EXPECT_TRUE(bench.load_one("m").ok());
  EXPECT_EQ(seen, "m/1 LOADING, not ready") << "a failure stays one while it is tried again";
  EXPECT_TRUE(catalog.ready());
}

TEST(Catalog, LenientReadinessLooksAtTheServerOnly) {
  CatalogBench bench(CatalogBench::Threads::kSimulated,
                     [](test::FakeOptions& options) { options.set_bool("strict_readiness", false); });
  bench.put("m");
  bench.backend.behavior.fail_loads = 1;
  EXPECT_FALSE(bench.load_one("m").ok());
  EXPECT_FALSE(bench.catalog().ready());
  bench.catalog().set_startup_complete();
  EXPECT_TRUE(bench.catalog().ready());
}

TEST(Catalog, AServerThatEndsBeforeItsStartIsCompleteNeverSaysThatItIs) {
  CatalogBench bench;
  bench.host.events().publish(ServerStateChanged{ServerStateChanged::State::kDraining, 1});
  bench.host.run_ready();
  ASSERT_TRUE(bench.catalog().exiting());
  bench.catalog().set_startup_complete();
  EXPECT_FALSE(bench.plugin->startup().complete());
}

TEST(Catalog, ExitsWhenTheServerDrains) {
  CatalogBench bench;
  bench.put("member");
  bench.put("alone");
  FakeEnsembleProvider ensembles;
  bench.host.registry().publish<SchedulerProvider>("ensemble", ensembles);
  bench.put("top", R"(ensemble_scheduling { step { model_name: "member" model_version: -1 } })");
  ASSERT_EQ(bench.load({"member", "alone", "top"})[2].status.text(), "OK");
  bench.catalog().set_startup_complete();
  EXPECT_FALSE(bench.catalog().exiting());
  bench.host.events().publish(ServerStateChanged{ServerStateChanged::State::kDraining, 1});
  bench.host.run_ready();
  EXPECT_TRUE(bench.catalog().exiting());
  EXPECT_TRUE(bench.catalog().live());
  EXPECT_FALSE(bench.catalog().ready());
  auto alone = bench.catalog().acquire("alone", 1);
  auto member = bench.catalog().acquire("member", 1);
  TestRequest refused, accepted;
  fill_simple(refused);
  fill_simple(accepted);
  EXPECT_EQ(refused.infer(*alone->get()).code(), Code::kUnavailable);
  EXPECT_EQ(accepted.infer(*member->get()).text(), "OK");  // a running ensemble may need it
  alone->reset();
  member->reset();
  bench.end();
}

TEST(Catalog, NeitherLiveNorReadyWithoutARepositoryThatHealthNeeds) {
  CatalogBench bench;
  bench.catalog().set_startup_complete();
  EXPECT_TRUE(bench.catalog().live() && bench.catalog().ready());
  bench.repository.set_complete(false);
  EXPECT_FALSE(bench.catalog().live());
  EXPECT_FALSE(bench.catalog().ready());
  bench.repository.set_complete(true);
  EXPECT_TRUE(bench.catalog().live() && bench.catalog().ready());
}

TEST(Catalog, NotReadyBeforeItStarted) {
  test::FakeHost host;
  Catalog catalog(host, {});
  EXPECT_FALSE(catalog.live());
  EXPECT_EQ(catalog.acquire("m", 1).status().text(), "Server not ready");
  EXPECT_EQ(catalog.index(false).status().text(), "Server not ready");
}

TEST(Catalog, CountsWhatItServes) {
  CatalogBench bench;
  bench.put("m");
  ASSERT_TRUE(bench.load_one("m").ok());
  bench.backend.behavior.busy_ns = 1000;
  auto model = bench.catalog().acquire("m", 1);
  for (int i = 0; i < 3; ++i) {
    TestRequest request;
    fill_simple(request);
    ASSERT_TRUE(request.infer(*model->get()).ok());
  }
  TestRequest refused;
  EXPECT_FALSE(refused.infer(*model->get()).ok());
  ModelStatistics statistics = (*model)->statistics();
  EXPECT_EQ(statistics.inference_count, 3U);
  EXPECT_EQ(statistics.execution_count, 3U);
  EXPECT_EQ(statistics.success.count, 3U);
  EXPECT_EQ(statistics.success.ns, 3000U);
  EXPECT_EQ(statistics.compute_infer.ns, 3000U);
  EXPECT_EQ(statistics.queue.ns, 0U);
  EXPECT_EQ(statistics.pending, 0U);
  std::vector<std::string> visited;
  bench.catalog().visit_statistics([&](const ModelStatistics& one) {
    visited.push_back(cat(one.name, "/", one.version, " ", one.inference_count));
  });
  EXPECT_THAT(visited, ElementsAre("m/1 3"));
  EXPECT_EQ(statistics.fail.count, 0U);  // what was never scheduled is counted nowhere
}

}  // namespace
}  // namespace atl::models
