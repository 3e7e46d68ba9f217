#include "models/catalog/states/ensembles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;

/// An ensemble of the named models.
std::string ensemble_of(const std::vector<std::string>& members, int64_t version = -1) {
  std::string text = "ensemble_scheduling {";
  for (const std::string& member : members) {
    text += cat(" step { model_name: \"", member, "\" model_version: ", version, " }");
  }
  return text + " }";
}

class EnsemblesTest : public ::testing::Test {
 protected:
  EnsemblesTest() { bench_.host.registry().publish<SchedulerProvider>("ensemble", scheduler_); }
  ~EnsemblesTest() override { bench_.end(); }
  FakeEnsembleProvider scheduler_;
  CatalogBench bench_;
};

TEST(CheckCycle, FollowsWhoWaitsForWhom) {
  WaitGraph waits = {{"b", {"c"}}, {"c", {"d", "a"}}};
  EXPECT_EQ(check_cycle(waits, "a", "b").text(),
            "a -> b -> c -> a: circular dependency between ensembles: a -> ... -> c -> a");
  EXPECT_EQ(check_cycle(waits, "a", "a").text(), "circular dependency between ensembles: a -> ... -> a -> a");
  EXPECT_TRUE(check_cycle(waits, "x", "b").ok());
  waits = {{"a", {"c"}}, {"b", {"a"}}};
  EXPECT_EQ(check_cycle(waits, "c", "b").message(),
            "circular dependency between ensembles: a -> ... -> b -> a");
}

TEST_F(EnsemblesTest, LoadsItsMembersFirst) {
  bench_.put("top", ensemble_of({"middle", "leaf"}));
  bench_.put("middle", ensemble_of({"leaf", "leaf"}));
  bench_.put("leaf");
  EXPECT_EQ(bench_.load_one("top").text(), "OK");
  EXPECT_THAT(bench_.index(), ElementsAre("leaf/1 READY", "middle/1 READY", "top/1 READY"));
  EXPECT_EQ(scheduler_.live, 2);
  EXPECT_EQ(bench_.backend.loads().size(), 1U);
  EXPECT_EQ(bench_.plugin->holding(), "") << "what an ensemble holds of its members is no request";
}

TEST_F(EnsemblesTest, WaitsForMembersOfTheSameCall) {
  bench_.put("a_top", ensemble_of({"leaf"}));
  bench_.put("leaf");
  for (const ModelLoadResult& result : bench_.load({"a_top", "leaf"}))
    EXPECT_TRUE(result.status.ok()) << result.model;
  EXPECT_EQ(bench_.backend.loads().size(), 1U);
  EXPECT_EQ(scheduler_.creates, 1U);
}

TEST_F(EnsemblesTest, RefusesWhatItCanNotBeMadeOf) {
  bench_.put("top", ensemble_of({"ghost", "spirit", "leaf"}));
  bench_.put("leaf");
  EXPECT_EQ(bench_.load_one("top").message(),
            "ensemble top contains models that are not available or ambiguous: ghost, spirit");
  bench_.put("top", ensemble_of({"bad"}));
  bench_.put("bad", "no config");
  EXPECT_EQ(bench_.load_one("top").message(),
            "ensemble 'top' depends on 'bad' which is not valid. Model 'bad' failed with error: "
            "/fake/bad/config.pbtxt:1:1: field 'config': cannot be parsed");
  bench_.put("bad");
  bench_.backend.behavior.fail_loads = 1;
  EXPECT_EQ(
      bench_.load_one("top").message(),
      "ensemble 'top' depends on 'bad' which has no loaded version. Model 'bad' loading failed with error: "
      "version 1 is at UNAVAILABLE state: Internal: the fake backend was told to fail the load of 'bad';");
  bench_.put("top", ensemble_of({"leaf"}, 4));
  EXPECT_EQ(bench_.load_one("top").message(),
            "ensemble 'top' depends on 'leaf' whose required version 4 is not loaded.");
}

