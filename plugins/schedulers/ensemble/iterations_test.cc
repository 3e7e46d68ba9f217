// Ensembles with decoupled members.
#include <gmock/gmock.h>

#include "schedulers/ensemble/testing/ensemble_bench.h"

namespace atl::ensemble {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;

constexpr char kDecoupled[] = "model_transaction_policy { decoupled: true }";

/// A member that answers with these values, one response each. \param final_alone  the final flag comes after them
void answer_each(Request& request, const std::vector<int64_t>& values, bool final_alone) {
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_last = i + 1 == values.size();
    send_values(request, "OUT", {values[i]}, is_last && !final_alone ? uint32_t{kFinal} : 0);
  }
  if (final_alone || values.empty()) request.sink->send(nullptr, kFinal);
  (void)request.release().ok();
}

class IterationsTest : public ::testing::TestWithParam<bool> {
 protected:
  /// "d" answers with its value, that of its value and one, and so on; "add" adds 100.
  void add_members() {
    bench_.add_simple("d", kDecoupled).respond = [this](Request& request) {
      std::vector<int64_t> values;
      const int64_t first = input_values(request, "IN").at(0);
      for (int64_t i = 0; i < count_; ++i) values.push_back(first + i);
      answer_each(request, values, GetParam());
    };
    bench_.add_simple("add").respond = [this](Request& request) {
      held_.push_back(&request);
      if (!hold_) answer_held(0);
    };
  }
  void answer_held(size_t i) {
    Request* request = held_[i];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    add_number(*request, 100);
  }
  /// The values of "Y" of all responses, and that the last one alone is final.
  std::vector<int64_t> answers(TestRequest& request) {
    EXPECT_TRUE(request.done());
    std::vector<int64_t> values;
    const auto responses = request.responses();
    for (size_t i = 0; i < responses.size(); ++i) {
      EXPECT_EQ(responses[i].code, Code::kOk) << responses[i].message;
      EXPECT_EQ(responses[i].final(), i + 1 == responses.size());
      if (!responses[i].empty) values.push_back(bench_.values_of(responses[i], "Y").at(0));
    }
    return values;
  }
  void create(const std::string& config) {
    const Status status = bench_.create(config);
    ASSERT_TRUE(status.ok()) << status.text();
  }

  EnsembleBench bench_;
  int64_t count_ = 3;
  bool hold_ = false;
  std::vector<Request*> held_;
};

INSTANTIATE_TEST_SUITE_P(FinalFlag, IterationsTest, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "Alone" : "WithTheLastResponse"; });

TEST_P(IterationsTest, EachResponseOfTheLastStepIsOneOfTheEnsembles) {
  add_members();
  create(ensemble_of(step("add", "X", "t") + step("d", "t", "Y")));
  EXPECT_THAT(answers(bench_.enqueue("X", {1})), ElementsAre(101, 102, 103));
}

TEST_P(IterationsTest, WhatFollowsRunsForEachResponse) {
  add_members();
  create(ensemble_of(step("d", "X", "t") + step("add", "t", "Y")));
  EXPECT_THAT(answers(bench_.enqueue("X", {1})), ElementsAre(101, 102, 103));
  EXPECT_THAT(answers(bench_.enqueue("X", {5})), ElementsAre(105, 106, 107));
}

TEST_P(IterationsTest, ResponsesKeepTheirOrder) {
  add_members();
  create(ensemble_of(step("d", "X", "t") + step("add", "t", "Y")));
  hold_ = true;
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_EQ(held_.size(), 3u);
  answer_held(2);
  answer_held(1);
  EXPECT_TRUE(request.responses().empty()) << "the first one is not there";
  answer_held(0);
  EXPECT_THAT(answers(request), ElementsAre(101, 102, 103));
}

TEST_P(IterationsTest, BranchesOfBranchesAreRunToo) {
  add_members();
  create(ensemble_of(step("d", "X", "a") + step("d", "a", "Y")));
  count_ = 2;
  EXPECT_THAT(answers(bench_.enqueue("X", {10})), ElementsAre(10, 11, 11, 12));
}

TEST_P(IterationsTest, NoResponsesAreNoneOfTheEnsemble) {
  add_members();
  create(ensemble_of(step("d", "X", "t") + step("add", "t", "Y")));
  count_ = 0;
  TestRequest& request = bench_.enqueue("X", {1});
  EXPECT_THAT(answers(request), ElementsAre());
  ASSERT_EQ(request.responses().size(), 1u);
  EXPECT_TRUE(request.response().empty);
}

TEST_P(IterationsTest, AFailureEndsTheOthers) {
  add_members();
  create(ensemble_of(step("d", "X", "t") + step("add", "t", "Y")));
  hold_ = true;
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_EQ(held_.size(), 3u);
  answer_held(0);
  fail_request(*held_[0], internal_error("no"));
  EXPECT_FALSE(request.done()) << "one is executed yet";
  EXPECT_TRUE(held_[1]->cancelled());
  add_number(*held_[1], 0);
  ASSERT_TRUE(request.done());
  const auto responses = request.responses();
  ASSERT_EQ(responses.size(), 2u);
  EXPECT_EQ(bench_.values_of(responses[0], "Y").at(0), 101);
  EXPECT_EQ(responses[1].message, "in ensemble 'e', no (step 1, model 'add' version 1)");
}

}  // namespace
}  // namespace atl::ensemble
