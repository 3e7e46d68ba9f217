// Steps on a device that answer ahead of their bytes: the next one begins while they are still at work.
#include <gmock/gmock.h>

#include <utility>

#include "schedulers/ensemble/testing/ensemble_bench.h"
#include "schedulers/ensemble/testing/event_memory.h"

namespace atl::ensemble {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AheadTest : public ::testing::Test {
 protected:
  AheadTest() {
    bench_.host.registry().publish<Memory>("gpu", memory_, 0, Memory::kEventsMinor);
    EXPECT_TRUE(bench_.memory.open().ok());
  }
  ~AheadTest() override {
    bench_.scheduler.reset();
    EXPECT_EQ(memory_.buffers, 0u);
    EXPECT_EQ(memory_.events, 0u);
    EXPECT_EQ(memory_.waits, 0u) << "the host waited for the device";
    bench_.memory.close();
  }

  /// A request inside a member, and what the device still writes to.
  struct Running {
    Request* request = nullptr;
    SteppedEvent* event = nullptr;
  };
  test::FakeServedModel& add_member(const std::string& name, bool device_ordered = true,
                                    const std::string& more = {}) {
    ModelInfo info = member_info(name, R"(input { name: "IN" data_type: TYPE_INT64 dims: -1 }
                             output { name: "OUT" data_type: TYPE_INT64 dims: -1 } )" +
                                           more);
    info.device_ordered = device_ordered;
    test::FakeServedModel& member = bench_.catalog.add(std::move(info));
    bench_.served.push_back(&member);
    return member;
  }
  /// Members m0, m1, ... on a device, the last of which is not answered by itself.
  void make_chain(int length) {
    std::string steps;
    for (int i = 0; i < length; ++i) {
      const std::string name = "m" + std::to_string(i);
      add_member(name).respond = [this, is_last = i + 1 == length](Request& request) {
        if (is_last) {
          last_ = &request;
        } else {
          answer_ahead(request);
        }
      };
      steps += step(name, i == 0 ? "X" : "t" + std::to_string(i),
                    i + 1 == length ? "Y" : "t" + std::to_string(i + 1));
    }
    const Status status = bench_.create(ensemble_of(steps));
    ASSERT_TRUE(status.ok()) << status.text();
  }
  /// As a backend does that has put the work into a stream.
  void answer_ahead(Request& request) {
    EXPECT_EQ(last_, nullptr);
    Response* response = request.sink->new_response();
    OutputTensor& output =
        response->add_output(request.outputs[0], DataType::kInt64, request.inputs[0].shape);
    ASSERT_TRUE(response->allocate(output, 8, MemoryKind::kGpu).ok());
    auto* event = static_cast<SteppedEvent*>(output.buffer.ready_after);
    ASSERT_NE(event, nullptr);
    event->record();
    running_.push_back({&request, event});
    response->send(kFinal | kAhead);
    EXPECT_EQ(last_, nullptr) << "a step was begun inside of another one";
  }
  void finish(size_t i) {
    running_[i].event->reach();
    (void)running_[i].request->release().ok();
  }
  void finish_last() {
    Request& request = *std::exchange(last_, nullptr);
    send_values(request, "OUT", {7});
    (void)request.release().ok();
  }
  test::FakeServedModel& member(size_t i) { return *bench_.served[i]; }

  EventMemory memory_;
  EnsembleBench bench_;
  std::vector<Running> running_;
  Request* last_ = nullptr;
};

TEST_F(AheadTest, AllStepsBeginBeforeTheFirstOneHasEnded) {
  make_chain(3);
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_EQ(running_.size(), 2u);
  ASSERT_NE(last_, nullptr);
  EXPECT_EQ(running_[1].request->inputs[0].buffers[0].ready_after, running_[0].event);
  EXPECT_EQ(last_->inputs[0].buffers[0].ready_after, running_[1].event);
  EXPECT_EQ(last_->inputs[0].buffers[0].kind, MemoryKind::kGpu);
  EXPECT_EQ(member(0).first_responses(), 0u) << "its bytes have not come";
  finish(0);
  EXPECT_EQ(member(0).first_responses(), 1u);
  EXPECT_EQ(memory_.buffers, 2u) << "what the second one reads stays";
  finish(1);
  EXPECT_EQ(memory_.buffers, 1u);
  EXPECT_FALSE(request.done());
  finish_last();
  ASSERT_TRUE(request.done());
  EXPECT_THAT(bench_.values_of(request.response(), "Y"), ElementsAre(7));
}

TEST_F(AheadTest, TheRequestEndsWithTheLastStepThatIsReleased) {
  make_chain(3);
  for (int i = 0; i < 3; ++i) {  // the objects are used again
    running_.clear();
    TestRequest& request = bench_.enqueue("X", {1});
    ASSERT_NE(last_, nullptr);
    finish_last();
    finish(1);
    EXPECT_FALSE(request.done());
    EXPECT_EQ(memory_.buffers, 1u) << "the first step's output is still written to";
    finish(0);
    ASSERT_TRUE(request.done());
    EXPECT_EQ(request.response().code, Code::kOk);
  }
}

TEST_F(AheadTest, AnAnswerOnAThreadOfTheMembersBeginsTheNextStepElsewhere) {
  make_chain(2);
  Request* first = nullptr;
  member(0).respond = [&](Request& request) { first = &request; };
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_NE(first, nullptr);
  answer_ahead(*first);
  EXPECT_EQ(last_, nullptr);
  bench_.host.run_ready();
  ASSERT_NE(last_, nullptr);
  finish(0);
  finish_last();
  EXPECT_TRUE(request.done());
}

