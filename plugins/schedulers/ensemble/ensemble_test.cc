// One request through ensembles of scripted members.
#include <gmock/gmock.h>

#include "schedulers/ensemble/testing/ensemble_bench.h"

namespace atl::ensemble {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string chain(int length) {
  std::string steps;
  for (int i = 0; i < length; ++i) {
    steps += step("add" + std::to_string(i), i == 0 ? "X" : "t" + std::to_string(i),
                  i == length - 1 ? "Y" : "t" + std::to_string(i + 1));
  }
  return ensemble_of(steps);
}

class EnsembleTest : public ::testing::Test {
 protected:
  void make_chain(int length) {
    for (int i = 0; i < length; ++i) {
      bench_.add_simple("add" + std::to_string(i)).respond = [i](Request& request) {
        add_number(request, int64_t{1} << i);
      };
    }
    const Status status = bench_.create(chain(length));
    ASSERT_TRUE(status.ok()) << status.text();
  }
  test::FakeServedModel& member(size_t i) { return *bench_.served[i]; }

  EnsembleBench bench_;
};

TEST_F(EnsembleTest, AChainIsExecutedOneStepAfterTheOther) {
  make_chain(3);
  TestRequest& request = bench_.enqueue("X", {100, 200});
  ASSERT_TRUE(request.done());
  ASSERT_EQ(request.responses().size(), 1u);
  EXPECT_EQ(request.response().code, Code::kOk) << request.response().message;
  EXPECT_THAT(bench_.values_of(request.response(), "Y"), ElementsAre(107, 207));
  EXPECT_EQ(bench_.reporter.all().succeeded, 1u);
}

TEST_F(EnsembleTest, RunsAreUsedAgain) {
  make_chain(2);
  for (int64_t i = 0; i < 100; ++i) {
    TestRequest& request = bench_.enqueue("X", {i});
    ASSERT_TRUE(request.done());
    EXPECT_THAT(bench_.values_of(request.response(), "Y"), ElementsAre(i + 3));
  }
}

TEST_F(EnsembleTest, TheFailingStepIsNamed) {
  make_chain(3);
  member(1).respond = [](Request& request) { fail_request(request, internal_error("no such word")); };
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.response().code, Code::kInternal);
  EXPECT_EQ(request.response().message, "in ensemble 'e', no such word (step 1, model 'add1' version 1)");
  EXPECT_EQ(bench_.reporter.all().not_executed[static_cast<size_t>(FailureReason::kOther)], 1u);
}

TEST_F(EnsembleTest, ARefusalIsAFailureToo) {
  make_chain(2);
  member(0).refuse = [](const Request&) {
    return unavailable("[request id: r0] Exceeds maximum queue size");
  };
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.response().code, Code::kUnavailable);
  EXPECT_THAT(request.response().message,
              HasSubstr("in ensemble 'e', [request id: r0] Exceeds maximum queue size"));
}

TEST_F(EnsembleTest, TheLastOutputIsWrittenWhereTheClientWantsIt) {
  make_chain(2);
  TestRequest& request = bench_.add();
  request.add_input<int64_t>("X", DataType::kInt64, {2}, {1, 2});
  std::vector<char> place(16);
  request.add_output("Y", place);
  const void* written_to = nullptr;
  member(1).respond = [&](Request& step) {
    Response* response = step.sink->new_response();
    OutputTensor& output = response->add_output(step.outputs[0], DataType::kInt64, step.inputs[0].shape);
    ASSERT_TRUE(response->allocate(output, 16).ok());
    written_to = output.buffer.data;
    response->send();
    (void)step.release().ok();
  };
  ASSERT_TRUE(bench_.give(request).ok());
  EXPECT_EQ(written_to, place.data());
}

TEST_F(EnsembleTest, AnOutputOfAStepIsTheInputOfTheNextOne) {
  make_chain(2);
  const void* written = nullptr;
  const void* read = nullptr;
  member(0).respond = [&](Request& step) {
    Response* response = step.sink->new_response();
    OutputTensor& output = response->add_output(step.outputs[0], DataType::kInt64, step.inputs[0].shape);
    ASSERT_TRUE(response->allocate(output, 8).ok());
    written = output.buffer.data;
    response->send();
    (void)step.release().ok();
  };
  member(1).respond = [&](Request& step) {
    read = step.inputs[0].buffers[0].data;
    add_number(step, 0);
  };
  EXPECT_TRUE(bench_.enqueue("X", {1}).done());
  EXPECT_NE(written, nullptr);
  EXPECT_EQ(written, read);
}

}  // namespace
}  // namespace atl::ensemble
