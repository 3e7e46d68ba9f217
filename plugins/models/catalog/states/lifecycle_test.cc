#include "models/catalog/states/lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/recording_sink.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ServiceChanged::Kind;

constexpr std::string_view kBackendFailure =
    "version 1 is at UNAVAILABLE state: Internal: the fake backend was told to fail the load of 'm';";

/// Nothing of any load is left.
void expect_nothing_left(CatalogBench& bench) {
  bench.host.run_ready();
  EXPECT_EQ(bench.backend.live_models(), 0);
  EXPECT_EQ(bench.backend.live_instances(), 0);
  EXPECT_EQ(bench.scheduler.live(), 0);
  EXPECT_EQ(bench.host.registry().holders(Backend::kInterfaceId), 0U);
  EXPECT_EQ(bench.host.registry().holders(SchedulerProvider::kInterfaceId), 0U);
  EXPECT_EQ(bench.host.registry().wrong_releases(), 0U);
  EXPECT_EQ(bench.host.gate().count(), 0);
}

Status infer(CatalogBench& bench, std::string_view model, int64_t version = ModelCatalog::kLatest) {
  auto held = bench.catalog().acquire(model, version);
  if (!held.ok()) return std::move(held).status();
  TestRequest request;
  fill_simple(request);
  Status status = request.infer(*held->get());
  EXPECT_TRUE(!status.ok() || request.done());
  EXPECT_THAT(request.problems(), ElementsAre());
  return status;
}

TEST(ModelLifecycle, FailedLoadsSayWhyAndLeaveNothing) {
  struct Case {
    std::function<void(CatalogBench&)> arrange;
    std::string result, index;
  };
  const std::vector<Case> cases = {
      {[](CatalogBench& b) { b.backend.behavior.fail_loads = 1; }, std::string(kBackendFailure),
       "m/1 UNAVAILABLE Internal: the fake backend was told to fail the load of 'm'"},
      {[](CatalogBench& b) {
         b.backend.behavior.fail_instances = 1;
         b.backend.behavior.failure = Code::kNotFound;
       },
       "version 1 is at UNAVAILABLE state: Not found: the fake backend was told to fail instance 'm_0';",
       "m/1 UNAVAILABLE Not found: the fake backend was told to fail instance 'm_0'"},
      {[](CatalogBench& b) { b.scheduler.fail_creates = 1; },
       "version 1 is at UNAVAILABLE state: Internal: the fake scheduler provider was told to fail;",
       "m/1 UNAVAILABLE Internal: the fake scheduler provider was told to fail"},
      {[](CatalogBench& b) {
         b.backend.complete = [](const ModelSource&) -> Result<std::string> {
           return invalid_argument("autofill failed");
         };
       },
       "version 1 is at UNAVAILABLE state: Invalid argument: autofill failed;",
       "m/1 UNAVAILABLE Invalid argument: autofill failed"},
      {[](CatalogBench& b) { b.put("m", R"(backend: "none")"); },
       "version 1 is at UNAVAILABLE state: Invalid argument: unable to find backend library for backend "
       "'none', try specifying runtime on the model configuration. Enabled backends: 'fake'. A table of the manifest "
       "adds one: [plugin.none] with use = \"backends/none\";",
       "m/1 UNAVAILABLE Invalid argument: unable to find backend library for backend 'none', try specifying "
       "runtime on the model configuration. Enabled backends: 'fake'. A table of the manifest "
       "adds one: [plugin.none] with use = \"backends/none\""},
      {[](CatalogBench& b) { b.put("m", R"(backend: "fake" sequence_batching { direct {} })"); },
       "version 1 is at UNAVAILABLE state: Unsupported: model 'm' needs a scheduler of kind "
       "'sequence_direct', no "
       "enabled plugin provides one; provided: 'default' (kind 'default');",
       "m/1 UNAVAILABLE Unsupported: model 'm' needs a scheduler of kind 'sequence_direct', no enabled "
       "plugin provides one; provided: 'default' (kind 'default')"},
      {[](CatalogBench& b) { b.put("m", "no config"); },
       "/fake/m/config.pbtxt:1:1: field 'config': cannot be parsed",
       "m UNAVAILABLE Invalid argument: /fake/m/config.pbtxt:1:1: field 'config': cannot be parsed"},
      {[](CatalogBench& b) { b.put("m", kSimpleConfig, {}); },
       "at least one version must be available under the version policy of model 'm'",
       "m UNAVAILABLE Invalid argument: at least one version must be available under the version policy of "
       "model 'm'"},
      {[](CatalogBench& b) {
         b.put("m", R"(backend: "fake" instance_group { name: "g" count: 5000 kind: KIND_CPU })");
       },
       "version 1 is at UNAVAILABLE state: Invalid argument: instance group 'g' of model 'm' asks for 5000 "
       "instances on each of 1 devices, at most 4096 instances of a model are supported;",
       "m/1 UNAVAILABLE Invalid argument: instance group 'g' of model 'm' asks for 5000 instances on each of "
       "1 devices, at most 4096 instances of a model are supported"},
  };
  for (const Case& one : cases) {
    CatalogBench bench;
    bench.put("m");
    one.arrange(bench);
    EXPECT_EQ(bench.load_one("m").message(), one.result);
    EXPECT_THAT(bench.index(), ElementsAre(one.index));
    EXPECT_TRUE(bench.host.log().contains("failed to load 'm'"));
    expect_nothing_left(bench);
    // And a load that goes well makes up for it.
    bench.backend.complete = nullptr;
    bench.put("m");
    EXPECT_EQ(bench.load_one("m").text(), "OK");
    EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  }
}

