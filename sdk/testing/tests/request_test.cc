#include "atoll/request/request.h"

#include <gtest/gtest.h>

#include "atoll/testing/recording_sink.h"

namespace atl {
namespace {

using test::TestRequest;

TEST(Request, ResetForgetsEverything) {
  TestRequest holder("id-1");
  Request& request = *holder;
  holder.add_input<float>("INPUT0", DataType::kFp32, {2}, {1, 2});
  request.add_output().name = "OUTPUT0";
  request.add_parameter().key = "k";
  request.sequence.number = 7;
  request.sequence_flags = kSequenceStart;
  request.set_parent(request);
  request.retry_after_ms = 4;
  request.batch_size = 3;
  request.times.deadline_ns = 5;
  request.links.deadline_place = 9;
  request.links.sequence = &holder;
  request.cancellation.cancel();
  request.reset();
  EXPECT_EQ(request.id, "");
  EXPECT_TRUE(request.inputs.empty());
  EXPECT_TRUE(request.outputs.empty());
  EXPECT_TRUE(request.parameters.empty());
  EXPECT_TRUE(request.sequence.empty());
  EXPECT_EQ(request.sequence_flags, 0u);
  EXPECT_EQ(request.call_flags, 0u);
  EXPECT_EQ(request.retry_after_ms, 0u);
  EXPECT_EQ(request.batch_weight(), 1u);
  EXPECT_EQ(request.times.deadline_ns, 0);
  EXPECT_EQ(request.links.deadline_place, 0u);
  EXPECT_EQ(request.links.sequence, nullptr);
  EXPECT_FALSE(request.cancelled());
  EXPECT_EQ(request.sink, &holder) << "the maker's own stays";
}

TEST(Request, FindsInputsByName) {
  TestRequest holder;
  holder.add_input<float>("a", DataType::kFp32, {1}, {1});
  holder.add_input<float>("b", DataType::kFp32, {1}, {2});
  ASSERT_NE(holder->find_input("b"), nullptr);
  EXPECT_EQ(holder->find_input("b")->name, "b");
  EXPECT_EQ(holder->find_input("c"), nullptr);
}

TEST(Request, OnlyIterativeSchedulersTakeItBack) {
  TestRequest holder("r");
  Status status = holder->release(kReleaseReschedule);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_FALSE(holder.got_release());

  struct Taker final : Rescheduler {
    virtual ~Taker() = default;
    Status reschedule(Request&) noexcept override {
      ++taken;
      return {};
    }
    int taken = 0;
  } taker;
  holder->rescheduler = &taker;
  EXPECT_TRUE(holder->release(kReleaseReschedule).ok());
  EXPECT_EQ(taker.taken, 1);
  EXPECT_FALSE(holder.got_release());
}

TEST(Request, FailingAnswersAndReleases) {
  TestRequest holder("r");
  holder.mark_accepted();
  fail_request(*holder, unavailable("Server exiting"));
  EXPECT_TRUE(holder.done());
  EXPECT_EQ(holder.response().code, Code::kUnavailable);
  EXPECT_EQ(holder.response().message, "Server exiting");
  EXPECT_TRUE(holder.problems().empty());
}

TEST(Response, NamesAndShapesAreCopied) {
  TestRequest holder("r");
  holder.mark_accepted();
  Response* response = holder->sink->new_response();
  std::string name = "OUTPUT0";
  std::vector<int64_t> shape{2};
  OutputTensor& output = response->add_output(name, DataType::kInt32, shape);
  name = "changed";
  shape[0] = 9;
  ASSERT_TRUE(response->allocate(output, 8).ok());
  const int32_t values[] = {1, 2};
  std::memcpy(output.buffer.data, values, 8);
  response->send();
  EXPECT_TRUE(holder->release().ok());
  ASSERT_EQ(holder.response().outputs.size(), 1u);
  EXPECT_EQ(holder.response().outputs[0].name, "OUTPUT0");
  EXPECT_EQ(holder.response().outputs[0].shape, std::vector<int64_t>{2});
  EXPECT_EQ(test::values_of<int32_t>(holder.response().outputs[0].bytes), (std::vector<int32_t>{1, 2}));
}

TEST(Response, ARequestedOutputIsAddedUnderItsName) {
  TestRequest holder("r");
  holder.add_output("P");
  holder.add_output("LABEL");
  EXPECT_EQ(holder->find_output("P"), &holder->outputs[0]);
  EXPECT_EQ(holder->find_output("LABEL", 1), &holder->outputs[1]);
  EXPECT_EQ(holder->find_output("LABEL", 7), &holder->outputs[1]);
  EXPECT_EQ(holder->find_output("LABE"), nullptr);
  holder.mark_accepted();
  Response* response = holder->sink->new_response();
  for (const RequestedOutput& wanted : holder->outputs) {
    OutputTensor& output = response->add_output(wanted, DataType::kUint8, {});
    EXPECT_EQ(output.name, wanted.name);
    ASSERT_TRUE(response->allocate(output, 1).ok());
  }
  response->send();
  EXPECT_TRUE(holder->release().ok());
}

TEST(Response, MemoryIsAllocatedBeforeTheNextOutputIsAdded) {
  TestRequest holder("r");
  holder.mark_accepted();
  Response* response = holder->sink->new_response();
  OutputTensor& first = response->add_output("FIRST", DataType::kUint8, {});
  for (int i = 0; i < 4; ++i) response->add_output(cat("O", i), DataType::kUint8, {});
  EXPECT_EQ(response->allocate(first, 1).text(),
            "output 'FIRST' is no longer where it was: its memory must be allocated before the "
            "next output is added to the response");
  OutputTensor foreign;
  EXPECT_EQ(response->allocate(foreign, 1).code(), Code::kInternal);
  holder->sink->discard(response);
  fail_request(*holder, internal_error("end"));
}

TEST(TestRequest, NoticesBreachesOfTheContract) {
  TestRequest twice("r");
  twice.mark_accepted();
  fail_request(*twice, internal_error("first"));
  Response* second = twice->sink->new_response();
  second->send();
  twice->sink->released(*twice);
  twice->sink->send(nullptr, 0);
  (void)twice->sink->new_response();
  EXPECT_EQ(twice.problems(), (std::vector<std::string>{"a second final response", "released a second time",
                                                        "a response after the final one",
                                                        "1 responses were neither sent nor discarded"}));
}

TEST(TestRequest, NoticesAnAnswerToARefusedRequest) {
  TestRequest refused("r");
  fail_request(*refused, internal_error("wrong"));
  EXPECT_EQ(refused.problems(), std::vector<std::string>{"a refused request was answered or released"});
}

TEST(Tensor, ElementCountsCheckOverflow) {
  const int64_t negative[] = {2, -1}, huge[] = {int64_t{1} << 32, int64_t{1} << 32}, zero[] = {5, 0};
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count(zero), 0);
  EXPECT_FALSE(element_count(negative));
  EXPECT_FALSE(element_count(huge));
}

TEST(Tensor, TypeNamesGoThereAndBack) {
  for (uint32_t i = 1; i < kDataTypeCount; ++i) {
    auto type = static_cast<DataType>(i);
    EXPECT_EQ(data_type_from_name(data_type_name(type)), type);
  }
  EXPECT_EQ(data_type_from_name("FP8"), DataType::kInvalid);
  EXPECT_EQ(data_type_from_name("<invalid>"), DataType::kInvalid);
  EXPECT_EQ(data_type_size_bytes(DataType::kFp64), 8u);
  EXPECT_EQ(data_type_size_bytes(DataType::kBytes), 0u);
}

}  // namespace
}  // namespace atl