TEST_F(EnsemblesTest, ADecoupledMemberAllowsNoResponseCache) {
  bench_.put("leaf", cat(kSimpleConfig, " model_transaction_policy { decoupled: true }"));
  bench_.put("top", "response_cache { enable: true } " + ensemble_of({"leaf"}));
  EXPECT_EQ(
      bench_.load_one("top").message(),
      "version 1 is at UNAVAILABLE state: Invalid argument: Response Cache does not currently support model top "
      "with 'decoupled' transaction policy. Please disable the response cache.;");
  bench_.put("leaf");
  EXPECT_TRUE(bench_.load_one("leaf").ok());
  EXPECT_TRUE(bench_.load_one("top").ok());
}

TEST_F(EnsemblesTest, RefusesCycles) {
  bench_.put("a", ensemble_of({"b"}));
  bench_.put("b", ensemble_of({"c"}));
  bench_.put("c", ensemble_of({"a"}));
  auto results = bench_.load({"a", "b", "c"});
  ASSERT_EQ(results.size(), 3U);
  uint32_t cycles = 0;
  for (const ModelLoadResult& result : results) {
    EXPECT_FALSE(result.status.ok());
    cycles += result.status.message().starts_with("circular dependency between ensembles: ") ? 1 : 0;
  }
  EXPECT_EQ(cycles, 1U);
  EXPECT_THAT(bench_.load_one("a").message(),
              ::testing::HasSubstr("circular dependency between ensembles: "));
  bench_.put("self", ensemble_of({"self"}));
  EXPECT_EQ(bench_.load_one("self").message(),
            "circular dependency between ensembles: self -> ... -> self -> self");
}

TEST_F(EnsemblesTest, GoesAndComesWithItsMembers) {
  bench_.put("top", ensemble_of({"leaf"}));
  bench_.put("leaf");
  ASSERT_TRUE(bench_.load_one("top").ok());
  bench_.unload({"leaf"});
  EXPECT_THAT(bench_.index(),
              ElementsAre("leaf/1 UNAVAILABLE unloaded",
                          "top/1 UNAVAILABLE ensemble 'top' depends on 'leaf' which has no loaded version."));
  EXPECT_TRUE(bench_.plugin->core().lifecycle().read(
      [](const ModelRecords& records) { return records.unready().models == 0; }));
  ASSERT_TRUE(bench_.load_one("leaf").ok());
  EXPECT_THAT(bench_.index(), ElementsAre("leaf/1 READY", "top/1 READY"));
  ASSERT_TRUE(bench_.load_one("leaf").ok());  // a reload rebuilds what is above
  EXPECT_EQ(scheduler_.creates, 3U);
  bench_.unload({"top"});
  ASSERT_TRUE(bench_.load_one("leaf").ok());  // unloaded by name, it stays away
  EXPECT_THAT(bench_.index(true), ElementsAre("leaf/1 READY"));
}

TEST_F(EnsemblesTest, TheSchedulerIsGivenTheMemberOfEachStep) {
  bench_.put("a");
  bench_.put("b", kSimpleConfig, {1, 2});
  bench_.put("e", ensemble_of({"a", "b", "a"}));
  ASSERT_EQ(bench_.load_one("e").text(), "OK");
  ASSERT_EQ(scheduler_.members.size(), 3U);
  EXPECT_EQ(scheduler_.members[0], scheduler_.members[2]);
  EXPECT_EQ(scheduler_.members[0]->info().name, "a");
  EXPECT_EQ(scheduler_.members[1]->info().version, 2);

  auto held = bench_.catalog().acquire("e", 1);
  bench_.unload({"a"});
  EXPECT_EQ(scheduler_.members[0]->info().name, "a") << "served to the end, by whoever holds the ensemble";
  EXPECT_EQ(bench_.backend.live_models(), 3);
  held->reset();
  bench_.host.run_ready();
  EXPECT_EQ(bench_.backend.live_models(), 2) << "those of b";
}

}  // namespace
}  // namespace atl::models
