#include "models/catalog/loading/model_content.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/temporary_directory.h"
#include "model_config.pb.h"

namespace atl::models {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << content;
}

class ModelContentTest : public ::testing::Test {
 protected:
  ModelContentTest() {
    config_.set_name("m");
    config_.set_backend("onnxruntime");
    write_model("a");
    write_model("b");
  }
  void write_model(const std::string& name) {
    write(at(name) / "1" / "model.onnx", "weights");
    write(at(name) / "2" / "model.onnx", "other weights");
    write(at(name) / "labels.txt", "cat\ndog\n");
    write(at(name) / "config.pbtxt", "# of " + name);
  }
  fs::path at(const std::string& name) const { return fs::path(directory_.path()) / name; }
  std::string id(const std::string& name, const std::string& version = "1") const {
    return ModelContent::look(at(name), at(name) / version).id(config_);
  }

  test::TemporaryDirectory directory_;
  inference::ModelConfig config_;
};

TEST_F(ModelContentTest, IsTheSameWhereverTheSameModelLies) {
  EXPECT_EQ(id("a").size(), 32u);
  EXPECT_EQ(id("a"), id("b"));
}

TEST_F(ModelContentTest, DiffersWithAFileOfTheVersionOrOfTheModel) {
  const std::string before = id("a");
  write(at("a") / "1" / "model.onnx", "weighty");  // of the same size
  const std::string other_weights = id("a");
  EXPECT_NE(other_weights, before);
  write(at("a") / "labels.txt", "cat\ncow\n");
  const std::string other_labels = id("a");
  EXPECT_NE(other_labels, other_weights);
  write(at("a") / "1" / "data" / "more.bin", "");
  EXPECT_NE(id("a"), other_labels);
  fs::rename(at("b") / "labels.txt", at("b") / "names.txt");
  EXPECT_NE(id("b"), before) << "another name";
}

TEST_F(ModelContentTest, DoesNotDependOnWhatIsNotOfTheVersion) {
  const std::string before = id("a");
  write(at("a") / "2" / "model.onnx", "newer");
  write(at("a") / "config.pbtxt", "# a comment");
  write(at("a") / "1" / "__pycache__" / "model.cpython-311.pyc", "compiled");
  EXPECT_EQ(id("a"), before);
  EXPECT_NE(id("a", "2"), before);
}

TEST_F(ModelContentTest, OfTheConfigurationCountsWhatAnAnswerMayDependOn) {
  const std::string before = id("a");
  config_.add_instance_group()->set_count(4);
  config_.mutable_dynamic_batching()->set_max_queue_delay_microseconds(100);
  config_.mutable_version_policy()->mutable_all();
  EXPECT_EQ(id("a"), before);
  (*config_.mutable_parameters())["threshold"].set_string_value("0.5");
  EXPECT_NE(id("a"), before);
}

TEST_F(ModelContentTest, FollowsLinks) {
  fs::rename(at("a") / "1", at("a") / "data");
  const std::string beside = id("b");
  fs::rename(at("a") / "data", fs::path(directory_.path()) / "data");
  fs::create_directory_symlink(fs::path(directory_.path()) / "data", at("a") / "1");
  EXPECT_EQ(id("a"), beside);
}

TEST_F(ModelContentTest, IsNotKnownIfAFileChangedMeanwhile) {
  const ModelContent content = ModelContent::look(at("a"), at("a") / "1");
  write(at("a") / "1" / "other", "added");
  EXPECT_EQ(content.id(config_).size(), 32u) << "nothing of what was loaded";
  write(at("a") / "1" / "model.onnx", "longer weights");
  EXPECT_EQ(content.id(config_), "");
  fs::remove(at("a") / "1" / "model.onnx");
  EXPECT_EQ(content.id(config_), "");
}

TEST_F(ModelContentTest, IsNotKnownWithoutADirectory) {
  EXPECT_EQ(ModelContent::look(at("none"), at("none") / "1").id(config_), "");
  EXPECT_EQ(ModelContent().id(config_), "");
}

TEST_F(ModelContentTest, OfAnEnsembleIsMadeOfItsMembers) {
  test::FakeModelCatalog catalog;
  const auto member = [&](const char* name, const char* content_id) -> Model* {
    ModelInfo info;
    info.name = name;
    info.version = 1;
    info.content_id = content_id;
    return &catalog.add(std::move(info));
  };
  Model* first = member("first", "11");
  Model* second = member("second", "22");
  Model* unknown = member("unknown", "");
  const auto of = [&](std::vector<Model*> members) { return ensemble_content_id(config_, members); };
  EXPECT_EQ(of({first, second}).size(), 32u);
  EXPECT_EQ(of({first, second}), of({first, second}));
  EXPECT_NE(of({first, second}), of({second, first}));
  EXPECT_NE(of({first, second}), of({first, first}));
  EXPECT_EQ(of({first, unknown}), "");
}

}  // namespace
}  // namespace atl::models
