// Models and the schedulers that come, go and outrank each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using Kind = ServiceChanged::Kind;
using test::FakeSchedulerProvider;
using test::TestRequest;
using ::testing::ElementsAre;

/// The simple model, with its scheduler named.
std::string naming(const std::string& scheduler, std::string_view more = {}) {
  inference::ModelConfig config;
  google::protobuf::TextFormat::ParseFromString(std::string(kSimpleConfig).append(more), &config);
  (*config.mutable_parameters())["scheduler"].set_string_value(scheduler);
  return std::string(kSerialized) + config.SerializeAsString();
}

class SchedulerBench : public CatalogBench {
 public:
  /// A model whose files are known not to have changed since.
  void put(const std::string& model, std::string_view config = kSimpleConfig) {
    CatalogBench::put(model, config);
    repository.touch(model, "1");
  }
  void publish(const std::string& instance, FakeSchedulerProvider& provider, int32_t rank = 0,
               Kind kind = Kind::kPublished) {
    host.registry().publish<SchedulerProvider>(instance, provider, rank);
    publish_change(SchedulerProvider::kInterfaceId, instance, kind);
  }
  void withdraw(const std::string& instance) {
    host.registry().withdraw(std::string(SchedulerProvider::kInterfaceId), instance);
    publish_change(SchedulerProvider::kInterfaceId, instance, Kind::kWithdrawn);
  }
  Status infer(const std::string& model) {
    auto found = catalog().acquire(model, ModelCatalog::kLatest);
    if (!found.ok()) return std::move(found).status();
    TestRequest request;
    fill_simple(request);
    Status status = request.infer(*found->get());
    host.run_ready();
    if (!status.ok()) return status;
    if (!request.done()) return internal_error("no answer");
    return Status(request.response().code, request.response().message);
  }
  uint64_t lines(std::string_view text) { return host.log().count(LogLevel::kInfo, text); }
};

TEST(NamedScheduler, ServesWhoNamesItAndNobodyElse) {
  FakeSchedulerProvider lifo("lifo");
  SchedulerBench bench;
  bench.publish("stack", lifo, 9);
  EXPECT_EQ(bench.lines("scheduler 'stack' is of a kind of its own, 'lifo'"), 1U);
  bench.put("plain");
  bench.put("batched", std::string(kSimpleConfig) + " dynamic_batching {}");
  bench.put("m", naming("stack"));
  bench.put("m2", naming("stack", " dynamic_batching {}"));
  bench.put("sequences", naming("stack", " sequence_batching { direct {} }"));
  for (const auto& result : bench.load({"plain", "batched", "m", "m2", "sequences"})) {
    EXPECT_EQ(result.status.text(), "OK") << result.model;
  }
  EXPECT_EQ(lifo.live(), 3U);
  EXPECT_EQ(bench.scheduler.live(), 2U);
  EXPECT_EQ(bench.infer("m").text(), "OK");
}

TEST(NamedScheduler, WhoIsNotThereIsWaitedFor) {
  FakeSchedulerProvider lifo("lifo");
  SchedulerBench bench;
  bench.put("m", naming("stack"));
  EXPECT_FALSE(bench.load_one("m").ok());
  EXPECT_THAT(bench.index(),
              ElementsAre("m/1 UNAVAILABLE Unavailable: model 'm' names scheduler 'stack' in its parameter "
                          "'scheduler', no enabled plugin instance of this name provides one; provided: "
                          "'default' (kind 'default')"));
  bench.publish("stack", lifo);
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_EQ(lifo.live(), 1U);

  bench.withdraw("stack");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 UNAVAILABLE scheduler 'stack' was removed"));
  EXPECT_EQ(lifo.live(), 0U);
  bench.publish("stack", lifo);
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
}

TEST(NamedScheduler, OneOfAKindThatAnswersOtherwiseIsRefused) {
  FakeSchedulerProvider dynamic("dynamic");
  FakeSchedulerProvider direct("sequence_direct");
  SchedulerBench bench;
  bench.publish("batcher", dynamic);
  bench.publish("direct", direct);
  bench.put("unbatched", naming("default", " dynamic_batching {}"));
  bench.put("batched", naming("batcher"));
  bench.put("wrong", naming("default", " sequence_batching { direct {} }"));
  bench.put("wrong2", naming("direct"));
  bench.put("right", naming("direct", " sequence_batching { direct {} }"));
  std::vector<ModelLoadResult> results = bench.load({"unbatched", "batched", "wrong", "wrong2", "right"});
  EXPECT_EQ(results[0].status.text(), "OK");
  EXPECT_EQ(results[1].status.text(), "OK");
  EXPECT_THAT(
      results[2].status.text(),
      testing::HasSubstr("Invalid argument: model 'wrong' names scheduler 'default' in its parameter "
                         "'scheduler', which is of kind 'default', but its configuration needs one of "
                         "kind 'sequence_direct' or of a kind of its own"));
  EXPECT_FALSE(results[3].status.ok());
  EXPECT_EQ(results[4].status.text(), "OK");
  EXPECT_EQ(bench.scheduler.live(), 1U);
  EXPECT_EQ(dynamic.live(), 1U);
}

