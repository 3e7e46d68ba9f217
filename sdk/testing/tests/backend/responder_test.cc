#include "atoll/backend/responder.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"

namespace atl::backends {
namespace {

using test::TestRequest;

class BatchResponderTest : public ::testing::Test {
 protected:
  /// A batch of so many requests, each with one requested output and the batch size 2.
  Batch batch(size_t count) {
    requests_.clear();
    pointers_.clear();
    for (size_t i = 0; i < count; ++i) {
      requests_.push_back(std::make_unique<TestRequest>(cat("r", i)));
      requests_.back()->request().batch_size = 2;
      requests_.back()->add_output("OUTPUT0");
      requests_.back()->mark_accepted();
      requests_.back()->on_release([this](Request& request) {
        EXPECT_EQ(reporter_.of(std::string(request.id)).total(), 1u) << "statistics come before the release";
      });
      pointers_.push_back(&requests_.back()->request());
    }
    return Batch{.requests = pointers_, .total_batch_size = static_cast<uint32_t>(2 * count)};
  }
  void write(BatchResponder& responder, uint32_t i, std::string_view bytes) {
    int64_t shape[] = {static_cast<int64_t>(bytes.size())};
    OutputTensor* output =
        responder.add_output(i, responder.request(i).outputs[0], DataType::kUint8, shape, bytes.size());
    ASSERT_NE(output, nullptr);
    std::memcpy(output->buffer.data, bytes.data(), bytes.size());
  }
  void expect_done() {
    for (auto& request : requests_) {
      EXPECT_TRUE(request->done());
      for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
    }
  }

  test::RecordingReporter reporter_;
  std::vector<std::unique_ptr<TestRequest>> requests_;
  std::vector<Request*> pointers_;
};

TEST_F(BatchResponderTest, EachRequestGetsItsOutputs) {
  BatchResponder responder(&reporter_);
  for (int round = 0; round < 3; ++round) {
    responder.begin(batch(3));
    ASSERT_EQ(responder.size(), 3u);
    for (uint32_t i = 0; i < 3; ++i) write(responder, i, cat("bytes of ", i));
    responder.finish({1, 2, 3, 4});
    expect_done();
    for (uint32_t i = 0; i < 3; ++i) {
      const test::ReceivedResponse response = requests_[i]->response();
      ASSERT_NE(response.find("OUTPUT0"), nullptr);
      EXPECT_EQ(response.find("OUTPUT0")->bytes, cat("bytes of ", i));
      EXPECT_TRUE(response.final());
    }
    EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{6});
    reporter_.clear();
  }
}

TEST_F(BatchResponderTest, WhatIsAnsweredAheadIsReleasedAtTheEnd) {
  BatchResponder responder(&reporter_);
  for (const bool fails : {false, true}) {
    responder.begin(batch(2));
    write(responder, 0, "zero");
    write(responder, 1, "one");
    responder.answer_ahead(1);
    EXPECT_EQ(requests_[1]->response().flags, uint32_t{kFinal} | kAhead);
    EXPECT_FALSE(requests_[1]->got_release());
    EXPECT_FALSE(requests_[0]->got_final());
    EXPECT_EQ(reporter_.all().total(), 0u);
    if (fails) responder.fail_all(unavailable("the device is lost"));
    responder.finish({1, 2, 3, 4});
    expect_done();
    EXPECT_EQ(requests_[1]->responses().size(), 1u) << "it has its answer";
    EXPECT_EQ(requests_[0]->response().code, fails ? Code::kUnavailable : Code::kOk);
    EXPECT_EQ(reporter_.all().succeeded, fails ? 0u : 2u);
    EXPECT_EQ(reporter_.all().failed, fails ? 2u : 0u);
    reporter_.clear();
  }
}

TEST_F(BatchResponderTest, AFailureIsItsRequestsOwnAndTheFirstStays) {
  BatchResponder responder(&reporter_);
  responder.begin(batch(3));
  write(responder, 0, "zero");
  write(responder, 1, "one");
  responder.fail(1, invalid_argument("first"));
  responder.fail(1, internal_error("second"));
  EXPECT_TRUE(responder.failed(1));
  EXPECT_FALSE(responder.failed(2));
  responder.finish({});
  expect_done();
  EXPECT_EQ(requests_[1]->response().code, Code::kInvalidArgument);
  EXPECT_EQ(requests_[1]->response().message, "first");
  EXPECT_TRUE(requests_[1]->response().outputs.empty());
  EXPECT_EQ(requests_[0]->response().code, Code::kOk);
  EXPECT_EQ(requests_[2]->response().code, Code::kOk) << "a response without outputs is one";
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{4});
  EXPECT_EQ(reporter_.all().failed, 1u);
}

