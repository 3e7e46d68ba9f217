#include "routing/weighted/weighted_router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "model_config.pb.h"
#include "routing/weighted/sequence_models.h"
#include "routing/weighted/testing/test_support.h"

namespace atl::routing {
namespace {

/// Answers by version of many requests that name none.
std::map<int64_t, int> shares(WeightedRouter& router, int requests) {
  std::map<int64_t, int> counts;
  for (int i = 0; i < requests; ++i) {
    Result<ModelRef> model = router.route("m", ModelCatalog::kLatest);
    EXPECT_TRUE(model.ok()) << model.status().message();
    if (model.ok()) ++counts[model.value()->info().version];
  }
  return counts;
}

class WeightedRouterTest : public ::testing::Test, protected FourVersions {
 protected:
  WeightedRouter& router(const RouteOptions& options, uint64_t seed = 7) {
    Result<RouteTable> table = read(options);
    EXPECT_TRUE(table.ok()) << table.status().message();
    router_.emplace(std::move(table).value(), seed);
    router_->use(catalog, nullptr);
    return *router_;
  }
  int64_t answers(WeightedRouter& router, int64_t version) {
    Result<ModelRef> model = router.route("m", version);
    return model.ok() ? model.value()->info().version : -1;
  }
  void expect_share(int count, int requests, double share) {
    // Five standard deviations: a right router fails this once in millions of seeds, and the seed is fixed.
    const double tolerance = 5 * std::sqrt(requests * share * (1 - share));
    EXPECT_NEAR(count, requests * share, tolerance);
  }

  std::optional<WeightedRouter> router_;
};

TEST_F(WeightedRouterTest, WithoutWeightsTheHighestVersionAnswers) {
  WeightedRouter& router = this->router({{{"m.stable", "2"}}, {}, {}});
  EXPECT_EQ(answers(router, ModelCatalog::kLatest), 4);
  EXPECT_EQ(answers(router, 1), 1);
}

TEST_F(WeightedRouterTest, LabelsAreOfOneModel) {
  WeightedRouter& router = this->router({{{"m.stable", "2"}, {"n.canary", "9"}}, {}, {}});
  EXPECT_EQ(router.labelled("m", "stable"), 2);
  EXPECT_EQ(router.labelled("n", "canary"), 9);
  EXPECT_EQ(router.labelled("m", "canary"), std::nullopt);
  EXPECT_EQ(router.labelled("o", "stable"), std::nullopt);
  EXPECT_EQ(router.labelled("m", ""), std::nullopt);
}

TEST_F(WeightedRouterTest, WeightsShareOutRequestsThatNameNoVersion) {
  WeightedRouter& router = this->router(
      {{{"m.stable", "2"}, {"m.canary", "3"}}, {{"m.stable", "90"}, {"m.canary", "9"}, {"m.1", "1"}}, {}});
  constexpr int kRequests = 100'000;
  std::map<int64_t, int> counts = shares(router, kRequests);
  EXPECT_EQ(counts.size(), 3U);
  expect_share(counts[2], kRequests, 0.90);
  expect_share(counts[3], kRequests, 0.09);
  expect_share(counts[1], kRequests, 0.01);
  EXPECT_EQ(answers(router, 4), 4);
}

TEST_F(WeightedRouterTest, TheSameSeedChoosesTheSame) {
  const RouteOptions options{{}, {{"m.1", "1"}, {"m.2", "1"}, {"m.3", "1"}}, {}};
  std::string first, again, other;
  for (auto [text, seed] : {std::pair{&first, 7}, std::pair{&again, 7}, std::pair{&other, 8}}) {
    WeightedRouter& router = this->router(options, static_cast<uint64_t>(seed));
    for (int i = 0; i < 100; ++i) *text += std::to_string(answers(router, ModelCatalog::kLatest));
  }
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST_F(WeightedRouterTest, AVersionThatIsNotThereLeavesItsPartToTheOthers) {
  WeightedRouter& router = this->router({{}, {{"m.1", "1"}, {"m.2", "3"}, {"m.77", "96"}}, {}});
  constexpr int kRequests = 20'000;
  std::map<int64_t, int> counts = shares(router, kRequests);
  expect_share(counts[1], kRequests, 0.25);
  expect_share(counts[2], kRequests, 0.75);
}

TEST_F(WeightedRouterTest, ItFailsWhenNoneOfThemIsThere) {
  WeightedRouter& router = this->router({{}, {{"m.77", "1"}}, {}});
  Result<ModelRef> model = router.route("m", ModelCatalog::kLatest);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().message(), "Request for unknown model: 'm' version 77 is not found");
  catalog.unload({"m"}, [](std::vector<ModelLoadResult>) {});
  EXPECT_EQ(
      this->router({{}, {{"m.1", "1"}, {"m.2", "1"}}, {}}).route("m", ModelCatalog::kLatest).status().code(),
      Code::kUnavailable);
}

TEST_F(WeightedRouterTest, SequencesStayWithTheHeaviestVersionThatIsThere) {
  inference::ModelConfig config;
  config.set_name("m");
  config.add_input()->set_name("INPUT0");
  config.mutable_sequence_batching();
  for (int64_t version = 1; version <= 3; ++version) {
    ModelInfo info = models[version]->info();
    info.config = config.SerializeAsString();
    catalog.add(std::move(info));
  }
  WeightedRouter& router = this->router({{}, {{"m.1", "10"}, {"m.2", "60"}, {"m.3", "30"}}, {}});
  EXPECT_EQ(shares(router, 200), (std::map<int64_t, int>{{2, 200}}));
  WeightedRouter& without = this->router({{}, {{"m.1", "10"}, {"m.77", "60"}, {"m.3", "30"}}, {}});
  EXPECT_EQ(shares(without, 200), (std::map<int64_t, int>{{3, 200}}));
}

TEST(SequenceModels, AreKnownByTheirConfiguration) {
  ModelInfo info;
  EXPECT_FALSE(serves_sequences(info));
  inference::ModelConfig config;
  config.set_name("m");
  config.mutable_dynamic_batching()->set_max_queue_delay_microseconds(3);
  config.set_backend("identity");
  info.config = config.SerializeAsString();
  EXPECT_FALSE(serves_sequences(info));
  config.mutable_sequence_batching()->mutable_direct();
  info.config = config.SerializeAsString();
  EXPECT_TRUE(serves_sequences(info));
  info.config = "\xff\xff";
  EXPECT_FALSE(serves_sequences(info));
}

}  // namespace
}  // namespace atl::routing