TEST(SchedulerRank, OneThatComesLaterTakesOverAsAtAStart) {
  FakeSchedulerProvider lower("default");
  FakeSchedulerProvider higher("default");
  FakeSchedulerProvider at_start("default");
  SchedulerBench bench;
  bench.put("m");
  bench.put("m2");
  bench.put("named", naming("default"));
  bench.load({"m", "m2", "named"});
  const uint64_t models = bench.backend.loads().size();
  bench.publish("lower", lower, -1);
  EXPECT_EQ(lower.creates(), 0U);
  bench.publish("higher", higher, 1);
  EXPECT_EQ(higher.live(), 2U);
  EXPECT_EQ(bench.scheduler.live(), 1U) << "who names one stays with it";
  EXPECT_EQ(bench.lines("model 'm': scheduler 'higher' takes over from 'default'"), 1U);
  EXPECT_EQ(bench.infer("m").text(), "OK");
  EXPECT_EQ(bench.backend.loads().size(), models) << "models and instances stay";
  EXPECT_EQ(bench.backend.live_instances(), 3);

  CatalogBench restarted;
  restarted.host.registry().publish<SchedulerProvider>("higher", at_start, 1);
  restarted.put("m");
  EXPECT_TRUE(restarted.load_one("m").ok());
  EXPECT_EQ(at_start.live(), 1U);
}

TEST(SchedulerRank, OneThatGoesHandsItsModelsToTheNext) {
  FakeSchedulerProvider higher("default");
  SchedulerBench bench;
  bench.publish("higher", higher, 1);
  bench.put("m");
  EXPECT_TRUE(bench.load_one("m").ok());
  higher.hold = true;
  auto held = bench.catalog().acquire("m", 1);
  TestRequest waits;
  fill_simple(waits);
  ASSERT_TRUE(waits.infer(*held->get()).ok());

  bench.withdraw("higher");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_EQ(bench.lines("model 'm': scheduler 'default' takes over from 'higher'"), 1U);
  EXPECT_EQ(bench.scheduler.live(), 1U);
  EXPECT_EQ(bench.infer("m").text(), "OK");
  EXPECT_EQ(bench.backend.loads().size(), 1U);

  EXPECT_FALSE(waits.done());
  higher.run_held();
  EXPECT_TRUE(waits.done());
  EXPECT_EQ(waits.response().code, Code::kOk);
  held->reset();
  bench.host.run_ready();
  EXPECT_EQ(higher.live(), 0U) << "the provider can go";
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
}

TEST(SchedulerRank, WhatChangedInTheRepositoryIsNotLoadedByTheWay) {
  FakeSchedulerProvider higher("default");
  SchedulerBench bench;
  bench.publish("higher", higher, 1);
  bench.put("m");
  EXPECT_TRUE(bench.load_one("m").ok());
  bench.put("m", "no text format");
  bench.withdraw("higher");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_EQ(bench.scheduler.live(), 1U);
  EXPECT_FALSE(bench.load_one("m").ok());
}

TEST(SchedulerRank, ABatcherThatGoesIsStoodInFor) {
  FakeSchedulerProvider dynamic("dynamic");
  SchedulerBench bench;
  bench.publish("dynamic", dynamic);
  bench.put("m", std::string(kSimpleConfig) + " dynamic_batching {}");
  EXPECT_TRUE(bench.load_one("m").ok());
  bench.withdraw("dynamic");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_EQ(bench.infer("m").text(), "OK");
  EXPECT_EQ(dynamic.live(), 0U);
}

TEST(SchedulerRank, AModelThatTheNextRefusesGoesWithTheReason) {
  FakeSchedulerProvider higher("default");
  SchedulerBench bench;
  bench.publish("higher", higher, 1);
  bench.put("m");
  EXPECT_TRUE(bench.load_one("m").ok());
  bench.scheduler.fail_creates = 1;
  bench.withdraw("higher");
  EXPECT_THAT(bench.index(),
              ElementsAre("m/1 UNAVAILABLE scheduler 'higher' was removed, and without it: version 1 is at "
                          "UNAVAILABLE state: Internal: the fake scheduler provider was told to fail;"));
  EXPECT_EQ(higher.live(), 0U);
  bench.publish("higher", higher, 1);
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
}

