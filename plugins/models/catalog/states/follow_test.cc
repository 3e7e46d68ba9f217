// The catalog goes on with other options, of its own and of whom it depends on: what is loaded stays.
#include <gmock/gmock.h>

#include "atoll/core/options_follower.h"
#include "atoll/models/repository_paths.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;

class FakePaths final : public RepositoryPaths {
 public:
  virtual ~FakePaths() = default;
  Status add(std::string_view, std::span<const NamedDirectory>) noexcept override { return {}; }
  Status remove(std::string_view) noexcept override { return {}; }
  std::vector<std::string> paths() const noexcept override { return now; }
  std::vector<std::string> now = {"/fake"};
};

class FollowTest : public ::testing::Test {
 protected:
  FollowTest() { bench_.host.registry().publish<RepositoryPaths>("repository", paths_, 0, 1); }

  bool follow(const std::function<void(test::FakeOptions&)>& change) {
    change(bench_.host.options());
    if (!bench_.plugin->can_follow(bench_.host.options())) return false;
    bench_.plugin->follow(bench_.host.options());
    notify("catalog");
    return true;
  }
  void notify(std::string_view instance) {
    OptionsFollowed event;
    event.instance = instance;
    bench_.host.events().publish(event, false);
    bench_.host.run_ready();
  }
  /// Every model is there; then it is told that the repositories are these.
  void change_paths(std::vector<std::string> paths) {
    paths_.now = std::move(paths);
    notify("repository");
  }
  uint64_t executed() {
    auto statistics = bench_.catalog().statistics("m", 1);
    return statistics.ok() ? statistics->front().inference_count : 0;
  }
  void infer() {
    auto found = bench_.catalog().acquire("m", 1);
    ASSERT_TRUE(found.ok());
    test::TestRequest request;
    fill_simple(request);
    ASSERT_TRUE(request.infer(*found->get()).ok());
    bench_.host.run_ready();
    ASSERT_TRUE(request.done());
  }

  FakePaths paths_;
  CatalogBench bench_;
};

TEST_F(FollowTest, WhatIsLoadedStaysAndTheNextLoadHasTheNewOptions) {
  bench_.put("m");
  bench_.put("n");
  ASSERT_TRUE(bench_.load_one("m").ok());
  ASSERT_TRUE(follow([](auto& options) { options.set_int("default_max_batch_size", 9); }));
  EXPECT_THAT(bench_.index(true), ElementsAre("m/1 READY"));
  EXPECT_EQ(bench_.backend.loads().size(), 1u);
  ASSERT_TRUE(bench_.load_one("n").ok());
  EXPECT_EQ(bench_.backend.loads().back().settings.at("default-max-batch-size"), "9");
}

TEST_F(FollowTest, WhatHasFailedIsTriedAgain) {
  bench_.put("m");
  bench_.backend.behavior.fail_loads = 1;
  ASSERT_FALSE(bench_.load_one("m").ok());
  ASSERT_TRUE(follow([](auto& options) { options.set_int("load_retry_count", 1); }));
  EXPECT_THAT(bench_.index(true), ElementsAre("m/1 READY"));
}

TEST_F(FollowTest, OtherNamesOfModelsAndMistakesAreNotFollowed) {
  EXPECT_FALSE(follow([](auto& options) { options.set_bool("namespacing", true); }));
  bench_.host.options().set_bool("namespacing", false);
  EXPECT_FALSE(follow([](auto& options) { options.set_map("gpu_load_limit", {{"0", "much"}}); }));
}

TEST_F(FollowTest, StrictReadinessIsFollowed) {
  bench_.put("m");
  bench_.backend.behavior.fail_loads = 100;
  (void)bench_.load_one("m");
  bench_.catalog().set_startup_complete();
  EXPECT_FALSE(bench_.catalog().ready());
  ASSERT_TRUE(follow([](auto& options) { options.set_bool("strict_readiness", false); }));
  EXPECT_TRUE(bench_.catalog().ready());
}

TEST_F(FollowTest, ModelsOfARemovedRepositoryGoAndNoOthers) {
  bench_.put("m");
  bench_.put("n");
  ASSERT_TRUE(bench_.load_one("m").ok());
  ASSERT_TRUE(bench_.load_one("n").ok());
  EXPECT_TRUE(bench_.load_files("brought", {"1/model"}).status.ok());
  const std::string home = bench_.repository.list()->front().repository;
  change_paths({home});
  EXPECT_THAT(bench_.index(true), ElementsAre("brought/1 READY", "m/1 READY", "n/1 READY"));
  // Another repository has n, too.
  bench_.repository.remove("m");
  change_paths({"/other"});
  EXPECT_THAT(bench_.index(true), ElementsAre("brought/1 READY", "n/1 READY"));
  EXPECT_EQ(bench_.host.log().count(LogLevel::kInfo, "model 'm' is unloaded: its repository"), 1u);
}

TEST_F(FollowTest, StatisticsGoOnWhereOnlyAServiceBehindTheModelIsAnotherOne) {
  bench_.put("m");
  bench_.repository.touch("m", "1");  // from here on it tells changes
  ASSERT_TRUE(bench_.load_one("m").ok());
  infer();
  const uint64_t before = executed();
  ASSERT_GT(before, 0u);
  bench_.publish_change(Backend::kInterfaceId, "fake", ServiceChanged::Kind::kReplaced);
  ASSERT_EQ(bench_.backend.loads().size(), 2u);
  EXPECT_EQ(executed(), before);
  infer();
  EXPECT_GT(executed(), before);
}

TEST_F(FollowTest, StatisticsBeginAnewWhereTheModelIsAnotherOne) {
  bench_.put("m");
  ASSERT_TRUE(bench_.load_one("m").ok());
  infer();
  bench_.repository.touch("m", "1");
  ASSERT_TRUE(bench_.load_one("m").ok());
  EXPECT_EQ(executed(), 0u);
}

}  // namespace
}  // namespace atl::models
