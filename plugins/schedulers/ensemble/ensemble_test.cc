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

TEST_F(EnsembleTest, IdTimeoutAndParametersGoToEachStep) {
  make_chain(2);
  std::vector<std::string> seen;
  for (size_t i = 0; i < 2; ++i) {
    member(i).respond = [&, i](Request& step) {
      seen.push_back(
          cat(step.id, " ", step.timeout_us, " ", step.parameters.size(), " ", step.parameters[0].key));
      EXPECT_NE(step.call_flags & kIsStep, 0u);
      EXPECT_NE(step.call_flags & kShadow, 0u) << "of a shadow so are its steps";
      add_number(step, static_cast<int64_t>(i));
    };
  }
  TestRequest& request = bench_.add();
  request->timeout_us = 5'000'000;
  request->call_flags = kShadow;
  request->parameters.add(request->arena()).key = "temperature";
  request.add_input<int64_t>("X", DataType::kInt64, {1}, {1});
  ASSERT_TRUE(bench_.give(request).ok());
  EXPECT_TRUE(request.done());
  EXPECT_THAT(seen, ElementsAre("r0 5000000 1 temperature", "r0 5000000 1 temperature"));
  EXPECT_EQ(bench_.reporter.all().total(), 0u);
}

TEST_F(EnsembleTest, WhenToTryAgainIsWhatTheStepSays) {
  make_chain(2);
  member(1).respond = [](Request& step) {
    step.retry_after_ms = 250;
    fail_request(step, unavailable("busy"));
  };
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request->retry_after_ms, 250u);
}

TEST_F(EnsembleTest, AnInputThatWasNotSentIsNotSentOn) {
  bench_
      .add_member("m", R"(input { name: "IN" data_type: TYPE_INT64 dims: -1 }
                            input { name: "MORE" data_type: TYPE_INT64 dims: -1 optional: true }
                            output { name: "OUT" data_type: TYPE_INT64 dims: -1 })")
      .respond = [](Request& step) { add_number(step, static_cast<int64_t>(step.inputs.size())); };
  const Status status = bench_.create(
      std::string("input { name: \"Z\" data_type: TYPE_INT64 dims: -1 optional: true } ") +
      ensemble_of("step { model_name: \"m\" model_version: -1 input_map { key: \"IN\" value: \"X\" } "
                  "input_map { key: \"MORE\" value: \"Z\" } output_map { key: \"OUT\" value: \"Y\" } } "));
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_THAT(bench_.values_of(bench_.enqueue("X", {10}).response(), "Y"), ElementsAre(11));
  TestRequest& both = bench_.add();
  both.add_input<int64_t>("X", DataType::kInt64, {1}, {10});
  both.add_input<int64_t>("Z", DataType::kInt64, {1}, {10});
  ASSERT_TRUE(bench_.give(both).ok());
  EXPECT_THAT(bench_.values_of(both.response(), "Y"), ElementsAre(12));
}

TEST_F(EnsembleTest, AMemberThatAnswersNothingIsADeadlock) {
  make_chain(2);
  member(0).respond = [](Request& step) {
    step.sink->send(nullptr, kFinal);
    (void)step.release().ok();
  };
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.response().code, Code::kInvalidArgument);
  EXPECT_EQ(
      request.response().message,
      "in ensemble 'e', [request id: r0] unexpected deadlock, at least one output is not set while no more "
      "ensemble steps can be made");
}

TEST_F(EnsembleTest, AResponseThatIsDroppedIsAFailure) {
  make_chain(1);
  member(0).respond = [](Request& step) {
    Response* dropped = step.sink->new_response();
    OutputTensor& output = dropped->add_output(step.outputs[0], DataType::kInt64, step.inputs[0].shape);
    ASSERT_TRUE(dropped->allocate(output, 8).ok());
    step.sink->discard(dropped);
    add_number(step, 0);
  };
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.response().code, Code::kInternal);
  EXPECT_EQ(request.response().message,
            "in ensemble 'e', a member dropped a response after it was given memory for it");
}

TEST_F(EnsembleTest, AnOutputWithoutMemoryIsAsOneThatIsLeftOut) {
  make_chain(1);
  member(0).respond = [](Request& step) {
    Response* response = step.sink->new_response();
    response->add_output(step.outputs[0], DataType::kInt64, step.inputs[0].shape);
    response->send();
    (void)step.release().ok();
  };
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.response().find("Y"), nullptr);
}

TEST_F(EnsembleTest, ACancellationReachesTheStepThatRuns) {
  make_chain(3);
  Request* running = nullptr;
  member(1).respond = [&](Request& step) { running = &step; };
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_NE(running, nullptr);
  EXPECT_FALSE(running->cancelled());
  request.cancel();
  EXPECT_TRUE(running->cancelled());
  add_number(*running, 0);  // it did not look
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.response().code, Code::kCancelled);
  EXPECT_EQ(bench_.reporter.all().not_executed[static_cast<size_t>(FailureReason::kCanceled)], 1u);
}

TEST_F(EnsembleTest, ARequestIsOneExecution) {
  make_chain(3);
  bench_.enqueue("X", {1, 2, 3});
  EXPECT_EQ(bench_.reporter.all().succeeded, 1u);
  EXPECT_THAT(bench_.reporter.batches(), ElementsAre(1u));
}

}  // namespace
}  // namespace atl::ensemble
