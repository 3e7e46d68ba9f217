// Configurations and files that clients bring, and what unloading takes along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ServiceChanged::Kind;

constexpr const char* kBatchOfTwo = R"(backend: "fake" max_batch_size: 2)";

class OverridesTest : public ::testing::Test {
 protected:
  OverridesTest() {
    bench_.host.registry().publish<SchedulerProvider>("ensemble", ensembles_);
    bench_.put("m");
    bench_.repository.touch("m", "1");
  }
  ~OverridesTest() override {
    bench_.end();
    EXPECT_EQ(bench_.repository.private_directories, 0);
  }
  uint32_t max_batch_size(const std::string& model = "m") {
    auto held = bench_.catalog().acquire(model, ModelCatalog::kLatest);
    return held.ok() ? (*held)->info().max_batch_size : 0;
  }
  std::string last_path() { return bench_.backend.loads().back().model_directory; }

  FakeEnsembleProvider ensembles_;
  CatalogBench bench_;
};

TEST_F(OverridesTest, AConfigurationStaysUntilSomethingChanges) {
  EXPECT_TRUE(bench_.load_config("m", kBatchOfTwo).status.ok());
  EXPECT_EQ(max_batch_size(), 2u);
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_EQ(max_batch_size(), 2u);
  EXPECT_EQ(bench_.backend.loads().size(), 1u) << "nothing changed";
  bench_.repository.touch("m", "1");
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_EQ(max_batch_size(), 8u);
}

TEST_F(OverridesTest, AConfigurationEndsWithTheUnload) {
  EXPECT_TRUE(bench_.load_config("m", kBatchOfTwo).status.ok());
  bench_.unload({"m"});
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_EQ(max_batch_size(), 8u);
}

TEST_F(OverridesTest, AConfigurationNeedsTheDirectoryAndNotItsText) {
  bench_.put("m", "no config");
  EXPECT_FALSE(bench_.load_one("m").ok());
  EXPECT_TRUE(bench_.load_config("m", kBatchOfTwo).status.ok());
  ModelLoadOutcome outcome = bench_.load_config("ghost", kBatchOfTwo);
  EXPECT_EQ(outcome.status.code(), Code::kNotFound);
  EXPECT_FALSE(outcome.was_read);
}

TEST_F(OverridesTest, ABadConfigurationChangesNothing) {
  EXPECT_TRUE(bench_.load_config("m", kBatchOfTwo).status.ok());
  ModelLoadOutcome outcome = bench_.load_config("m", "no config");
  EXPECT_EQ(outcome.status.message(), "Invalid config override: cannot be parsed");
  EXPECT_FALSE(outcome.was_read);
  bench_.backend.behavior.fail_loads = 1;
  outcome = bench_.load_config("m", R"(backend: "fake" max_batch_size: 4)");
  EXPECT_FALSE(outcome.status.ok());
  EXPECT_TRUE(outcome.was_read);
  EXPECT_EQ(max_batch_size(), 2u);
  EXPECT_TRUE(bench_.load_one("m").ok());
  EXPECT_EQ(max_batch_size(), 2u);
}

TEST_F(OverridesTest, FilesTakeThePlaceOfTheDirectory) {
  ASSERT_TRUE(bench_.load_one("m").ok());
  EXPECT_TRUE(bench_.load_files("m", {"3/model", "4/model"}, kBatchOfTwo).status.ok());
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 UNAVAILABLE unloaded", "m/3 READY", "m/4 READY"));
  EXPECT_EQ(max_batch_size(), 2u);
  EXPECT_THAT(last_path(), HasSubstr("/private/"));
  EXPECT_EQ(bench_.repository.private_directories, 1);
  EXPECT_TRUE(bench_.load_files("m", {}, std::nullopt).status.ok()) << "back to the repository";
  EXPECT_THAT(bench_.index(true), ElementsAre("m/1 READY"));
  EXPECT_EQ(bench_.repository.private_directories, 0);
}

TEST_F(OverridesTest, FilesStayWhereTheServerItselfLoadsTheModelByItsName) {
  EXPECT_TRUE(bench_.load_files("m", {"3/model"}, kBatchOfTwo).status.ok());
  const size_t loads = bench_.backend.loads().size();
  EXPECT_TRUE(bench_.load_one("m").ok()) << "as a control plugin does that has come anew";
  EXPECT_THAT(bench_.index(true), ElementsAre("m/3 READY"));
  EXPECT_EQ(max_batch_size(), 2u);
  EXPECT_EQ(bench_.backend.loads().size(), loads);
}

