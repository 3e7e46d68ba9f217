// What is refused when an ensemble loads, and what of its graph a request needs.
#include "schedulers/ensemble/step_graph.h"

#include <gmock/gmock.h>

#include "schedulers/ensemble/plan.h"
#include "schedulers/ensemble/testing/ensemble_bench.h"

namespace atl::ensemble {
namespace {

using ::testing::ElementsAre;

class GraphTest : public ::testing::Test {
 protected:
  std::string refusal(const std::string& config) {
    const Status status = bench_.create(config);
    EXPECT_TRUE(status.ok() || status.code() == Code::kInvalidArgument);
    return status.ok() ? "accepted" : std::string(status.message());
  }
  /// An ensemble of one step of "m".
  std::string refusal_of_step(const std::string& maps) {
    return refusal(ensemble_of("step { model_name: \"m\" model_version: -1 " + maps + " }"));
  }
  const StepGraph& graph() { return static_cast<EnsembleScheduler&>(*bench_.scheduler).graph(); }
  Plan plan(const std::vector<uint32_t>& outputs) {
    Plan made;
    made.make(graph(), outputs);
    return made;
  }

  EnsembleBench bench_;
};

constexpr char kIn[] = "input_map { key: \"IN\" value: \"X\" } ";
constexpr char kOut[] = "output_map { key: \"OUT\" value: \"Y\" } ";

TEST_F(GraphTest, TensorsThatAMemberDoesNotHave) {
  bench_.add_simple("m");
  EXPECT_EQ(refusal_of_step(std::string(kIn) + kOut), "accepted");
  EXPECT_EQ(refusal_of_step(std::string(kIn) + kOut + "input_map { key: \"MORE\" value: \"X\" }"),
            "in ensemble e, ensemble tensor X is mapping to non-existing input MORE in model m");
  EXPECT_EQ(refusal_of_step(std::string(kIn) + kOut + "output_map { key: \"MORE\" value: \"Z\" }"),
            "in ensemble e, ensemble tensor Z is mapped from non-existing output MORE in model m");
}

TEST_F(GraphTest, InputsThatNothingFeeds) {
  bench_.add_simple("m",
                    "input { name: \"NEEDED\" data_type: TYPE_INT64 dims: -1 } "
                    "input { name: \"EXTRA\" data_type: TYPE_INT64 dims: -1 optional: true }");
  EXPECT_EQ(refusal_of_step(std::string(kIn) + kOut),
            "in ensemble e, input NEEDED in model m is not mapped to any ensemble tensors");
  EXPECT_EQ(refusal_of_step(std::string(kIn) + kOut + "input_map { key: \"NEEDED\" value: \"X\" }"),
            "accepted");
}

TEST_F(GraphTest, TypesThatContradictEachOther) {
  bench_.add_member("m",
                    "input { name: \"IN\" data_type: TYPE_INT64 dims: -1 } "
                    "output { name: \"OUT\" data_type: TYPE_FP32 dims: -1 }");
  EXPECT_EQ(
      refusal_of_step(std::string(kIn) + kOut),
      "in ensemble e, ensemble tensor Y: inconsistent data type: TYPE_INT64 is inferred from model e while "
      "TYPE_FP32 is inferred from model m");
}

TEST_F(GraphTest, ShapesThatContradictEachOther) {
  bench_.add_member("m",
                    "input { name: \"IN\" data_type: TYPE_INT64 dims: [ 2, 3 ] } "
                    "output { name: \"OUT\" data_type: TYPE_INT64 dims: 4 }");
  bench_.add_member("n",
                    "input { name: \"IN\" data_type: TYPE_INT64 dims: 5 } "
                    "output { name: \"OUT\" data_type: TYPE_INT64 dims: 4 }");
  EXPECT_EQ(
      refusal(ensemble_of(step("m", "X", "Y"))),
      "in ensemble e, ensemble tensor X: inconsistent shape: [-1] is inferred from model e while [2,3] is "
      "inferred from model m");
  EXPECT_EQ(refusal(ensemble_of(step("n", "X", "t") + step("n", "t", "Y"))),
            "in ensemble e, ensemble tensor t: inconsistent shape: [4] is inferred from model n while [5] is "
            "inferred from model n");
}

TEST_F(GraphTest, ShapesThatContradictAreToldWithTheirBatchDimension) {
  bench_.add_member("m",
                    "max_batch_size: 8 input { name: \"IN\" data_type: TYPE_INT64 dims: [ 2, 3 ] } "
                    "output { name: \"OUT\" data_type: TYPE_INT64 dims: -1 }");
  EXPECT_EQ(
      refusal("max_batch_size: 8 " + ensemble_of(step("m", "X", "Y"))),
      "in ensemble e, ensemble tensor X: inconsistent shape: [-1,-1] is inferred from model e while [-1,2,3] is "
      "inferred from model m");
}

TEST_F(GraphTest, ABatchDimensionMayBeWhatAnotherModelHasFirst) {
  bench_.add_member("m",
                    "input { name: \"IN\" data_type: TYPE_INT64 dims: [ -1, 3 ] } "
                    "output { name: \"OUT\" data_type: TYPE_INT64 dims: [ -1, 3 ] }");
  bench_.add_member("n",
                    "max_batch_size: 8 input { name: \"IN\" data_type: TYPE_INT64 dims: 3 } "
                    "output { name: \"OUT\" data_type: TYPE_INT64 dims: 3 }");
  const std::string ends =
      "input { name: \"X\" data_type: TYPE_INT64 dims: [ -1, 3 ] } "
      "output { name: \"Y\" data_type: TYPE_INT64 dims: [ -1, 3 ] } ensemble_scheduling { ";
  EXPECT_EQ(refusal(ends + step("m", "X", "t") + step("n", "t", "Y") + "}"), "accepted");
}

TEST_F(GraphTest, BatchesThatAMemberDoesNotTake) {
  bench_.add_simple("m", "max_batch_size: 4");
  EXPECT_EQ(
      refusal("max_batch_size: 8 " + ensemble_of(step("m", "X", "Y"))),
      "ensemble e allows maximum batch size 8, but it contains model m which only allows maximum batch size "
      "to be 4");
  EXPECT_EQ(refusal("max_batch_size: 4 " + ensemble_of(step("m", "X", "Y"))), "accepted");
}

TEST_F(GraphTest, ValuesOfTwoBranchesDoNotMeet) {
  constexpr char kDecoupled[] = "model_transaction_policy { decoupled: true }";
  bench_.add_simple("d", kDecoupled);
  bench_.add_member("join",
                    "input { name: \"A\" data_type: TYPE_INT64 dims: -1 } "
                    "input { name: \"B\" data_type: TYPE_INT64 dims: -1 } "
                    "output { name: \"OUT\" data_type: TYPE_INT64 dims: -1 }");
  const auto join = [](const char* a, const char* b) {
    return cat("step { model_name: \"join\" model_version: -1 input_map { key: \"A\" value: \"", a,
               "\" } input_map { key: \"B\" value: \"", b,
               "\" } output_map { key: \"OUT\" value: \"Y\" } } ");
  };
  constexpr char kRefusal[] =
      "in ensemble e, step of model 'join' receives inputs originated from different decoupled models";
  EXPECT_EQ(refusal(ensemble_of(step("d", "X", "a") + step("d", "X", "b") + join("a", "b"))), kRefusal);
  EXPECT_EQ(refusal(ensemble_of(step("d", "X", "a") + join("a", "X"))), kRefusal) << "a branch and none";
  EXPECT_EQ(refusal(ensemble_of(step("d", "X", "a") + step("d", "a", "b") + join("a", "b"))), kRefusal)
      << "a branch of a branch";
  EXPECT_EQ(refusal(ensemble_of(step("d", "X", "a") + join("a", "a"))), "accepted");
  EXPECT_TRUE(graph().decoupled);
  EXPECT_TRUE(graph().steps[1].iterates);
  EXPECT_FALSE(graph().steps[0].iterates);
}

TEST_F(GraphTest, OutputsOfTwoBranchesDoNotMeet) {
  bench_.add_simple("d", "model_transaction_policy { decoupled: true }");
  bench_.add_simple("m");
  const std::string ends = std::string(kEnds) + "output { name: \"Z\" data_type: TYPE_INT64 dims: -1 } ";
  const auto of = [&](const std::string& steps) {
    return refusal(ends + "ensemble_scheduling { " + steps + "}");
  };
  constexpr char kRefusal[] =
      "in ensemble e, step of model 'e' receives inputs originated from different decoupled models";
  EXPECT_EQ(of(step("d", "X", "Y") + step("d", "X", "Z")), kRefusal);
  EXPECT_EQ(of(step("d", "X", "Y") + step("m", "X", "Z")), kRefusal) << "a branch and none";
  EXPECT_EQ(of(step("d", "X", "Y") + step("d", "Y", "Z")), kRefusal) << "a branch of a branch";
  EXPECT_EQ(of(step("d", "X", "Y") + step("m", "Y", "Z")), "accepted");
}

TEST_F(GraphTest, StepsThatNobodyNeedsAreLeftOut) {
  bench_.add_simple("m");
  const std::string ends = std::string(kEnds) + "output { name: \"Z\" data_type: TYPE_INT64 dims: -1 } ";
  const std::string steps =
      step("m", "X", "a") + step("m", "a", "Y") + step("m", "X", "b") + step("m", "b", "Z");
  ASSERT_EQ(refusal(ends + "ensemble_scheduling { " + steps + "}"), "accepted");
  EXPECT_THAT(plan({0}).step_needed, ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(plan({1}).step_needed, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(plan({1, 0}).step_needed, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(plan({}).step_needed, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(plan({0}).mode, ResponseMode::kOnce);
}

TEST_F(GraphTest, AnOutputThatASStepReadsIsCopied) {
  bench_.add_simple("m");
  const std::string ends = std::string(kEnds) + "output { name: \"Z\" data_type: TYPE_INT64 dims: -1 } ";
  ASSERT_EQ(refusal(ends + "ensemble_scheduling { " + step("m", "X", "Y") + step("m", "Y", "Z") + "}"),
            "accepted");
  const Plan both = plan({0, 1});
  EXPECT_EQ(both.direct[both.outputs[0]], 0);
  EXPECT_EQ(both.direct[both.outputs[1]], 1);
  const Plan first = plan({0});
  EXPECT_EQ(first.direct[first.outputs[0]], 1) << "the other step is left out";
}

TEST_F(GraphTest, WhoAnswersADecoupledEnsemble) {
  bench_.add_simple("d", "model_transaction_policy { decoupled: true }");
  bench_.add_simple("m");
  ASSERT_EQ(refusal(ensemble_of(step("m", "X", "t") + step("d", "t", "Y"))), "accepted");
  EXPECT_EQ(plan({0}).mode, ResponseMode::kDirect);
  EXPECT_EQ(plan({0}).answering_step, 1u);
  ASSERT_EQ(refusal(ensemble_of(step("d", "X", "t") + step("m", "t", "Y"))), "accepted");
  EXPECT_EQ(plan({0}).mode, ResponseMode::kCopied) << "several executions answer";
  EXPECT_TRUE(plan({0}).iterates);
}

}  // namespace
}  // namespace atl::ensemble
