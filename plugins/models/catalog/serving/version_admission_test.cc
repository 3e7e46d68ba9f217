#include "models/catalog/serving/version_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "atoll/testing/fake_admission.h"
#include "models/catalog/serving/instance_specs.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = ServiceChanged::Kind;

constexpr std::string_view kGroups = R"(
  instance_group { name: "g" count: 2 kind: KIND_GPU gpus: [ 1, 3 ]
                   rate_limiter { priority: 2 resources { name: "R1" count: 4 }
                                  resources { name: "R2" global: true count: 5 } } }
  instance_group { name: "p" count: 1 kind: KIND_CPU passive: true }
  instance_group { name: "c" count: 1 kind: KIND_CPU })";

TEST(VersionAdmission, DemandsAreThoseOfTheInstancesThatExecute) {
  inference::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(std::string(kGroups), &config));
  config.set_name("m");
  auto specs = make_instance_specs(config, {}, nullptr);
  ASSERT_TRUE(specs.ok());
  std::vector<std::string> names;
  for (const auto& spec : specs.value()) {
    if (!spec->passive) names.push_back(cat(spec->name, " on ", spec->device_id));
  }
  std::vector<std::string> demanded;
  std::vector<ExecutionDemand> demands = make_execution_demands(config);
  for (const ExecutionDemand& demand : demands) {
    EXPECT_EQ(demand.model, "m");
    demanded.push_back(cat(demand.instance, " on ", demand.device_id));
  }
  EXPECT_EQ(demanded, names);
  ASSERT_EQ(demands.size(), 5U);
  EXPECT_EQ(demands[0].priority, 2U);
  ASSERT_EQ(demands[0].resources.size(), 2U);
  EXPECT_EQ(demands[0].resources[0].name, "R1");
  EXPECT_EQ(demands[0].resources[0].count, 4U);
  EXPECT_FALSE(demands[0].resources[0].global);
  EXPECT_TRUE(demands[0].resources[1].global);
  EXPECT_THAT(demands[4].resources, IsEmpty());
}

class VersionAdmissionTest : public ::testing::Test {
 protected:
  void publish() { bench.host.registry().publish<ExecutionAdmission>("limiter", admission); }
  void withdraw() {
    bench.host.registry().withdraw(std::string(ExecutionAdmission::kInterfaceId), "limiter");
    bench.publish_change(ExecutionAdmission::kInterfaceId, "limiter", Kind::kWithdrawn);
  }
  /// Model "m", which is not admitted.
  void load_refused() {
    publish();
    admission.refuse("g_0");
    bench.put("m", cat(kSimpleConfig, R"( instance_group { name: "g" count: 1 kind: KIND_CPU })"));
    EXPECT_FALSE(bench.load_one("m").ok());
  }

  test::FakeAdmission admission, second;  // outlive the catalog
  CatalogBench bench;
};

TEST_F(VersionAdmissionTest, WhoFollowsQueuesIsAskedLast) {
  struct Listener final : AdmissionListener {
    virtual ~Listener() = default;
    void admitted(void*) noexcept override {}
  } listener;
  constexpr uint32_t kMinor = ExecutionAdmission::kShortagesMinor;
  second.follow_queues({});
  bench.host.registry().publish<ExecutionAdmission>("a", second, 0, kMinor);
  bench.host.registry().publish<ExecutionAdmission>("limiter", admission, 0, kMinor);
  bench.put("m");
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  {
    const ModelRef model = bench.catalog().acquire("m", 1).value();
    AdmittedInstance& instance =
        *static_cast<const ServedModel*>(model.get())->parts().admission.instances()[0];
    EXPECT_TRUE(instance.follows_queue());
    admission.close(0);
    EXPECT_FALSE(instance.ask(listener, nullptr, false));
    EXPECT_EQ(second.counts().asked, 0U) << "it would decide before it is known that the other one admits";
    EXPECT_EQ(instance.shortages().size(), 1U);
    EXPECT_TRUE(instance.withdraw());
  }
}

TEST_F(VersionAdmissionTest, WithoutAPluginNothingIsAdded) {
  bench.put("m");
  EXPECT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_EQ(admission.live(), 0U);
}

TEST_F(VersionAdmissionTest, InstancesAreThereAsLongAsTheirVersion) {
  publish();
  bench.put("m", cat(kSimpleConfig, R"( instance_group { name: "g" count: 3 kind: KIND_CPU })"));
  EXPECT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_EQ(admission.live(), 3U);
  EXPECT_EQ(admission.demands()[2].instance, "g_2");
  EXPECT_EQ(admission.demands()[2].version, 1);
  bench.unload({"m"});
  EXPECT_EQ(admission.live(), 0U);
}

TEST_F(VersionAdmissionTest, ARefusedDemandFailsTheLoad) {
  publish();
  admission.refuse("g_1");
  bench.put("m", cat(kSimpleConfig, R"( instance_group { name: "g" count: 3 kind: KIND_CPU })"));
  EXPECT_THAT(bench.load_one("m").text(), ::testing::HasSubstr("refused g_1"));
  EXPECT_EQ(admission.live(), 0U);
}