TEST_F(OverridesTest, FilesNeedNoDirectoryAndLeaveNoneBehind) {
  EXPECT_TRUE(bench_.load_files("new", {"1/model"}).status.ok());
  EXPECT_THAT(bench_.index(), ElementsAre("m", "new/1 READY"));
  bench_.unload({"new"});
  EXPECT_THAT(bench_.index(), ElementsAre("m")) << "there is nothing it could be loaded from";
  EXPECT_EQ(bench_.repository.private_directories, 0);
  EXPECT_EQ(bench_.catalog().acquire("new", ModelCatalog::kLatest).status().text(),
            "Request for unknown model: 'new' has no available versions");
}

TEST_F(OverridesTest, FilesStayWhileARequestHoldsTheVersion) {
  EXPECT_TRUE(bench_.load_files("m", {"1/model"}).status.ok());
  {
    auto held = bench_.catalog().acquire("m", 1);
    bench_.unload({"m"});
    EXPECT_EQ(bench_.repository.private_directories, 1);
  }
  bench_.host.run_ready();
  EXPECT_EQ(bench_.repository.private_directories, 0);
}

TEST_F(OverridesTest, FilesNeedAConfiguration) {
  ModelLoadOutcome outcome = bench_.load_files("new", {"1/model"}, std::nullopt);
  EXPECT_EQ(outcome.status.message(), "Load parameter 'config' must be specified for model file override");
  EXPECT_EQ(outcome.status.code(), Code::kInvalidArgument);
  EXPECT_THAT(bench_.index(), ElementsAre("m")) << "no trace";
}

TEST_F(OverridesTest, AFailedLoadOfFilesLeavesWhatServed) {
  ASSERT_TRUE(bench_.load_one("m").ok());
  bench_.backend.behavior.fail_loads = 1;
  EXPECT_FALSE(bench_.load_files("m", {"1/model"}).status.ok());
  EXPECT_EQ(bench_.repository.private_directories, 0);
  EXPECT_THAT(bench_.index(),
              ElementsAre("m/1 READY serves what was loaded before the last load failed: Internal: "
                          "the fake backend was told to fail the load of 'm'"));
  EXPECT_EQ(bench_.load_files("m", {"model"}).status.message(),
            "at least one version must be available under the version policy of model 'm'");
  EXPECT_EQ(max_batch_size(), 8u);
}

TEST_F(OverridesTest, FailuresDoNotNameThePrivateDirectory) {
  bench_.backend.complete = [](const ModelSource& source) -> Result<std::string> {
    return invalid_argument("cannot read ", source.version_directory, "/model, see ", source.model_directory);
  };
  EXPECT_EQ(bench_.load_files("new", {"7/model"}).status.message(),
            "version 7 is at UNAVAILABLE state: Invalid argument: cannot read new/7/model, see new;");
  EXPECT_FALSE(bench_.host.log().contains("/private/"));
}

TEST_F(OverridesTest, AReplacedBackendKeepsWhatClientsBrought) {
  EXPECT_TRUE(bench_.load_config("m", kBatchOfTwo).status.ok());
  EXPECT_TRUE(bench_.load_files("new", {"1/model"}, kBatchOfTwo).status.ok());
  std::string path = last_path();
  bench_.repository.touch("m", "1");
  bench_.publish_change(Backend::kInterfaceId, "fake", Kind::kReplaced);
  EXPECT_EQ(bench_.backend.loads().size(), 4u);
  EXPECT_EQ(last_path(), path);
  EXPECT_EQ(max_batch_size("m"), 2u);
  EXPECT_EQ(max_batch_size("new"), 2u);
}

TEST_F(OverridesTest, ABackendThatComesBackBringsFilesBack) {
  EXPECT_TRUE(bench_.load_files("new", {"1/model"}).status.ok());
  bench_.host.registry().withdraw(std::string(Backend::kInterfaceId), "fake");
  bench_.publish_change(Backend::kInterfaceId, "fake", Kind::kWithdrawn);
  EXPECT_THAT(bench_.index(), ElementsAre("m", "new/1 UNAVAILABLE backend 'fake' was removed"));
  bench_.host.registry().publish<Backend>("fake", bench_.backend);
  bench_.publish_change(Backend::kInterfaceId, "fake", Kind::kPublished);
  EXPECT_THAT(bench_.index(true), ElementsAre("new/1 READY"));
}

