#include "models/catalog/serving/host_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "models/catalog/serving/instance_specs.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HostPolicies, AreReadByPolicyAndSetting) {
  auto policies = read_host_policies({{"cpu.cpu-cores", "2-3,0,3-4"},
                                      {"cpu.numa-node", "1"},
                                      {"gpu_0.cpu-cores", "7"},
                                      {"a.b.numa-node", "0"}});
  ASSERT_TRUE(policies.ok()) << policies.status().text();
  EXPECT_THAT(policies->at("cpu").cpu_cores, ElementsAre(0, 2, 3, 4));
  EXPECT_EQ(policies->at("cpu").numa_node, 1);
  EXPECT_THAT(policies->at("gpu_0").cpu_cores, ElementsAre(7));
  EXPECT_EQ(policies->at("gpu_0").numa_node, -1);
  EXPECT_EQ(policies->at("a.b").numa_node, 0);
}

TEST(HostPolicies, SayWhatIsWrong) {
  constexpr std::string_view kCores =
      "expected cores as \"<first>-<last>[,<first>-<last>...]\", each from 0 to 8191";
  const struct {
    const char* key;
    const char* value;
    std::string_view text;
  } rows[] = {
      {"cpu", "0", "expected a key \"<policy>.<setting>\""},
      {".numa-node", "0", "expected a key \"<policy>.<setting>\""},
      {"cpu.cores", "0",
       "Unsupported host policy setting 'cores' is specified, supported settings are 'numa-node', "
       "'cpu-cores'"},
      {"cpu.numa-node", "-1", "expected a number from 0 to 1023"},
      {"cpu.numa-node", "one", "expected a number from 0 to 1023"},
      {"cpu.cpu-cores", "", kCores},
      {"cpu.cpu-cores", "3-1", kCores},
      {"cpu.cpu-cores", "0-99999", kCores},
      {"cpu.cpu-cores", "0-1,", kCores},
      {"cpu.cpu-cores", "0-1-2", kCores},
  };
  for (const auto& row : rows) {
    auto policies = read_host_policies({{row.key, row.value}});
    ASSERT_FALSE(policies.ok()) << row.key << " " << row.value;
    EXPECT_EQ(policies.status().message(),
              cat("option 'host_policies': \"", row.key, "\" = \"", row.value, "\": ", row.text));
  }
}

TEST(HostPolicies, InstancesHaveTheOneTheyNameOrThatOfTheirKind) {
  inference::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(name: "m"
         instance_group { name: "a" count: 1 kind: KIND_CPU }
         instance_group { name: "b" count: 1 kind: KIND_CPU host_policy: "fast" passive: true
                          secondary_devices { device_id: 3 } }
         instance_group { name: "c" count: 1 kind: KIND_GPU gpus: [ 1, 2 ] profile: "4" }
         instance_group { name: "d" count: 1 kind: KIND_MODEL })",
      &config));
  HostPolicies policies;
  policies["cpu"].cpu_cores = {0, 1};
  policies["fast"].cpu_cores = {5};
  policies["gpu_2"].numa_node = 1;
  auto specs = make_instance_specs(config, policies, nullptr);
  ASSERT_TRUE(specs.ok());
  ASSERT_EQ(specs->size(), 5U);
  EXPECT_THAT((*specs)[0]->cpu_cores, ElementsAre(0, 1));
  EXPECT_TRUE((*specs)[0]->is_bound());
  EXPECT_THAT((*specs)[1]->placement().cpu_cores, ElementsAre(5));
  EXPECT_TRUE((*specs)[1]->passive);
  EXPECT_THAT((*specs)[1]->secondary_devices, ElementsAre(::testing::Pair("KIND_NVDLA", 3)));
  EXPECT_EQ((*specs)[2]->host_policy, "gpu_1");
  EXPECT_FALSE((*specs)[2]->is_bound());
  EXPECT_THAT((*specs)[2]->profiles, ElementsAre("4"));
  EXPECT_EQ((*specs)[3]->host_policy, "gpu_2");
  EXPECT_EQ((*specs)[3]->placement().numa_node, 1);
  EXPECT_EQ((*specs)[4]->host_policy, "model");
  EXPECT_THAT((*specs)[4]->cpu_cores, IsEmpty());
}

TEST(HostPolicies, AWrongOneIsRefusedAndAnUnknownOneIsToldOf) {
  CatalogBench wrong(CatalogBench::Threads::kSimulated, [](test::FakeOptions& options) {
    options.set_map("host_policies", {{"cpu.numa-node", "x"}});
  });
  EXPECT_EQ(wrong.start_status.code(), Code::kInvalidArgument);
  CatalogBench bench;
  bench.put("m", cat(kSimpleConfig,
                     R"( instance_group { name: "g" count: 1 kind: KIND_CPU host_policy: "fast" })"));
  EXPECT_TRUE(bench.load_one("m").ok());
  EXPECT_TRUE(bench.host.log().contains("host policy 'fast' of instance group 'g'"));
}

TEST(HostPolicies, InstancesAreCreatedOnTheirThread) {
  CatalogBench bench(CatalogBench::Threads::kReal, [](test::FakeOptions& options) {
    options.set_map("host_policies", {{"cpu.cpu-cores", "0"}});
  });
  bench.put("m");
  std::promise<Status> loaded;
  bench.catalog().load(
      {"m"}, [&](std::vector<ModelLoadResult> results) { loaded.set_value(std::move(results[0].status)); });
  EXPECT_TRUE(loaded.get_future().get().ok());
}

}  // namespace
}  // namespace atl::models