TEST(SchedulerRank, AFailedTakeoverLeavesTheModelWhereItIs) {
  FakeSchedulerProvider higher("default");
  SchedulerBench bench;
  bench.put("m");
  EXPECT_TRUE(bench.load_one("m").ok());
  higher.fail_creates = 1;
  bench.publish("higher", higher, 1);
  EXPECT_THAT(bench.index(),
              ElementsAre("m/1 READY serves what was loaded before the last load failed: Internal: "
                          "the fake scheduler provider was told to fail"));
  EXPECT_EQ(bench.scheduler.live(), 1U);
  EXPECT_EQ(bench.host.log().count(LogLevel::kError, "what was loaded before keeps serving"), 1U);
}

TEST(SchedulerRank, SequencesAreBuiltAnew) {
  FakeSchedulerProvider direct("sequence_direct");
  FakeSchedulerProvider next("sequence_direct");
  SchedulerBench bench;
  bench.publish("direct", direct);
  bench.put("m", std::string(kSimpleConfig) + " sequence_batching { direct {} }");
  EXPECT_TRUE(bench.load_one("m").ok());
  bench.publish("next", next, 1);
  EXPECT_EQ(next.live(), 1U);
  EXPECT_EQ(direct.live(), 0U);
  EXPECT_EQ(bench.backend.loads().size(), 2U);
  EXPECT_EQ(bench.backend.live_instances(), 1);
}

/// Something happens when it has been chosen for a model, once.
class HookedProvider final : public SchedulerProvider {
 public:
  virtual ~HookedProvider() = default;
  std::string_view kind() const noexcept override { return "default"; }
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept override {
    if (auto hook = std::exchange(on_create, nullptr)) hook();
    return inner.create(context);
  }
  FakeSchedulerProvider inner;
  std::function<void()> on_create;
};

/// Of a load during which `hooked` is chosen, for a model on which nothing serves yet.
class DuringALoad : public ::testing::Test {
 protected:
  void load() {
    bench.put("m");
    EXPECT_EQ(bench.load_one("m").text(), "OK");
    EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
    EXPECT_EQ(bench.infer("m").text(), "OK");
  }
  void notify(const std::string& instance, Kind kind) {
    ServiceChanged event;
    event.key_text = std::string_view(cat(SchedulerProvider::kInterfaceId, " ", instance));
    event.interface_id = SchedulerProvider::kInterfaceId;
    event.instance = std::string_view(instance);
    event.kind = kind;
    bench.plugin->core().lifecycle().service_changed(event);
  }
  void withdraw(const std::string& instance) {
    bench.host.registry().withdraw(std::string(SchedulerProvider::kInterfaceId), instance);
    notify(instance, Kind::kWithdrawn);
  }
  HookedProvider hooked;
  FakeSchedulerProvider higher{"default"};
  SchedulerBench bench;
};

TEST_F(DuringALoad, OneThatComesTakesOver) {
  bench.host.registry().publish<SchedulerProvider>("hooked", hooked, 1);
  hooked.on_create = [&] {
    bench.host.registry().publish<SchedulerProvider>("higher", higher, 2);
    notify("higher", Kind::kPublished);
  };
  load();
  EXPECT_EQ(higher.live(), 1U);
  EXPECT_EQ(hooked.inner.live(), 0U);
}

TEST_F(DuringALoad, OneThatGoesIsStoodInFor) {
  bench.host.registry().publish<SchedulerProvider>("hooked", hooked, 1);
  hooked.on_create = [&] { withdraw("hooked"); };
  load();
  EXPECT_EQ(hooked.inner.live(), 0U);
  EXPECT_EQ(bench.scheduler.live(), 1U);
}

TEST_F(DuringALoad, TheOnlyOneThatGoesFailsIt) {
  bench.host.registry().publish<SchedulerProvider>("hooked", hooked, 1);
  bench.put("m", naming("hooked"));
  hooked.on_create = [&] { withdraw("hooked"); };
  EXPECT_EQ(bench.load_one("m").text(), "scheduler 'hooked' was removed");
  EXPECT_THAT(bench.index(), ElementsAre("m/1 UNAVAILABLE Unavailable: scheduler 'hooked' was removed"));
  EXPECT_EQ(bench.backend.live_models(), 0);
  bench.host.registry().publish<SchedulerProvider>("hooked", hooked, 1);
  notify("hooked", Kind::kPublished);
  bench.host.run_ready();
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
}

TEST_F(DuringALoad, OneThatIsToldOfLateChangesNothing) {
  bench.host.registry().publish<SchedulerProvider>("hooked", hooked, 1);
  load();
  notify("hooked", Kind::kPublished);
  bench.host.run_ready();
  EXPECT_EQ(hooked.inner.creates(), 1U);
  EXPECT_EQ(bench.lines("takes over"), 0U);
}

}  // namespace
}  // namespace atl::models