TEST_F(VersionAdmissionTest, ARefusedModelIsTriedAgainWhenThePluginIsReplaced) {
  load_refused();
  bench.publish_change(ExecutionAdmission::kInterfaceId, "limiter", Kind::kReplaced);
  EXPECT_THAT(bench.index(), ElementsAre(::testing::HasSubstr("UNAVAILABLE"))) << "it still refuses";
  admission.refuse("");
  bench.publish_change(ExecutionAdmission::kInterfaceId, "limiter", Kind::kReplaced);
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_EQ(admission.live(), 1U);
}

TEST_F(VersionAdmissionTest, ARefusedModelIsTriedAgainWhenThePluginIsGone) {
  load_refused();
  withdraw();
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
  EXPECT_EQ(admission.live(), 0U);
}

TEST_F(VersionAdmissionTest, ModelsFollowThePluginThatComesAndGoes) {
  bench.put("m");
  EXPECT_EQ(bench.load_one("m").text(), "OK");
  publish();
  bench.publish_change(ExecutionAdmission::kInterfaceId, "limiter", Kind::kPublished);
  EXPECT_EQ(admission.live(), 1U);
  bench.publish_change(ExecutionAdmission::kInterfaceId, "limiter", Kind::kReplaced);
  EXPECT_EQ(admission.live(), 1U);
  EXPECT_EQ(admission.demands().size(), 2U) << "it was built again";
  withdraw();
  EXPECT_EQ(admission.live(), 0U);
  EXPECT_THAT(bench.index(), ElementsAre("m/1 READY"));
}

TEST_F(VersionAdmissionTest, LateNewsOfThePluginThatItHasBuildsNothing) {
  publish();
  bench.put("m");
  EXPECT_EQ(bench.load_one("m").text(), "OK");
  bench.publish_change(ExecutionAdmission::kInterfaceId, "limiter", Kind::kPublished);
  EXPECT_EQ(admission.demands().size(), 1U);
  EXPECT_EQ(admission.live(), 1U);
}

TEST_F(VersionAdmissionTest, SeveralPluginsAreAllAsked) {
  publish();
  bench.put("m");
  EXPECT_EQ(bench.load_one("m").text(), "OK");
  bench.host.registry().publish<ExecutionAdmission>("second", second);
  bench.publish_change(ExecutionAdmission::kInterfaceId, "second", Kind::kPublished);
  EXPECT_EQ(admission.live(), 1U);
  EXPECT_EQ(second.live(), 1U) << "the version was built again when another one came";
  withdraw();
  EXPECT_EQ(admission.live(), 0U);
  EXPECT_EQ(second.live(), 1U);
  bench.unload({"m"});
  EXPECT_EQ(second.live(), 0U);
  bench.host.registry().withdraw(std::string(ExecutionAdmission::kInterfaceId), "second");
}

TEST_F(VersionAdmissionTest, ADemandSaysWhatTheConfigurationSays) {
  publish();
  bench.put("m", cat(kSimpleConfig, R"( instance_group { count: 1 kind: KIND_CPU } dynamic_batching {}
                                        parameters { key: "latency_target_microseconds" value { string_value: "20000" } })"));
  EXPECT_EQ(bench.load_one("m").text(), "OK");
  ASSERT_EQ(admission.demands().size(), 1U);
  EXPECT_EQ(admission.demands()[0].latency_target_ns, 20'000'000);
  EXPECT_FALSE(admission.demands()[0].on_gpu);
}

std::string with_warmup() {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(std::string(kSimpleConfig), &config));
  inference::ModelWarmup& sample = *config.add_model_warmup();
  sample.set_name("s");
  sample.set_batch_size(1);
  sample.set_count(2);
  auto& input = (*sample.mutable_inputs())["INPUT0"];
  input.set_data_type(inference::TYPE_FP32);
  input.add_dims(4);
  input.set_zero_data(true);
  return cat(kSerialized, config.SerializeAsString());
}

TEST_F(VersionAdmissionTest, EveryWarmupExecutionIsAdmitted) {
  publish();
  bench.put("m", with_warmup());
  EXPECT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_EQ(admission.counts().asked, 2U);
  EXPECT_EQ(admission.counts().executed, 2U);
}

TEST(WarmupAdmission, WaitsUntilItIsAdmitted) {
  test::FakeAdmission admission;
  admission.begin_closed();
  CatalogBench bench(CatalogBench::Threads::kReal);
  bench.host.registry().publish<ExecutionAdmission>("limiter", admission);
  bench.put("m", with_warmup());
  std::atomic<bool> loaded{false};
  bench.catalog().load({"m"}, [&](const std::vector<ModelLoadResult>& results) {
    EXPECT_EQ(results[0].status.text(), "OK");
    loaded = true;
  });
  for (uint64_t i = 1; i <= 2; ++i) {
    while (admission.counts().asked < i) std::this_thread::yield();
    EXPECT_EQ(admission.counts().executed, i - 1);
    EXPECT_FALSE(loaded);
    while (!admission.admit_once(0)) std::this_thread::yield();
    while (admission.counts().executed < i) std::this_thread::yield();
  }
  while (!loaded) bench.host.run_ready();
  bench.end();
  EXPECT_EQ(admission.live(), 0U);
}

}  // namespace
}  // namespace atl::models
