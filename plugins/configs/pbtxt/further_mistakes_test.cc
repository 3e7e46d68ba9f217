#include <algorithm>

#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

constexpr const char* kManyMistakes = R"(backend: 'b' max_batch_size: 4
dynamic_batching { preferred_batch_size: 8 priority_levels: 2 }
input [ { name: 'i' dims: 1 } ]
instance_group { count: -1 kind: KIND_CPU gpus: 0 })";

/// What is logged while read() fails, and the failure at the end.
std::string told(const std::string& text) {
  test::RecordingLog log;
  auto bytes = PbtxtModelConfigs({}, &log).read(model_with(text), false);
  std::string all;
  for (const auto& record : log.records()) {
    EXPECT_EQ(record.level, LogLevel::kError);
    all += record.message + "\n";
  }
  return all + bytes.status().text();
}

TEST(FurtherMistakes, AreInTheLogWithTheirPlaces) {
  const std::string also = "the configuration of model 'm' has a further mistake: /models/m/config.pbtxt:";
  EXPECT_EQ(
      told(kManyMistakes),
      cat(also,
          "2:1: field 'dynamic_batching.default_priority_level': default priority level must be in range "
          "[1, 2] for m\n",
          also,
          "4:18: field 'instance_group[0].count': 'instance_group[0].count' of model 'm' is -1, expected 1 "
          "to 1024 or 0 for the default\n",
          also, "3:1: field 'input[0]': model input 'i' must specify 'data_type' for m\n", also,
          "4:1: field 'instance_group[0]': instance group m_0 of model m has kind KIND_CPU but specifies "
          "one or more GPUs\n",
          "/models/m/config.pbtxt:2:20: field 'dynamic_batching.preferred_batch_size[0]': dynamic batching "
          "preferred size must be <= max batch size for m"));
}

TEST(FurtherMistakes, OfAModelWithoutBackend) {
  EXPECT_TRUE(
      told("max_batch_size: -1")
          .starts_with(
              "the configuration of model 'm' has a further mistake: /models/m/config.pbtxt:1:1: field "
              "'max_batch_size': 'max_batch_size' must be non-negative value for m\n"
              "/models/m/config.pbtxt: field 'backend': Invalid model name: Could not determine backend"));
}

TEST(FurtherMistakes, OfInputsAreNoneWhereTheBackendMayReplaceThem) {
  EXPECT_EQ(
      told("backend: 'python' max_batch_size: -1 input { name: 'i' }"),
      "/models/m/config.pbtxt:1:19: field 'max_batch_size': 'max_batch_size' must be non-negative value for m");
}

TEST(FurtherMistakes, ASingleOneIsToldByTheFailureAlone) {
  EXPECT_EQ(
      told("backend: 'b' max_batch_size: -1"),
      "/models/m/config.pbtxt:1:14: field 'max_batch_size': 'max_batch_size' must be non-negative value for m");
  EXPECT_EQ(
      told("backend: 'b' name: 'n'"),
      "/models/m/config.pbtxt:1:14: field 'name': unexpected directory name 'm' for model 'n', directory "
      "name must equal model name");
}

TEST(FurtherMistakes, AreBounded) {
  std::string text = "backend: 'b' ";
  for (int i = 0; i < 60; ++i) text += "instance_group { count: -1 } ";
  const std::string all = told(text);
  EXPECT_EQ(std::ranges::count(all, '\n'), 20);
  EXPECT_TRUE(
      all.find("\nthe configuration of model 'm' has 40 more mistakes; atoll-config check lists them\n") !=
      std::string::npos)
      << all;
}

}  // namespace
}  // namespace atl::pbtxt
