#include "models/catalog/loading/inherited_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/fake_catalog.h"
#include "model_config.pb.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class InheritedLabelsTest : public ::testing::Test {
 protected:
  InheritedLabelsTest() {
    for (const char* name : {"first", "second"}) {
      ModelInfo info;
      info.name = name;
      info.version = 1;
      info.outputs.resize(2);
      info.outputs[0].name = "PLAIN";
      info.outputs[1].name = "CLASSES";
      info.outputs[1].labels = {std::string(name) + " cat", std::string(name) + " dog"};
      catalog_.add(std::move(info));
    }
    auto* steps = config_.mutable_ensemble_scheduling();
    add_output(*steps->add_step(), "CLASSES", "between");
    add_output(*steps->add_step(), "CLASSES", "OUT");
    add_output(*steps->mutable_step(1), "PLAIN", "OTHER");
    info_.outputs.resize(3);
    info_.outputs[0].name = "OUT";
    info_.outputs[1].name = "OTHER";
    info_.outputs[2].name = "between";
    info_.outputs[2].labels = {"own"};
  }
  static void add_output(inference::ModelEnsembling::Step& step, const char* output, const char* tensor) {
    (*step.mutable_output_map())[output] = tensor;
  }
  void inherit() {
    std::vector<ModelRef> held;
    std::vector<Model*> members;
    for (const char* name : {"first", "second"}) {
      held.push_back(std::move(catalog_.acquire(name, ModelCatalog::kLatest)).value());
      members.push_back(held.back().get());
    }
    inherit_labels(config_, members, &info_);
  }

  test::FakeModelCatalog catalog_;
  inference::ModelConfig config_;
  ModelInfo info_;
};

TEST_F(InheritedLabelsTest, AreThoseOfTheOutputThatFeedsOne) {
  inherit();
  EXPECT_THAT(info_.outputs[0].labels, ElementsAre("second cat", "second dog"));
  EXPECT_THAT(info_.outputs[1].labels, IsEmpty());
}

TEST_F(InheritedLabelsTest, OwnLabelsStay) {
  inherit();
  EXPECT_THAT(info_.outputs[2].labels, ElementsAre("own"));
}

}  // namespace
}  // namespace atl::models
