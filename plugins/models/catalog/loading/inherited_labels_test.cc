#include "models/catalog/loading/inherited_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    members_ = {{"first", ModelCatalog::kLatest}, {"second", 1}};
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
    inherit_labels(
        config_, members_,
        [this](const EnsembleMember& member) {
          Result<ModelRef> model = catalog_.acquire(member.model, member.version);
          return model.ok() ? std::move(model).value() : ModelRef();
        },
        &info_);
  }

  test::FakeModelCatalog catalog_;
  inference::ModelConfig config_;
  std::vector<EnsembleMember> members_;
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

TEST_F(InheritedLabelsTest, AMemberThatDoesNotServeHasNone) {
  members_[1].version = 7;
  inherit();
  EXPECT_THAT(info_.outputs[0].labels, IsEmpty());
}

}  // namespace
}  // namespace atl::models
