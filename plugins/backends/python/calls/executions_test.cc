#include "backends/python/calls/executions.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"

namespace atl::python {
namespace {

using test::ReceivedResponse;
using test::TestRequest;

/// Takes requests back, or refuses to.
class Taker final : public Rescheduler {
 public:
  Status reschedule(Request& request) noexcept override {
    if (refuses) return invalid_argument("it is over");
    taken.push_back(&request);
    return {};
  }
  bool refuses = false;
  std::vector<Request*> taken;
};

/// Plays the worker in the same memory.
class ExecutionsTest : public ::testing::Test, private SlabTable::Sender, private Executions::Returned {
 protected:
  void SetUp() override {
    auto slab = slabs_.add(SlabOwner::kWorker, 1 << 20);
    ASSERT_TRUE(slab.ok());
    own_ = *slab;
  }
  void TearDown() override {
    executions_.fail_all(unavailable("the worker is gone"));
    for (const auto& request : requests_) {
      EXPECT_TRUE(request->done());
      for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
    }
  }
  /// Begins a batch of so many requests, whose input is their number. \returns its first handle
  uint64_t begin(size_t count) {
    std::vector<Request*> pointers;
    for (size_t i = 0; i < count; ++i) {
      TestRequest& request = *requests_.emplace_back(std::make_unique<TestRequest>("r"));
      request.add_input("INPUT0", DataType::kInt32, {1}, std::vector<int32_t>{static_cast<int32_t>(i)});
      request.add_output("OUTPUT0");
      request->rescheduler = &taker_;
      request.mark_accepted();
      pointers.push_back(&request.request());
    }
    RingMessage message;
    EXPECT_TRUE(executions_.prepare(pointers, 1, message).ok());
    EXPECT_TRUE(executions_.begin([&] { return sends_; }));
    batch_ = slabs_.find(message.slab, message.offset, message.size_bytes);
    return message.id;
  }
  struct Said {
    uint64_t handle = 0;
    uint32_t flags = 0;
    int32_t value = 0;  ///< of the output, if there is a response
  };
  Status say(std::vector<Said> said, uint64_t returned_batch = 0) {
    std::byte* at = own_.region->data();
    PayloadWriter writer(at);
    ResponsesHeader header;
    (void)writer.reserve<ResponsesHeader>();
    header.response_count = static_cast<uint32_t>(said.size());
    header.responses = writer.reserve<ResponseRecord>(said.size());
    writer.put(0, header);
    for (size_t i = 0; i < said.size(); ++i) {
      ResponseRecord record;
      record.handle = said[i].handle;
      record.flags = said[i].flags;
      if ((record.flags & ResponseRecord::kError) != 0) {
        record.error = writer.add_text("it fails");
        record.error_code = 2;
      } else if ((record.flags & ResponseRecord::kResponse) != 0) {
        record.tensor_count = 1;
        record.tensors = writer.reserve<TensorRecord>();
        TensorRecord tensor;
        tensor.name = writer.add_text("OUTPUT0");
        tensor.datatype = static_cast<uint32_t>(DataType::kInt32);
        tensor.rank = 1;
        const int64_t one = 1;
        tensor.shape = writer.add_array(std::span(&one, 1));
        const uint32_t data = writer.reserve<int32_t>();
        writer.put(data, said[i].value);
        tensor.data = {own_.index, 0, data, sizeof(int32_t)};
        writer.put(record.tensors, tensor);
      }
      writer.put(header.responses + i * sizeof record, record);
    }
    RingMessage message;
    message.type = MessageType::kResponses;
    message.flags = returned_batch == 0 ? 0u : static_cast<uint32_t>(kExecuteReturned);
    message.id = returned_batch;
    return executions_.take(message, PayloadView(at, writer.size_bytes()), *this);
  }
  /// What request i has got, as one text: "7 8! E" are 7, 8 with the final flag, an error.
  std::string got(size_t i) const {
    std::string text;
    for (const ReceivedResponse& response : requests_[i]->responses()) {
      if (!text.empty()) text += " ";
      if (response.code != Code::kOk) {
        text += cat("E:", response.message);
      } else if (!response.empty) {
        int32_t value = 0;
        std::memcpy(&value, response.outputs.at(0).bytes.data(), sizeof value);
        text += cat(value);
      }
      if (response.final()) text += "!";
    }
    return text;
  }
  uint32_t cancelled(size_t i) const {
    RequestRecord record;
    std::memcpy(&record, batch_ + sizeof(BatchHeader) + i * sizeof record, sizeof record);
    return record.cancelled;
  }

  bool send_slab(const SlabPacket&, int) noexcept override { return true; }
  void on_returned() noexcept override { ++returned_; }

