#include "control/poll/model_watch.h"

#include <gtest/gtest.h>

#include "atoll/core/clock.h"

namespace atl::control {
namespace {

constexpr bool kPoll = true;      // an ordinary look
constexpr bool kBetween = false;  // one for the sake of what is unsettled
using Names = std::vector<std::string>;

class ModelWatchTest : public ::testing::Test {
 protected:
  void put(const std::string& model, uint64_t value) {
    sights_[model] = {{{"1", RepositoryStamp::Part::kVersion, 1, value}}, {}};
  }
  void break_it(const std::string& model, const std::string& problem) { sights_[model] = {{}, problem}; }
  /// "load a, unload b, wait for c, disturbed d", after so many seconds.
  std::string decide(int64_t after_s, bool retry = kPoll, bool loads_go_well = true) {
    now_ns_ += after_s * kNsPerSecond;
    Decision decision = watch_.decide(sights_, now_ns_, retry);
    std::string text;
    auto add = [&](const char* what, const auto& names) {
      for (const std::string& name : names) text += (text.empty() ? "" : ", ") + std::string(what) + name;
    };
    add("load ", decision.load);
    add("unload ", decision.unload);
    add("wait for ", decision.unsettled);
    add("disturbed ", decision.disturbed);
    for (const std::string& model : decision.load) watch_.loaded(model, loads_go_well);
    return text;
  }

  Sights sights_;
  int64_t now_ns_ = kNsPerSecond;
  ModelWatch watch_{10 * kNsPerSecond};
};

TEST_F(ModelWatchTest, WhatIsThereAtFirstIsLoadedAtOnceAndOnce) {
  put("a", 1);
  put("b", 1);
  EXPECT_EQ(decide(0), "load a, load b");
  EXPECT_EQ(decide(15), "");
  EXPECT_EQ(decide(15), "");
}

TEST_F(ModelWatchTest, AChangeIsFollowedWhenItHasSettled) {
  put("a", 1);
  decide(0);
  put("a", 2);
  put("new", 1);
  EXPECT_EQ(decide(15), "wait for a, wait for new");
  EXPECT_EQ(decide(9, kBetween), "wait for a, wait for new");
  EXPECT_EQ(decide(1, kBetween), "load a, load new");
  EXPECT_EQ(decide(15), "");
}

TEST_F(ModelWatchTest, WhatKeepsChangingIsNotLoaded) {
  put("a", 1);
  decide(0);
  for (uint64_t value = 2; value < 50; ++value) {
    put("new", value);
    EXPECT_EQ(decide(9, kBetween), "wait for new");
  }
  EXPECT_EQ(decide(10, kBetween), "load new");
}

TEST_F(ModelWatchTest, WhatGoesIsUnloadedWhenItStaysAway) {
  put("a", 1);
  decide(0);
  sights_.clear();
  EXPECT_EQ(decide(15), "wait for a");
  EXPECT_EQ(decide(10, kBetween), "unload a");
  EXPECT_EQ(decide(15), "");
  put("a", 1);
  EXPECT_EQ(decide(15), "wait for a");
  EXPECT_EQ(decide(15), "load a");
}

TEST_F(ModelWatchTest, WhatIsExchangedStays) {
  put("a", 1);
  decide(0);
  sights_.clear();
  EXPECT_EQ(decide(15), "wait for a");
  put("a", 2);
  EXPECT_EQ(decide(5, kBetween), "wait for a");
  EXPECT_EQ(decide(10, kBetween), "load a");
  sights_.clear();
  EXPECT_EQ(decide(15), "wait for a");
  put("a", 2);
  EXPECT_EQ(decide(5, kBetween), "") << "as it was";
}

TEST_F(ModelWatchTest, WhatCameAndWentMeanwhileIsForgotten) {
  decide(0);
  put("a", 1);
  EXPECT_EQ(decide(15), "wait for a");
  sights_.clear();
  EXPECT_EQ(decide(5, kBetween), "");
}

TEST_F(ModelWatchTest, FailuresAreTriedAgainAtEveryPoll) {
  put("a", 1);
  EXPECT_EQ(decide(0, kPoll, false), "load a");
  EXPECT_EQ(decide(10, kBetween, false), "");
  EXPECT_EQ(decide(5, kPoll, false), "load a");
  EXPECT_EQ(decide(15, kPoll, true), "load a");
  EXPECT_EQ(decide(15), "");
  put("a", 2);
  decide(15);
  EXPECT_EQ(decide(10, kBetween, false), "load a") << "a change that fails to load";
  EXPECT_EQ(decide(15, kPoll, false), "load a");
  put("a", 3);
  EXPECT_EQ(decide(15), "wait for a") << "no retry of what changes";
  sights_.clear();
  decide(15);
  EXPECT_EQ(decide(15), "unload a");
}

TEST_F(ModelWatchTest, AProblemLeavesWhatServesAlone) {
  put("a", 1);
  decide(0);
  break_it("a", "a FIFO");
  EXPECT_EQ(decide(15), "disturbed a") << "said once";
  EXPECT_EQ(decide(15), "");
  put("a", 1);
  EXPECT_EQ(decide(15), "");
  break_it("a", "a FIFO");
  EXPECT_EQ(decide(15), "disturbed a");
  put("a", 2);
  EXPECT_EQ(decide(15), "wait for a");
  EXPECT_EQ(decide(15), "load a");
  break_it("a", "a FIFO");
  decide(15);
  sights_.clear();
  decide(15);
  EXPECT_EQ(decide(15), "unload a");
}

TEST_F(ModelWatchTest, AProblemOfWhatDoesNotServeIsTheCatalogsToTell) {
  break_it("a", "twice");
  EXPECT_EQ(decide(0, kPoll, false), "load a");
  EXPECT_EQ(decide(15, kPoll, false), "load a");
  put("a", 1);
  EXPECT_EQ(decide(15), "wait for a");
  EXPECT_EQ(decide(15), "load a");
}

TEST_F(ModelWatchTest, ResultsOfWhatHasGoneAreIgnored) { watch_.loaded("ghost", true); }

}  // namespace
}  // namespace atl::control
