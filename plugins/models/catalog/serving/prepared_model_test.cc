#include "models/catalog/serving/prepared_model.h"

#include <gtest/gtest.h>

#include "model_config.pb.h"

namespace atl::models {
namespace {

using Part = RepositoryStamp::Part;

std::string config(int32_t max_batch_size, int64_t only_version = 0) {
  inference::ModelConfig config;
  config.set_name("m");
  config.set_max_batch_size(max_batch_size);
  if (only_version != 0) config.mutable_version_policy()->mutable_specific()->add_versions(only_version);
  return config.SerializeAsString();
}

PreparedModel model() {
  PreparedModel model;
  model.files.entry.path = "/models/m";
  model.stamps = {{"1", Part::kVersion, 1, 10},
                  {"2", Part::kVersion, 2, 20},
                  {"config.pbtxt", Part::kConfiguration, 0, 30},
                  {"labels.txt", Part::kOther, 0, 40}};
  model.config = config(8);
  return model;
}

TEST(IsSameVersion, WhenNothingOfItChanged) {
  EXPECT_TRUE(is_same_version(model(), model(), 1));
  PreparedModel other = model();
  other.stamps[1].value = 21;                            // another version
  other.stamps[2].value = 31;                            // the configuration's text
  other.stamps.push_back({"3", Part::kVersion, 3, 50});  // a new version
  other.config = config(8, 1);                           // which versions are served
  EXPECT_TRUE(is_same_version(model(), other, 1));
  EXPECT_FALSE(is_same_version(model(), other, 2));
}

TEST(IsSameVersion, NotWhenItsFilesOrWhatAllShareChanged) {
  auto changed = [](auto change) {
    PreparedModel other = model();
    change(other);
    return !is_same_version(model(), other, 1);
  };
  EXPECT_TRUE(changed([](PreparedModel& other) { other.stamps[0].value = 11; }));
  EXPECT_TRUE(changed([](PreparedModel& other) { other.stamps[3].value = 41; }));
  EXPECT_TRUE(changed([](PreparedModel& other) { other.stamps.pop_back(); }));
  EXPECT_TRUE(changed([](PreparedModel& other) { other.stamps.push_back({".swp", Part::kOther, 0, 1}); }));
  EXPECT_TRUE(changed([](PreparedModel& other) { other.config = config(9); }));
  EXPECT_TRUE(changed([](PreparedModel& other) { other.config = "\xff no configuration"; }));
  EXPECT_TRUE(changed([](PreparedModel& other) { other.files.entry.path = "/elsewhere/m"; }));
}

TEST(IsSameVersion, NotWhenChangesCanNotBeTold) {
  PreparedModel untold = model();
  untold.stamps.clear();
  EXPECT_FALSE(is_same_version(untold, untold, 1));
  EXPECT_FALSE(is_same_version(model(), untold, 1));
}

std::string config_with(int32_t instances, bool sequences = false, int32_t max_batch_size = 8) {
  inference::ModelConfig with;
  with.ParseFromString(config(max_batch_size));
  with.add_instance_group()->set_count(instances);
  if (sequences) with.mutable_sequence_batching();
  return with.SerializeAsString();
}

TEST(DiffersInInstances, OnlyOfWhatCanChangeThemInPlace) {
  auto differs = [](std::string one, std::string other_config, uint64_t stamp = 10) {
    PreparedModel built = model();
    PreparedModel other = model();
    built.config = std::move(one);
    other.config = std::move(other_config);
    other.stamps[0].value = stamp;
    return differs_in_instances(built, other, 1);
  };
  EXPECT_TRUE(differs(config_with(1), config_with(2)));
  EXPECT_TRUE(differs(config(8), config_with(2)));
  EXPECT_FALSE(differs(config_with(1), config_with(2, false, 9)));
  EXPECT_FALSE(differs(config_with(1), config_with(2), 11)) << "files changed";
  EXPECT_FALSE(differs(config_with(1, true), config_with(2, true))) << "sequences are bound to instances";
}

}  // namespace
}  // namespace atl::models