TEST_F(BatchResponderTest, AFailedAllocationFailsTheRequest) {
  BatchResponder responder(&reporter_);
  Batch two = batch(2);
  requests_[0]->fail_allocations(Code::kResourceExhausted, "none left");
  responder.begin(two);
  int64_t shape[] = {4};
  EXPECT_EQ(responder.add_output(0, responder.request(0).outputs[0], DataType::kUint8, shape, 4), nullptr);
  EXPECT_TRUE(responder.failed(0));
  write(responder, 1, "fine");
  responder.finish({});
  expect_done();
  EXPECT_EQ(requests_[0]->response().code, Code::kResourceExhausted);
}

TEST_F(BatchResponderTest, CancelledRequestsCountAsCancelled) {
  BatchResponder responder(&reporter_);
  responder.begin(batch(2));
  responder.fail(0, Status(Code::kCancelled, ""));
  write(responder, 1, "x");
  responder.finish({});
  expect_done();
  EXPECT_EQ(reporter_.of("r0").not_executed[static_cast<size_t>(FailureReason::kCanceled)], 1u);
  EXPECT_EQ(reporter_.of("r1").succeeded, 1u);
}

TEST_F(BatchResponderTest, ABatchThatFailedAltogetherIsNoExecution) {
  BatchResponder responder(&reporter_);
  responder.begin(batch(2));
  responder.fail_all(internal_error("the device is gone"));
  responder.finish({});
  expect_done();
  EXPECT_TRUE(reporter_.batches().empty());
  EXPECT_EQ(reporter_.all().failed, 2u);
}

TEST_F(BatchResponderTest, ADecoupledModelSendsTheEndByItself) {
  BatchResponder responder(&reporter_, true);
  responder.begin(batch(2));
  write(responder, 0, "data");
  responder.fail(1, internal_error("no"));
  responder.finish({});
  expect_done();
  std::vector<test::ReceivedResponse> responses = requests_[0]->responses();
  ASSERT_EQ(responses.size(), 2u);
  EXPECT_FALSE(responses[0].final());
  EXPECT_EQ(responses[0].outputs.size(), 1u);
  EXPECT_TRUE(responses[1].final() && responses[1].empty);
  EXPECT_EQ(requests_[1]->responses().size(), 1u);
}

TEST_F(BatchResponderTest, WhatWasForgottenIsAnsweredAllTheSame) {
  {
    BatchResponder responder(&reporter_);
    responder.begin(batch(2));
    write(responder, 0, "half done");
  }
  expect_done();
  for (auto& request : requests_) EXPECT_EQ(request->response().code, Code::kInternal);
}

/// Takes requests back, or does not.
struct Taker final : Rescheduler {
  Status reschedule(Request& request) noexcept override {
    if (refuses) return unavailable("stopped");
    taken.push_back(&request);
    return {};
  }
  bool refuses = false;
  std::vector<Request*> taken;
};

TEST_F(BatchResponderTest, ARequestMayTakeSeveralExecutions) {
  BatchResponder responder(&reporter_);
  Taker taker;
  Batch two = batch(2);
  for (Request* request : pointers_) request->rescheduler = &taker;
  responder.begin(two);
  write(responder, 0, "dropped");
  responder.reschedule(0);
  write(responder, 1, "ready");
  responder.finish({});
  EXPECT_EQ(taker.taken, std::vector{pointers_[0]});
  EXPECT_FALSE(requests_[0]->got_final() || requests_[0]->got_release());
  EXPECT_EQ(reporter_.of("r0").total(), 0u) << "counted when it is answered";
  EXPECT_TRUE(requests_[1]->done());
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{4}) << "it was executed all the same";
  responder.begin({.requests = std::span(pointers_).first(1), .total_batch_size = 2});
  write(responder, 0, "ready");
  responder.finish({});
  expect_done();
  EXPECT_EQ(requests_[0]->responses().size(), 1u);
  EXPECT_EQ(requests_[0]->response().find("OUTPUT0")->bytes, "ready");
  EXPECT_EQ(reporter_.of("r0").succeeded, 1u);
}

