#include "backends/triton/settings.h"

#include <gtest/gtest.h>

namespace atl::triton {
namespace {

TEST(Settings, AreSortedTextsWithWhatTheServerKnows) {
  SettingsSource source;
  source.backend_directory = "/b";
  EXPECT_EQ(settings_json(source, "x"),
            R"({"cmdline":{"auto-complete-config":"true","backend-directory":"/b",)"
            R"("default-max-batch-size":"4","min-compute-capability":"6.000000"}})");
}

TEST(Settings, TheBackendsOwnCountMost) {
  const Settings model = {{"default-max-batch-size", "8"}, {"a", "model"}, {"b", "model"}};
  const Settings options = {{"b", "all"}, {"c", "all"}, {"x.c", "own"}, {"y.d", "other"}, {"xx.e", "other"}};
  const SettingsSource source{false, "", &model, &options};
  EXPECT_EQ(settings_json(source, "x"),
            R"({"cmdline":{"a":"model","auto-complete-config":"false","b":"all","backend-directory":"",)"
            R"("c":"own","default-max-batch-size":"8","min-compute-capability":"6.000000"}})");
}

TEST(Settings, WhatRunsTheBackendHasItsOwn) {
  const Settings model = {
      {".python.a", "python"}, {".python.b.c", "python"}, {".pythonic.a", "other"}, {"a", "all"}};
  const Settings options = {{"python.d", "option"}};
  const std::string defaults =
      R"("auto-complete-config":"true","backend-directory":"","default-max-batch-size":"4",)"
      R"("min-compute-capability":"6.000000"}})";
  EXPECT_EQ(settings_json({true, "", &model, nullptr}, "x"), R"({"cmdline":{"a":"all",)" + defaults);
  const std::string json = settings_json({true, "", &model, &options}, "python");
  EXPECT_NE(json.find(R"("a":"python")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("b.c":"python")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("d":"option")"), std::string::npos) << json;
  EXPECT_EQ(json.find("other"), std::string::npos) << json;
}

TEST(Settings, AnyTextIsJson) {
  const Settings options = {{"k", "\"\\\n\xff"}};
  EXPECT_NE(settings_json({true, "", nullptr, &options}, "x").find(R"("k":"\"\\\n)"), std::string::npos);
}

TEST(HostPolicy, SaysWhatIsBound) {
  InstanceSpec spec;
  EXPECT_EQ(host_policy_json(spec), R"({"cpu":{}})");
  spec.kind = InstanceKind::kGpu;
  spec.device_id = 2;
  EXPECT_EQ(host_policy_json(spec), R"({"gpu_2":{}})");
  spec.kind = InstanceKind::kModel;
  EXPECT_EQ(host_policy_json(spec), R"({"model":{}})");
  spec.host_policy = "node0";
  spec.cpu_cores = {0, 1, 4};
  spec.numa_node = 1;
  EXPECT_EQ(host_policy_json(spec), R"({"node0":{"cpu-cores":"0,1,4","numa-node":"1"}})");
}

}  // namespace
}  // namespace atl::triton