TEST_F(OverridesTest, LoadsOfDifferentThingsAreAllMadeInTheirOrder) {
  std::vector<std::string> ended;
  auto load = [&](const std::string& what, std::optional<std::string> config) {
    ModelLoadRequest request;
    request.model = "m";
    request.config = std::move(config);
    bench_.catalog().load_model(std::move(request), [&, what](const ModelLoadOutcome& outcome) {
      ended.push_back(cat(what, " ", outcome.status.text()));
    });
  };
  load("plain", std::nullopt);
  load("two", kBatchOfTwo);
  load("bad", "no config");
  load("three", R"(backend: "fake" max_batch_size: 3)");
  load("plain", std::nullopt);
  load("plain", std::nullopt);
  bench_.host.run_ready();
  EXPECT_THAT(ended, ElementsAre("plain OK", "two OK", "bad Invalid config override: cannot be parsed",
                                 "three OK", "plain OK", "plain OK"));
  EXPECT_EQ(max_batch_size(), 3u);
  EXPECT_EQ(bench_.backend.live_models(), 1);
}

TEST(ModelRecords, TheOldestUnavailableVersionsAreForgottenInTheEnd) {
  test::FakeEventBus events;
  test::RecordingLog log;
  ModelRecords records(events, log);
  for (const char* model : {"ready", "again"}) {
    records.begin_load(model, 1);
    records.end(model, 1, "once it failed");
  }
  records.begin_load("ready", 1);
  records.set_state("ready", 1, VersionState::kReady, "");
  for (int64_t version = 1; version <= static_cast<int64_t>(kUnavailableMax); ++version) {
    const std::string model = cat("m", version % 7);
    records.begin_load(model, version);
    records.end(model, version, "unloaded");
  }
  records.end("again", 1, "twice");
  records.trim();
  size_t versions = 0;
  for (const auto& [model, record] : records.all()) versions += record.versions.size();
  EXPECT_EQ(versions, kUnavailableMax + 1);
  EXPECT_NE(records.find("ready"), nullptr) << "what serves stays";
  EXPECT_EQ(records.find("again")->versions.at(1).reason, "twice");
  EXPECT_FALSE(records.find("m1")->versions.contains(1)) << "the oldest went";
  EXPECT_EQ(events.retained<ModelStateChanged>().size(), versions);
}

// --- unloading ---

TEST_F(OverridesTest, MembersGoWithTheEnsembleIfNobodyElseWantsThem) {
  for (const char* model : {"own", "shared", "only"}) bench_.put(model);
  auto ensemble_of = [](const std::vector<std::string>& members) {
    std::string text = "ensemble_scheduling {";
    for (const std::string& member : members) text += cat(" step { model_name: \"", member, "\" }");
    return text + " }";
  };
  bench_.put("low", ensemble_of({"only"}));
  bench_.put("top", ensemble_of({"own", "shared", "low"}));
  bench_.put("other", ensemble_of({"shared"}));
  EXPECT_TRUE(bench_.load_one("own").ok());
  ASSERT_TRUE(bench_.load_one("top").ok());
  ASSERT_TRUE(bench_.load_one("other").ok());
  bench_.unload_with_members("top");
  EXPECT_THAT(bench_.index(true), ElementsAre("other/1 READY", "own/1 READY", "shared/1 READY"));

  ASSERT_TRUE(bench_.load_one("top").ok());
  bench_.unload({"top"});
  EXPECT_THAT(bench_.index(true),
              ElementsAre("low/1 READY", "only/1 READY", "other/1 READY", "own/1 READY", "shared/1 READY"))
      << "without the flag the members stay";
  bench_.unload_with_members("shared");
  EXPECT_THAT(bench_.index(true), ElementsAre("low/1 READY", "only/1 READY", "own/1 READY"))
      << "an ensemble goes with its member in any case";
  bench_.unload_with_members("ghost");
}

TEST_F(OverridesTest, AnEnsembleKeepsItsConfigurationWhileAMemberIsAway) {
  bench_.put("top", "no config");
  bench_.repository.touch("top", "1");
  ASSERT_TRUE(
      bench_.load_config("top", R"(max_batch_size: 8 ensemble_scheduling { step { model_name: "m" } })")
          .status.ok());
  bench_.unload({"m"});
  EXPECT_THAT(bench_.index(true), ElementsAre());
  ASSERT_TRUE(bench_.load_one("m").ok());
  EXPECT_THAT(bench_.index(true), ElementsAre("m/1 READY", "top/1 READY"));
}

}  // namespace
}  // namespace atl::models
