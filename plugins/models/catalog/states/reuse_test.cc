// Loads of what is loaded already: only what changed is built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ServiceChanged::Kind;

class ReuseTest : public ::testing::Test {
 protected:
  ReuseTest() {
    bench_.host.registry().publish<SchedulerProvider>("ensemble", ensembles_);
    put("m", {1, 2});
  }
  ~ReuseTest() override { bench_.end(); }
  /// A model whose changes are told.
  void put(const std::string& model, const std::vector<int64_t>& versions,
           const std::string& config = std::string(kSimpleConfig)) {
    bench_.put(model, config, versions);
    for (int64_t version : versions) {
      if (!stamped_.insert(cat(model, "/", version)).second) continue;
      bench_.repository.touch(model, cat(version));
    }
    bench_.repository.touch(model, "config.pbtxt");
  }
  /// Versions that the load had built, as "m/1".
  std::vector<std::string> load(const std::string& model, bool refresh_members = false) {
    size_t before = bench_.backend.loads().size();
    ModelLoadRequest request;
    request.model = model;
    request.refresh_members = refresh_members;
    Status status = bench_.load_model(std::move(request)).status;
    EXPECT_TRUE(status.ok()) << status.text();
    std::vector<std::string> built;
    for (const ModelSource& source : bench_.backend.loads())
      built.push_back(cat(source.name, "/", source.version));
    built.erase(built.begin(), built.begin() + static_cast<std::ptrdiff_t>(before));
    return built;
  }

  std::set<std::string> stamped_;
  FakeEnsembleProvider ensembles_;
  CatalogBench bench_;
};

TEST_F(ReuseTest, WhatDidNotChangeIsNotLoadedAgain) {
  EXPECT_THAT(load("m"), ElementsAre("m/1", "m/2"));
  auto before = bench_.catalog().acquire("m", 2);
  EXPECT_THAT(load("m"), IsEmpty());
  auto after = bench_.catalog().acquire("m", 2);
  EXPECT_EQ(before->get(), after->get());
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 READY", "m/2 READY"));
}

TEST_F(ReuseTest, OnlyTheVersionThatChangedIs) {
  load("m");
  bench_.repository.touch("m", "2");
  EXPECT_THAT(load("m"), ElementsAre("m/2"));
  put("m", {1, 2, 3});
  EXPECT_THAT(load("m"), ElementsAre("m/3"));
  put("m", {2, 3});
  bench_.repository.set_stamps("m", {});
  bench_.repository.touch("m", "3");  // version 2 as well: nothing is known of it any more
  EXPECT_THAT(load("m"), ElementsAre("m/2", "m/3"));
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 UNAVAILABLE unloaded", "m/2 READY", "m/3 READY"));
  EXPECT_EQ(bench_.backend.live_models(), 2);
}

TEST_F(ReuseTest, TheRepositorysFilesAreHeldAsLongAsAVersionIsMadeOfThem) {
  load("m");
  EXPECT_EQ(bench_.repository.held("m"), 1);
  bench_.repository.touch("m", "2");
  EXPECT_THAT(load("m"), ElementsAre("m/2"));
  EXPECT_EQ(bench_.repository.held("m"), 2) << "version 1 is made of what was there before";
  bench_.repository.touch("m", "1");
  EXPECT_THAT(load("m"), ElementsAre("m/1"));
  EXPECT_EQ(bench_.repository.held("m"), 2) << "of what was there at first no version is left";
}

TEST_F(ReuseTest, ARemovedVersionLeavesTheOthersAlone) {
  load("m");
  auto second = bench_.catalog().acquire("m", 2);
  put("m", {2});
  EXPECT_THAT(load("m"), IsEmpty());
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 UNAVAILABLE unloaded", "m/2 READY"));
  EXPECT_EQ(bench_.catalog().acquire("m", ModelCatalog::kLatest)->get(), second->get());
}

TEST_F(ReuseTest, WhatAllVersionsShareReloadsThemAll) {
  load("m");
  bench_.repository.touch("m", "labels.txt");
  EXPECT_THAT(load("m"), ElementsAre("m/1", "m/2"));
  put("m", {1, 2}, R"(backend: "fake" max_batch_size: 2)");
  EXPECT_THAT(load("m"), ElementsAre("m/1", "m/2"));
}

TEST_F(ReuseTest, AnUnloadedModelIsLoadedAgain) {
  load("m");
  bench_.unload({"m"});
  EXPECT_THAT(load("m"), ElementsAre("m/1", "m/2"));
}

TEST_F(ReuseTest, AVersionThatCanNotServeIsBuiltAgain) {
  load("m");
  bench_.backend.behavior.ready = false;
  EXPECT_THAT(load("m"), ElementsAre("m/1", "m/2"));
}

TEST_F(ReuseTest, AFailedLoadIsTriedAgainAlthoughNothingChanged) {
  load("m");
  bench_.repository.touch("m", "2");
  bench_.backend.behavior.fail_loads = 1;
  EXPECT_FALSE(bench_.load_one("m").ok());
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 READY", HasSubstr("m/2 READY serves what was loaded before")));
  EXPECT_THAT(load("m"), ElementsAre("m/2"));
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 READY", "m/2 READY"));
}

TEST_F(ReuseTest, AFailureThatRepeatsIsLoggedOnce) {
  for (int i = 0; i < 3; ++i) {
    bench_.backend.behavior.fail_loads = 2;
    EXPECT_FALSE(bench_.load_one("m").ok());
  }
  EXPECT_EQ(bench_.host.log().count(LogLevel::kError, "failed to load 'm' version 1"), 1u);
  bench_.put("m", "no config");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(bench_.load_one("m").ok());
  EXPECT_EQ(bench_.host.log().count(LogLevel::kError, "failed to load 'm': "), 1u);
  put("m", {1, 2});
  load("m");
  bench_.repository.touch("m", "labels.txt");
  bench_.backend.behavior.fail_loads = 2;
  EXPECT_FALSE(bench_.load_one("m").ok());
  EXPECT_EQ(bench_.host.log().count(LogLevel::kError, "failed to load 'm' version 1"), 2u)
      << "after a success it is news";
}

TEST_F(ReuseTest, AReplacedBackendRebuildsWhatDidNotChange) {
  load("m");
  bench_.publish_change(Backend::kInterfaceId, "fake", Kind::kReplaced);
  EXPECT_EQ(bench_.backend.loads().size(), 4u);
}

TEST_F(ReuseTest, EnsemblesFollowMembersThatChanged) {
  put("top", {1}, R"(ensemble_scheduling { step { model_name: "m" model_version: -1 } })");
  EXPECT_THAT(load("top"), ElementsAre("m/1", "m/2"));
  EXPECT_EQ(ensembles_.creates, 1u);
  EXPECT_THAT(load("top", true), IsEmpty());
  EXPECT_EQ(ensembles_.creates, 1u);
  bench_.repository.touch("m", "2");
  EXPECT_THAT(load("top"), IsEmpty()) << "members that are READY are left alone";
  EXPECT_THAT(load("top", true), ElementsAre("m/2"));
  EXPECT_EQ(ensembles_.creates, 2u);
  bench_.repository.touch("m", "1");
  EXPECT_THAT(load("m"), ElementsAre("m/1"));
  EXPECT_EQ(ensembles_.creates, 3u);
}

}  // namespace
}  // namespace atl::models