TEST(ModelLifecycle, UnknownModelsLeaveNoTrace) {
  CatalogBench bench;
  bench.catalog().set_startup_complete();
  EXPECT_EQ(bench.load_one("ghost").code(), Code::kNotFound);
  EXPECT_THAT(bench.index(), ElementsAre());
  expect_nothing_left(bench);
}

TEST(ModelLifecycle, RetriesAsOftenAsTold) {
  CatalogBench bench(CatalogBench::Threads::kSimulated,
                     [](test::FakeOptions& options) { options.set_int("load_retry_count", 2); });
  bench.put("m");
  bench.backend.behavior.fail_loads = 2;
  EXPECT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_EQ(bench.backend.loads().size(), 3U);
  EXPECT_TRUE(bench.host.log().contains("attempt 2 of 3 to load 'm' version 1 failed"));
  bench.backend.behavior.fail_loads = 3;
  EXPECT_EQ(bench.load_one("m").message(), kBackendFailure);
}

TEST(ModelLifecycle, GivesBackendsTheirSettingsAndInstances) {
  CatalogBench bench(CatalogBench::Threads::kSimulated, [](test::FakeOptions& options) {
    options.set_int("default_max_batch_size", 16)
        .set_map("backend_settings",
                 {{"fake.threads", "2"}, {"other.threads", "9"}, {"verbose", "yes"}, {"fake.verbose", "no"}});
  });
  bench.put("m", R"(backend: "fake"
    instance_group { name: "cpu" count: 2 kind: KIND_CPU }
    instance_group { name: "gpu" count: 2 kind: KIND_GPU gpus: [ 0, 3 ] profile: "p" host_policy: "near" }
    instance_group { name: "spare" count: 1 kind: KIND_MODEL passive: true })");
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  ModelSource source = bench.backend.loads()[0];
  EXPECT_EQ(source.version_directory, "/fake/m/1");
  EXPECT_EQ(source.model_directory, "/fake/m");
  EXPECT_EQ(
      source.settings,
      (std::map<std::string, std::string>{
          {"default-max-batch-size", "16"}, {"threads", "2"}, {"verbose", "no"}, {".other.threads", "9"}}));
  std::vector<std::string> specs;
  for (const InstanceSpec& spec : bench.backend.specs()) {
    specs.push_back(cat(spec.name, " ", instance_kind_name(spec.kind), " ", spec.device_id, " ",
                        spec.host_policy, spec.passive ? " passive" : ""));
  }
  EXPECT_THAT(specs, ElementsAre("cpu_0 CPU 0 cpu", "cpu_1 CPU 0 cpu", "gpu_0 GPU 0 near", "gpu_1 GPU 0 near",
                                 "gpu_2 GPU 3 near", "gpu_3 GPU 3 near", "spare_0 MODEL 0 model passive"));
}