  static constexpr uint32_t kData = ResponseRecord::kResponse, kLast = ResponseRecord::kLast,
                            kError = ResponseRecord::kError, kAgain = ResponseRecord::kReschedule;
  test::FakeHost host_{"python", test::FakeHost::Threads::kReal};
  test::RecordingReporter reporter_;
  ExecutionContext context_{"m", false, &reporter_, &host_.clock(), &host_.log()};
  SlabTable slabs_{"test", 64 << 20, *this};
  BlockAllocator blocks_{slabs_, 1 << 20};
  Executions executions_{context_, blocks_, slabs_};
  SlabTable::Slab own_;
  Taker taker_;
  std::vector<std::unique_ptr<TestRequest>> requests_;
  const std::byte* batch_ = nullptr;
  bool sends_ = true;
  int returned_ = 0;
};

TEST_F(ExecutionsTest, ABatchIsAnsweredInItsOrder) {
  const uint64_t first = begin(3);
  EXPECT_NE(executions_.running_since_ns(), 0);
  EXPECT_TRUE(
      say({{first, kData | kLast, 7}, {first + 1, kData | kLast | kError}, {first + 2, kData | kLast, 9}},
          first)
          .ok());
  EXPECT_EQ(got(0), "7!");
  EXPECT_EQ(got(1), "E:it fails!");
  EXPECT_EQ(requests_[1]->response().code, Code::kNotFound);
  EXPECT_EQ(got(2), "9!");
  EXPECT_EQ(returned_, 1);
  EXPECT_EQ(executions_.running_since_ns(), 0);
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{2}) << "the failed one is not counted";
  EXPECT_EQ(reporter_.disordered_times(), 0u);
}

TEST_F(ExecutionsTest, SendersAnswerBeforeAndAfterTheEndOfTheBatch) {
  const uint64_t first = begin(3);
  EXPECT_TRUE(say({{first, kData, 1}}).ok());
  EXPECT_EQ(got(0), "") << "a response of a model that is not decoupled is sent with the final flag";
  EXPECT_TRUE(say({{first, kLast}, {first + 1, kData | kLast, 2}}).ok());
  EXPECT_EQ(got(0), "1!");
  EXPECT_FALSE(requests_[0]->got_release());
  EXPECT_TRUE(say({{first, kLast}, {first + 1, 0}, {first + 2, 0}}, first).ok());
  EXPECT_TRUE(requests_[0]->done() && requests_[1]->done());
  EXPECT_TRUE(requests_[2]->got_release() && !requests_[2]->got_final());
  EXPECT_TRUE(say({{first + 2, kData | kLast, 3}}).ok());
  EXPECT_EQ(got(2), "3!");
  EXPECT_TRUE(say({{first + 2, kData | kLast, 4}, {first + 77, kData | kLast, 4}}).ok())
      << "what is over is let alone";
  EXPECT_EQ(got(2), "3!");
}

TEST_F(ExecutionsTest, WhoIsNeverAnsweredIsTold) {
  const uint64_t first = begin(1);
  EXPECT_TRUE(say({{first, kLast}}, first).ok());
  EXPECT_EQ(got(0), "E:model 'm' has not answered the request!");
}

TEST_F(ExecutionsTest, ADecoupledRequestHasAnyNumberOfResponses) {
  context_.decoupled = true;
  const uint64_t first = begin(2);
  EXPECT_TRUE(say({{first, kData, 1}, {first, kData, 2}}).ok());
  EXPECT_TRUE(say({{first, 0}, {first + 1, kLast}}, first).ok());
  EXPECT_EQ(got(0), "1 2");
  EXPECT_EQ(got(1), "!") << "only the end";
  EXPECT_TRUE(say({{first, kData, 3}}).ok());
  EXPECT_TRUE(say({{first, kData | kLast, 4}}).ok());
  EXPECT_EQ(got(0), "1 2 3 4!");
}

TEST_F(ExecutionsTest, ARequestGoesBackToItsScheduler) {
  const uint64_t first = begin(2);
  EXPECT_TRUE(say({{first, kAgain}, {first + 1, kData | kLast, 1}}, first).ok());
  EXPECT_EQ(taker_.taken.size(), 1u);
  EXPECT_EQ(got(0), "");
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{2});
  fail_request(*taker_.taken[0], unavailable("the end of the test"));
  taker_.refuses = true;
  const uint64_t second = begin(1);
  EXPECT_TRUE(say({{second, kAgain}}, second).ok());
  EXPECT_EQ(got(2), "E:it is over!");
}