TEST_F(BatchResponderTest, ADecoupledRequestAnswersAtEachExecution) {
  BatchResponder responder(&reporter_, true);
  Taker taker;
  Batch one = batch(1);
  pointers_[0]->rescheduler = &taker;
  for (int round = 0; round < 3; ++round) {
    responder.begin(one);
    if (round != 1) write(responder, 0, cat("part ", round));
    if (round != 2) responder.reschedule(0);
    responder.finish({});
  }
  expect_done();
  std::vector<test::ReceivedResponse> responses = requests_[0]->responses();
  ASSERT_EQ(responses.size(), 3u);
  EXPECT_EQ(responses[0].find("OUTPUT0")->bytes, "part 0");
  EXPECT_EQ(responses[1].find("OUTPUT0")->bytes, "part 2");
  EXPECT_FALSE(responses[0].final() || responses[1].final());
  EXPECT_TRUE(responses[2].final() && responses[2].empty);
  EXPECT_EQ(taker.taken.size(), 2u);
}

TEST_F(BatchResponderTest, WhoCanNotGoBackIsAnswered) {
  BatchResponder responder(&reporter_);
  Taker taker;
  taker.refuses = true;
  Batch three = batch(3);
  pointers_[1]->rescheduler = pointers_[2]->rescheduler = &taker;
  responder.begin(three);
  for (uint32_t i = 0; i < 3; ++i) responder.reschedule(i);
  responder.fail(2, invalid_argument("failed on its way"));
  responder.finish({});
  expect_done();
  EXPECT_EQ(requests_[0]->response().code, Code::kInvalidArgument) << "its model is not iterative";
  EXPECT_EQ(requests_[1]->response().message, "stopped");
  EXPECT_EQ(requests_[2]->response().message, "failed on its way");
  EXPECT_EQ(reporter_.all().failed, 3u);
}

TEST_F(BatchResponderTest, ValuesAndTextsAreWritten) {
  BatchResponder responder(&reporter_);
  responder.begin(batch(2));
  const int64_t shape[] = {2};
  const float values[] = {1.5f, -2};
  responder.add_values<float>(0, responder.request(0).outputs[0], shape, values);
  responder.add_texts(1, responder.request(1).outputs[0], shape, std::vector<std::string>{"cat", ""});
  responder.finish({});
  expect_done();
  const test::ReceivedResponse numbers = requests_[0]->response(), texts = requests_[1]->response();
  ASSERT_EQ(numbers.outputs.size(), 1u);
  EXPECT_EQ(numbers.outputs[0].datatype, DataType::kFp32);
  EXPECT_EQ(numbers.outputs[0].shape, std::vector<int64_t>{2});
  EXPECT_EQ(test::values_of<float>(numbers.outputs[0].bytes), (std::vector{1.5f, -2.0f}));
  ASSERT_EQ(texts.outputs.size(), 1u);
  EXPECT_EQ(texts.outputs[0].datatype, DataType::kBytes);
  EXPECT_EQ(test::decode_bytes_tensor(texts.outputs[0].bytes), (std::vector<std::string>{"cat", ""}));
}

TEST_F(BatchResponderTest, ValuesThatGetNoMemoryFailTheirRequest) {
  BatchResponder responder(&reporter_);
  Batch two = batch(2);
  requests_[0]->fail_allocations(Code::kResourceExhausted, "none left");
  responder.begin(two);
  const int64_t shape[] = {1};
  const int8_t value[] = {7};
  for (uint32_t i = 0; i < 2; ++i) {
    responder.add_values<int8_t>(i, responder.request(i).outputs[0], shape, value);
  }
  responder.finish({});
  expect_done();
  EXPECT_EQ(requests_[0]->response().message, "none left");
  EXPECT_EQ(requests_[1]->response().code, Code::kOk);
}

TEST_F(BatchResponderTest, EachIsAnsweredWhateverHappensToTheOthers) {
  test::FakeClock clock;
  BatchResponder responder(&reporter_);
  Batch five = batch(5);
  requests_[3]->cancel();
  responder.answer_each(five, clock, [&](uint32_t i) -> Status {
    if (i == 0) return invalid_argument("no good");
    if (i == 1) throw std::runtime_error("out of luck");
    if (i == 2) throw 7;
    EXPECT_NE(i, 3u) << "a cancelled request costs nothing";
    write(responder, i, "fine");
    return {};
  });
  expect_done();
  EXPECT_EQ(requests_[0]->response().message, "no good");
  EXPECT_EQ(requests_[1]->response().message, "the backend threw: out of luck");
  EXPECT_EQ(requests_[2]->response().message, "the backend threw something that is not a std::exception");
  EXPECT_EQ(requests_[3]->response().code, Code::kCancelled);
  EXPECT_EQ(requests_[4]->response().outputs.size(), 1u);
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{2});
  EXPECT_EQ(reporter_.all().failed, 3u);
  EXPECT_EQ(reporter_.disordered_times(), 0u);
}

}  // namespace
}  // namespace atl::backends