TEST(ModelLifecycle, DescribesTheModelToItsBackend) {
  CatalogBench bench;
  uint32_t before_completion = 0;
  bench.backend.complete = [&](const ModelSource& source) -> Result<std::string> {
    before_completion = source.model.max_batch_size;
    inference::ModelConfig config;
    EXPECT_TRUE(config.ParseFromString(source.config));
    config.set_max_batch_size(4);
    return config.SerializeAsString();
  };
  bench.put("m", kSimpleConfig);
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_EQ(before_completion, 8u);
  const ModelDescription model = bench.backend.loads()[0].model;
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.max_batch_size, 4u) << "what load() is told is final";
  ASSERT_NE(model.find_input("INPUT0"), nullptr);
  EXPECT_THAT(model.find_input("INPUT0")->dims, ElementsAre(4));
  ASSERT_NE(model.find_output("OUTPUT0"), nullptr);
}

TEST(ModelLifecycle, AsksBackendsToCompleteOnlyIfItMay) {
  CatalogBench lenient;
  lenient.put("m");
  ASSERT_TRUE(lenient.load_one("m").ok());
  EXPECT_EQ(lenient.backend.completions, 1U);
  EXPECT_EQ(lenient.configs.strict_reads, 0U);
  CatalogBench strict(CatalogBench::Threads::kSimulated,
                      [](test::FakeOptions& options) { options.set_bool("auto_complete_config", false); });
  strict.put("m");
  ASSERT_TRUE(strict.load_one("m").ok());
  EXPECT_EQ(strict.backend.completions, 0U);
  EXPECT_EQ(strict.configs.strict_reads, 1U);
}

TEST(ModelLifecycle, SaysWhichModelsAreOrderedByTheDevice) {
  CatalogBench bench;
  bench.put("gpu", R"(backend: "fake" instance_group { name: "g" count: 1 kind: KIND_GPU gpus: 0 })");
  bench.put("both", R"(backend: "fake" instance_group { name: "g" count: 1 kind: KIND_GPU gpus: 0 }
                       instance_group { name: "c" count: 1 kind: KIND_CPU })");
  for (const bool device_ordered : {false, true}) {
    bench.backend.backend_traits.device_ordered = device_ordered;
    for (const char* name : {"gpu", "both"}) {
      ASSERT_EQ(bench.load_one(name).text(), "OK");
      const bool is_ordered =
          bench.catalog().acquire(name, ModelCatalog::kLatest)->get()->info().device_ordered;
      EXPECT_EQ(is_ordered, device_ordered && name == std::string_view("gpu"));
    }
    bench.unload({"gpu", "both"});
  }
  expect_nothing_left(bench);
}

TEST(ModelLifecycle, CreatesInstancesInParallelIfTheBackendAllows) {
  CatalogBench bench;
  bench.backend.backend_traits.parallel_instances = true;
  bench.put("m", R"(backend: "fake" instance_group { name: "g" count: 20 kind: KIND_CPU })");
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_EQ(bench.backend.live_instances(), 20);
  bench.backend.behavior.fail_instances = 1;
  EXPECT_THAT(bench.load_one("m").message(), HasSubstr("the fake backend was told to fail instance 'g_"));
  EXPECT_EQ(bench.backend.live_instances(), 20);
  bench.unload({"m"});
  expect_nothing_left(bench);
}