TEST_F(AheadTest, AStepThatFailsMeanwhileFailsTheRequestWhenTheDeviceIsDone) {
  make_chain(2);
  member(1).refuse = [](const Request&) { return unavailable("no more room"); };
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_EQ(running_.size(), 1u);
  EXPECT_FALSE(request.got_final());
  EXPECT_EQ(memory_.buffers, 1u);
  finish(0);
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.responses().size(), 1u);
  EXPECT_EQ(request.response().code, Code::kUnavailable);
  EXPECT_THAT(request.response().message, HasSubstr("no more room (step 1"));
}

TEST_F(AheadTest, AnAnswerThatComesAfterAFailureIsKeptUntilTheDeviceIsDone) {
  Request* slow = nullptr;
  add_member("slow").respond = [&](Request& request) { slow = &request; };
  add_member("fails").respond = [](Request& request) { fail_request(request, internal_error("broken")); };
  add_member("join", true, R"(input { name: "WITH" data_type: TYPE_INT64 dims: -1 } )");
  const std::string join = R"(step { model_name: "join" model_version: -1
      input_map { key: "IN" value: "a" } input_map { key: "WITH" value: "b" }
      output_map { key: "OUT" value: "Y" } } )";
  ASSERT_TRUE(bench_.create(ensemble_of(step("slow", "X", "a") + step("fails", "X", "b") + join)).ok());
  TestRequest& request = bench_.enqueue("X", {1});
  ASSERT_NE(slow, nullptr);
  answer_ahead(*slow);
  bench_.host.run_ready();
  EXPECT_FALSE(request.got_final());
  finish(0);
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.response().code, Code::kInternal);
}

TEST_F(AheadTest, ACancelledRequestEndsWhenTheDeviceIsDone) {
  make_chain(2);
  Request* first = nullptr;
  member(0).respond = [&](Request& request) { first = &request; };
  TestRequest& request = bench_.enqueue("X", {1});
  request.cancel();
  bench_.host.run_ready();
  answer_ahead(*first);
  bench_.host.run_ready();
  EXPECT_EQ(last_, nullptr) << "nobody wants it";
  EXPECT_FALSE(request.got_final());
  finish(0);
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.response().code, Code::kCancelled);
}

/// What a step's output is given for.
class MemoryOfStepsTest : public AheadTest {
 protected:
  /// \returns what the first step gets for its output
  Buffer buffer_of_first(const std::string& config) {
    Buffer given;
    member(0).respond = [&given](Request& request) {
      Response* response = request.sink->new_response();
      OutputTensor& output =
          response->add_output(request.outputs[0], DataType::kInt64, request.inputs[0].shape);
      EXPECT_TRUE(response->allocate(output, 8, MemoryKind::kGpu).ok());
      given = output.buffer;
      if (given.kind == MemoryKind::kCpu) *static_cast<int64_t*>(given.data) = 5;
      response->send();
      (void)request.release().ok();
    };
    const Status status = bench_.create(config);
    EXPECT_TRUE(status.ok()) << status.text();
    TestRequest& request = bench_.enqueue("X", {1});
    EXPECT_TRUE(request.done());
    EXPECT_EQ(request.response().code, Code::kOk) << request.response().message;
    return given;
  }
};

TEST_F(MemoryOfStepsTest, HasAnEventWhereAllReadersAreOrderedByTheDevice) {
  add_member("m0");
  add_member("m1").respond = [](Request& request) {
    send_values(request, "OUT", {1});
    (void)request.release().ok();
  };
  const Buffer given = buffer_of_first(ensemble_of(step("m0", "X", "t") + step("m1", "t", "Y")));
  EXPECT_EQ(given.kind, MemoryKind::kGpu);
  EXPECT_NE(given.ready_after, nullptr);
}

TEST_F(MemoryOfStepsTest, HasNoneWhereOneOfThemWouldWait) {
  add_member("m0");
  for (const char* name : {"ordered", "waits"}) {
    add_member(name, name == std::string_view("ordered")).respond = [](Request& request) {
      send_values(request, "OUT", {1});
      (void)request.release().ok();
    };
  }
  const std::string join = R"(step { model_name: "waits" model_version: -1
      input_map { key: "IN" value: "t" } output_map { key: "OUT" value: "u" } } )";
  const Buffer given = buffer_of_first(ensemble_of(step("m0", "X", "t") + join + step("ordered", "t", "Y")));
  EXPECT_EQ(given.kind, MemoryKind::kGpu);
  EXPECT_EQ(given.ready_after, nullptr);
}

TEST_F(MemoryOfStepsTest, IsOfTheCpuWhereItIsCopiedIntoTheResponseToo) {
  add_member("m0");
  add_member("m1").respond = [](Request& request) { add_number(request, 1); };
  const std::string config = std::string(kEnds) +
                             R"(output { name: "t" data_type: TYPE_INT64 dims: -1 } ensemble_scheduling { )" +
                             step("m0", "X", "t") + step("m1", "t", "Y") + " }";
  const Buffer given = buffer_of_first(config);
  EXPECT_EQ(given.kind, MemoryKind::kCpu);
  EXPECT_THAT(bench_.values_of(bench_.requests[0]->response(), "t"), ElementsAre(5));
  EXPECT_THAT(bench_.values_of(bench_.requests[0]->response(), "Y"), ElementsAre(6));
}

}  // namespace
}  // namespace atl::ensemble
