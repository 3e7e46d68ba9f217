#include "models/catalog/serving/chained_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "atoll/testing/fake_admission.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;

/// An instance that two services rule over, and what it was told.
class ChainedAdmissionTest : public ::testing::Test, protected AdmissionListener {
 protected:
  ChainedAdmissionTest() {
    chained = std::make_unique<ChainedAdmission>(
        first.add_instance({}).value(), second.add_instance({}).value(), ExecutionAdmission::kShortagesMinor);
  }
  ~ChainedAdmissionTest() override {
    chained.reset();
    EXPECT_THAT(first.problems(), ElementsAre());
    EXPECT_THAT(second.problems(), ElementsAre());
  }
  void admitted(void* context) noexcept override {
    EXPECT_EQ(context, this);
    ++told;
  }
  bool ask(bool insists = false) { return chained->ask(*this, this, insists); }

  test::FakeAdmission first, second;
  std::unique_ptr<ChainedAdmission> chained;
  int told = 0;
};

TEST_F(ChainedAdmissionTest, BothHaveToAdmit) {
  EXPECT_TRUE(ask());
  chained->end(true);
  first.close(0);
  second.close(0);
  EXPECT_FALSE(ask());
  EXPECT_EQ(second.counts().asked, 1U) << "the second one is not asked before the first has admitted";
  first.open(0);
  EXPECT_EQ(told, 0);
  second.open(0);
  EXPECT_EQ(told, 1);
  chained->end(true);
  EXPECT_EQ(first.counts().executed, 2U);
  EXPECT_EQ(second.counts().executed, 2U);
}

TEST_F(ChainedAdmissionTest, TheFirstOneTellsIfTheSecondHasNothingAgainstIt) {
  first.close(0);
  EXPECT_FALSE(ask());
  first.open(0);
  EXPECT_EQ(told, 1);
  chained->end(false);
  EXPECT_EQ(first.counts().unused, 1U);
  EXPECT_EQ(second.counts().unused, 1U);
}

TEST_F(ChainedAdmissionTest, WithdrawingGivesBackWhatTheFirstOneGave) {
  first.close(0);
  EXPECT_FALSE(ask());
  EXPECT_TRUE(chained->withdraw()) << "waits for the first";
  EXPECT_FALSE(chained->withdraw());
  first.open(0);
  second.close(0);
  EXPECT_FALSE(ask());
  EXPECT_TRUE(chained->withdraw()) << "waits for the second";
  EXPECT_EQ(first.counts().unused, 1U);
  second.open(0);
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(ask());
  EXPECT_FALSE(chained->withdraw()) << "is admitted";
  chained->end(true);
}

TEST_F(ChainedAdmissionTest, AskingAgainAsksBoth) {
  ASSERT_TRUE(ask());
  second.close(0);
  EXPECT_FALSE(chained->ask_again(*this, this, false));
  second.open(0);
  EXPECT_EQ(told, 1);
  first.close(0);
  EXPECT_FALSE(chained->ask_again(*this, this, false));
  first.open(0);
  EXPECT_EQ(told, 2);
  chained->end(true);
  EXPECT_EQ(chained->turn(), 6U) << "three of each";
}

TEST_F(ChainedAdmissionTest, InsistingPassesBoth) {
  first.close(0);
  second.close(0);
  EXPECT_TRUE(ask(true));
  chained->end(true);
  EXPECT_FALSE(ask());
  chained->insist();
  EXPECT_EQ(told, 1);
  chained->end(true);
  first.open(0);
  EXPECT_FALSE(ask());
  chained->insist();
  EXPECT_EQ(told, 2);
  chained->end(true);
}

TEST_F(ChainedAdmissionTest, WhatItWaitsForIsSaid) {
  EXPECT_TRUE(chained->shortages().empty());
  second.close(0);
  EXPECT_FALSE(ask());
  ASSERT_EQ(chained->shortages().size(), 1U);
  EXPECT_EQ(chained->shortages()[0].resource, "door");
  second.open(0);
  EXPECT_TRUE(chained->shortages().empty());
  chained->end(true);
  first.close(0);
  EXPECT_FALSE(ask());
  EXPECT_EQ(chained->shortages().size(), 1U);
  first.open(0);
  chained->end(true);

  // Of one that does not know.
  test::FakeAdmission closed;
  closed.begin_closed();
  ChainedAdmission older(nullptr, closed.add_instance({}).value(), ExecutionAdmission::kQueueMinor);
  EXPECT_FALSE(older.ask(*this, this, false));
  EXPECT_TRUE(older.shortages().empty());
  EXPECT_TRUE(older.withdraw());
}

/// Of a service that follows queues.
struct Follower final : AdmittedInstance {
  explicit Follower(std::vector<std::string>& its_calls) : calls(its_calls) {}
  bool holds_resources() const noexcept override { return true; }
  bool ask(AdmissionListener&, void*, bool) noexcept override { return true; }
  bool ask_again(AdmissionListener&, void*, bool) noexcept override { return true; }
  void end(bool) noexcept override {}
  bool withdraw() noexcept override { return false; }
  void insist() noexcept override {}
  uint64_t turn() const noexcept override { return 0; }
  bool follows_queue() const noexcept override { return true; }
  void arrived(const WaitingRequest& request) noexcept override {
    calls.push_back(cat("arrived ", request.weight));
  }
  void left(uint64_t weight) noexcept override { calls.push_back(cat("left ", weight)); }
  ExecutionGrant grant() noexcept override { return {3, 7}; }
  void begins(uint32_t size, uint64_t weight) noexcept override {
    calls.push_back(cat("begins ", size, ' ', weight));
  }
  std::vector<std::string>& calls;
};

TEST(ChainedAdmission, WhatWaitsIsToldToWhoFollowsQueues) {
  test::FakeAdmission limiter;
  std::vector<std::string> calls;
  ChainedAdmission chained(limiter.add_instance({}).value(), std::make_unique<Follower>(calls),
                           ExecutionAdmission::kQueueMinor);
  EXPECT_TRUE(chained.follows_queue());
  EXPECT_TRUE(chained.holds_resources());
  chained.arrived({1, 0, 5});
  chained.left(4);
  chained.begins(2, 1);
  EXPECT_THAT(calls, ElementsAre("arrived 5", "left 4", "begins 2 1"));
  EXPECT_EQ(chained.grant().batch_size_max, 3U);
  EXPECT_EQ(chained.grant().ends_ns, 7);

  calls.clear();
  ChainedAdmission older(nullptr, std::make_unique<Follower>(calls), 0);
  EXPECT_FALSE(older.follows_queue()) << "a service of minor 0 has no such functions";
  older.arrived({1, 0, 5});
  older.begins(2, 1);
  EXPECT_THAT(calls, ElementsAre());
  EXPECT_EQ(older.grant().batch_size_max, UINT32_MAX);
}

}  // namespace
}  // namespace atl::models