TEST(ModelLifecycle, ReloadsSwapOnlyOnSuccess) {
  CatalogBench bench;
  bench.put("m", kSimpleConfig, {1, 2});
  ASSERT_TRUE(bench.load_one("m").ok());
  EXPECT_EQ(bench.catalog().ready_versions("m").value(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(bench.catalog().acquire("m", ModelCatalog::kLatest)->get()->info().version, 2);

  bench.put("m", kSimpleConfig, {2, 3});
  bench.backend.behavior.fail_loads = 1;
  EXPECT_EQ(
      bench.load_one("m").message(),
      "version 2 is at UNAVAILABLE state: Internal: the fake backend was told to fail the load of 'm';");
  EXPECT_THAT(
      bench.index(),
      ElementsAre(
          "m/1 READY",
          "m/2 READY serves what was loaded before the last load failed: Internal: the fake backend was told to "
          "fail the load of 'm'",
          "m/3 UNAVAILABLE Unavailable: not loaded, because version 2 of the same load failed"));
  EXPECT_EQ(infer(bench, "m", 1).text(), "OK");
  EXPECT_EQ(infer(bench, "m", 2).text(), "OK");
  EXPECT_TRUE(bench.host.log().contains("what was loaded before keeps serving"));
  EXPECT_EQ(bench.backend.live_models(), 2);

  EXPECT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 UNAVAILABLE unloaded", "m/2 READY", "m/3 READY"));
  EXPECT_EQ(bench.backend.live_models(), 2);
}

TEST(ModelLifecycle, RequestsKeepTheVersionTheyGot) {
  CatalogBench bench;
  bench.put("m");
  ASSERT_TRUE(bench.load_one("m").ok());
  bench.scheduler.hold = true;
  TestRequest request;
  fill_simple(request);
  {
    auto held = bench.catalog().acquire("m", 1);
    ASSERT_TRUE(request.infer(*held->get()).ok());
    EXPECT_EQ(bench.catalog().statistics("m", 1)->at(0).pending, 1U);
    EXPECT_TRUE(bench.load_one("m").ok());  // the reload does not wait for it
    EXPECT_EQ(bench.backend.live_models(), 2);
    EXPECT_EQ(bench.plugin->holding(), "1 request of model 'm'");
    EXPECT_TRUE(bench.scheduler.run_held());
    EXPECT_TRUE(request.done());
    bench.host.run_ready();
    EXPECT_EQ(bench.backend.live_models(), 2);
  }
  bench.host.run_ready();
  EXPECT_EQ(bench.backend.live_models(), 1);
  EXPECT_EQ(bench.plugin->holding(), "");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
}

TEST(ModelLifecycle, LoadsOfOneModelFollowEachOther) {
  CatalogBench bench;
  bench.put("m");
  std::vector<std::string> ended;
  for (int i = 0; i < 4; ++i) {
    bench.catalog().load({"m"}, [&, i](std::vector<ModelLoadResult> results) {
      ended.push_back(cat(i, " ", results[0].model, " ", results[0].status.text()));
    });
  }
  bench.host.run_ready();
  EXPECT_THAT(ended, ::testing::UnorderedElementsAre("0 m OK", "1 m OK", "2 m OK", "3 m OK"));
  EXPECT_EQ(bench.backend.loads().size(), 2U);  // those that waited share one
  EXPECT_EQ(bench.backend.live_models(), 1);
}

TEST(ModelLifecycle, UnloadMakesLoadsOutOfDate) {
  CatalogBench bench;
  bench.put("m");
  std::vector<std::string> ended;
  auto note = [&](std::vector<ModelLoadResult> results) { ended.push_back(results[0].status.text()); };
  bench.catalog().load({"m"}, note);
  bench.catalog().load({"m"}, note);
  bench.catalog().unload({"m"}, [&](const std::vector<ModelLoadResult>&) { ended.push_back("unloaded"); });
  bench.host.run_ready();
  const std::string kOutdated =
      "Newer operation has been applied to the model lifecycle, current load operation is out-dated.";
  EXPECT_THAT(ended, ::testing::UnorderedElementsAre(kOutdated, kOutdated, "unloaded"));
  expect_nothing_left(bench);
}

TEST(ModelLifecycle, UnloadingTheUnknownSucceeds) {
  CatalogBench bench;
  std::vector<std::string> ended;
  bench.catalog().unload({"ghost", "ghost"}, [&](std::vector<ModelLoadResult> results) {
    for (const ModelLoadResult& result : results) ended.push_back(result.status.text());
  });
  bench.catalog().load(
      {}, [&](const std::vector<ModelLoadResult>& results) { ended.push_back(cat(results.size())); });
  bench.host.run_ready();
  EXPECT_THAT(ended, ::testing::UnorderedElementsAre("OK", "OK", "0"));
}

TEST(ModelLifecycle, PublishesEveryState) {
  CatalogBench bench;
  bench.put("m");
  std::vector<std::string> states;
  auto note = [&](const ModelStateChanged& event) {
    states.push_back(cat(event.key(), " ", model_state_name(event.state), " ", event.reason.view()));
  };
  Subscription<ModelStateChanged, decltype(note)> subscription(note);
  ASSERT_TRUE(subscription.open(bench.host.events(), {.depth = 64, .overflow = Overflow::kDropOldest}).ok());
  ASSERT_TRUE(bench.load_one("m").ok());
  bench.unload({"m"});
  EXPECT_THAT(states,
              ElementsAre("m/1 LOADING ", "m/1 READY ", "m/1 UNLOADING ", "m/1 UNAVAILABLE unloaded"));
  subscription.reset();
  bench.end();
  EXPECT_TRUE(bench.host.events().retained<ModelStateChanged>().empty());
}

TEST(ModelLifecycle, FallsBackFromDynamicUntilThereIsOne) {
  CatalogBench bench;
  bench.put("m", std::string(kSimpleConfig) + " dynamic_batching {}");
  ASSERT_TRUE(bench.load_one("m").ok());
  EXPECT_EQ(bench.scheduler.live(), 1);
  EXPECT_EQ(bench.host.log().count(LogLevel::kWarning, "no enabled plugin provides a 'dynamic' scheduler"),
            1U);

  test::FakeSchedulerProvider dynamic("dynamic");
  bench.host.registry().publish<SchedulerProvider>("dynamic", dynamic);
  bench.publish_change(SchedulerProvider::kInterfaceId, "dynamic", Kind::kPublished);
  EXPECT_EQ(dynamic.live(), 1);
  EXPECT_EQ(bench.scheduler.live(), 0);
  bench.end();
}

TEST(ModelLifecycle, MovesToAReplacedBackend) {
  CatalogBench bench;
  bench.put("m");
  bench.put("other", R"(backend: "second")");
  test::FakeBackend second(bench.host.clock());
  bench.host.registry().publish<Backend>("second", second);
  ASSERT_TRUE(bench.load({"m", "other"})[1].status.ok());

  test::FakeBackend next(bench.host.clock());
  bench.host.registry().publish<Backend>("fake", next);
  bench.publish_change(Backend::kInterfaceId, "fake", Kind::kReplaced);
  EXPECT_EQ(bench.backend.live_models(), 0);
  EXPECT_EQ(next.live_models(), 1);
  EXPECT_EQ(second.loads().size(), 1U);
  EXPECT_EQ(infer(bench, "m").text(), "OK");
  bench.end();
}

TEST(ModelLifecycle, GoesAndComesWithItsBackend) {
  CatalogBench bench;
  bench.put("m");
  ASSERT_TRUE(bench.load_one("m").ok());
  bench.catalog().set_startup_complete();
  EXPECT_TRUE(bench.catalog().ready());
  bench.host.registry().withdraw(std::string(Backend::kInterfaceId), "fake");
  bench.publish_change(Backend::kInterfaceId, "fake", Kind::kWithdrawn);
  EXPECT_THAT(bench.index(), ElementsAre("m/1 UNAVAILABLE backend 'fake' was removed"));
  EXPECT_FALSE(bench.catalog().ready());
  expect_nothing_left(bench);

  bench.host.registry().publish<Backend>("fake", bench.backend);
  bench.publish_change(Backend::kInterfaceId, "other", Kind::kPublished);
  EXPECT_THAT(bench.index(true), ElementsAre());
  bench.publish_change(Backend::kInterfaceId, "fake", Kind::kPublished);
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_TRUE(bench.catalog().ready());
}

TEST(ModelLifecycle, WaitsForABackendThatIsNotThereYet) {
  CatalogBench bench;
  bench.put("m", R"(backend: "late")");
  EXPECT_FALSE(bench.load_one("m").ok());
  test::FakeBackend late(bench.host.clock());
  bench.host.registry().publish<Backend>("late", late);
  bench.publish_change(Backend::kInterfaceId, "late", Kind::kPublished);
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  bench.end();
}

TEST(ModelLifecycle, ABackendRemovedDuringALoadIsNotServed) {
  CatalogBench bench;
  bench.put("m");
  bool removed = false;
  bench.backend.complete = [&](const ModelSource& source) -> Result<std::string> {
    if (!std::exchange(removed, true)) {
      ServiceChanged event;
      event.key_text = std::string_view("atoll.backend/1 fake");
      event.interface_id = std::string_view("atoll.backend/1");
      event.instance = std::string_view("fake");
      event.kind = Kind::kWithdrawn;
      bench.plugin->core().lifecycle().service_changed(event);
    }
    return source.config;
  };
  EXPECT_EQ(bench.load_one("m").message(), "backend 'fake' was removed");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 UNAVAILABLE Unavailable: backend 'fake' was removed"));
  expect_nothing_left(bench);
}

TEST(ModelLifecycle, DrainsToNothing) {
  CatalogBench bench;
  bench.put("a");
  bench.put("b");
  ASSERT_EQ(bench.load({"a", "b"}).size(), 2U);
  auto held = bench.catalog().acquire("a", 1);
  auto second = bench.catalog().acquire("a", 1);
  bench.host.gate().close();
  bench.plugin->drain(0);
  bench.host.run_ready();
  EXPECT_EQ(bench.plugin->holding(), "2 requests of model 'a'");
  EXPECT_EQ(bench.host.gate().count(), 1);
  EXPECT_EQ(bench.catalog().acquire("b", 1).status().text(), "Server exiting");
  EXPECT_EQ(bench.load_one("b").text(), "Server exiting");
  TestRequest late;
  fill_simple(late);
  EXPECT_EQ(late.infer(*held->get()).text(), "OK");  // whoever holds a version is served to the end
  EXPECT_TRUE(late.done());
  held->reset();
  second->reset();
  EXPECT_EQ(bench.plugin->holding(), "");
  expect_nothing_left(bench);
  bench.end();
  EXPECT_EQ(bench.host.registry().holders(), 0U);
  EXPECT_EQ(bench.host.events().subscriptions(), 0U);
}

TEST(Plugin, RefusesBadSettings) {
  for (const char* key : {"", ".x", "fake."}) {
    CatalogBench bench(CatalogBench::Threads::kSimulated, [&](test::FakeOptions& options) {
      options.set_map("backend_settings", {{key, "1"}});
    });
    EXPECT_EQ(bench.start_status.text(), cat("option 'backend_settings': found the key '", key,
                                             "', expected '<backend>.<setting>' or '<setting>'"));
  }
}

}  // namespace
}  // namespace atl::models