TEST_F(ExecutionsTest, ACancellationIsSeenAtOnce) {
  const uint64_t first = begin(2);
  EXPECT_EQ(cancelled(0), 0u);
  requests_[0]->cancel();
  EXPECT_EQ(cancelled(0), 1u);
  EXPECT_EQ(cancelled(1), 0u);
  EXPECT_TRUE(say({{first, kData | kLast, 1}, {first + 1, kData | kLast, 1}}, first).ok());
  requests_[1]->cancel();
  EXPECT_EQ(cancelled(1), 0u) << "nobody listens any more";
}

TEST_F(ExecutionsTest, WhoMakesCallsForABatchIsToldWhenNobodyWaitsForIt) {
  struct Told final : CancellationListener {
    void on_cancelled(uint64_t batch, uint64_t handle, bool is_whole) noexcept override {
      text += cat(batch, "/", handle, is_whole ? "! " : " ");
    }
    std::string text;
  } told;
  executions_.set_cancellation_listener(told);
  const uint64_t first = begin(3);
  requests_[1]->cancel();
  requests_[0]->cancel();
  EXPECT_EQ(told.text, cat(first, "/", first + 1, " ", first, "/", first, " "));
  requests_[2]->cancel();
  EXPECT_EQ(told.text, cat(first, "/", first + 1, " ", first, "/", first, " ", first, "/", first + 2, "! "));
  EXPECT_TRUE(
      say({{first, kData | kLast, 1}, {first + 1, kData | kLast, 1}, {first + 2, kData | kLast, 1}}, first)
          .ok());
  told.text.clear();
  const uint64_t second = begin(1);  // counts anew
  requests_[3]->cancel();
  EXPECT_EQ(told.text, cat(second, "/", second, "! "));
  EXPECT_TRUE(say({{second, kData | kLast, 1}}, second).ok());
}

TEST_F(ExecutionsTest, TheEndOfTheWorkerAnswersAll) {
  const uint64_t first = begin(2);
  EXPECT_TRUE(say({{first, kData | kLast, 1}}).ok());
  executions_.fail_all(unavailable("gone"));
  EXPECT_EQ(got(0), "1!");
  EXPECT_EQ(got(1), "E:gone!");
  Request* pointer = &requests_.emplace_back(std::make_unique<TestRequest>())->request();
  requests_.back()->mark_accepted();
  RingMessage message;
  EXPECT_TRUE(executions_.prepare({&pointer, 1}, 1, message).ok());
  EXPECT_FALSE(executions_.begin([] { return true; }));
  EXPECT_FALSE(requests_.back()->got_final());
  fail_request(*pointer, unavailable("refused"));
}

TEST_F(ExecutionsTest, ACallIsPartOfARequestThatIsInside) {
  context_.decoupled = true;
  auto* trace = reinterpret_cast<Trace*>(&context_);  // which is only passed on
  const uint64_t first = begin(2);
  requests_[1]->request().trace = trace;
  EXPECT_EQ(executions_.trace_of(first), nullptr) << "it is not traced";
  EXPECT_EQ(executions_.trace_of(first + 1), trace);
  EXPECT_EQ(executions_.trace_of(first + 2), nullptr);
  EXPECT_EQ(executions_.trace_of(0), nullptr) << "it could be either";
  EXPECT_TRUE(say({{first, kLast}, {first + 1, 0}}, first).ok());
  EXPECT_EQ(executions_.trace_of(first + 1), nullptr) << "it is released, and its trace may have gone";
  EXPECT_TRUE(say({{first + 1, kLast}}).ok());
  const uint64_t second = begin(1);
  requests_[2]->request().trace = trace;
  EXPECT_EQ(executions_.trace_of(0), trace) << "there is no other";
  requests_[1]->request().trace = requests_[2]->request().trace = nullptr;
  EXPECT_TRUE(say({{second, kLast}}, second).ok());
}

TEST_F(ExecutionsTest, WhatIsNotSentGivesItsMemoryBack) {
  sends_ = false;
  Request* pointer = &requests_.emplace_back(std::make_unique<TestRequest>())->request();
  requests_.back()->mark_accepted();
  requests_.back()->add_input("INPUT0", DataType::kInt32, {100'000}, std::vector<int32_t>(100'000));
  for (int i = 0; i < 100; ++i) {
    RingMessage message;
    ASSERT_TRUE(executions_.prepare({&pointer, 1}, 1, message).ok());
    ASSERT_FALSE(executions_.begin([] { return false; }));
  }
  EXPECT_LT(slabs_.size_bytes(), 8u << 20);
  fail_request(*pointer, unavailable("refused"));
}

}  // namespace
}  // namespace atl::python
