#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "backends/repeat/repeat_backend.h"
#include "backends/repeat/testing/repeat_test_models.h"

namespace atl::repeat {
namespace {

using test::FakeHost;
using test::ReceivedResponse;
using test::TestRequest;

/// In virtual time: what is sent when is exact.
class RepeatTest : public ::testing::Test {
 protected:
  void load(const ModelDescription& model_description = model_of()) {
    instance_.reset();
    auto model = backend_.load(source_of(model_description));
    ASSERT_TRUE(model.ok()) << model.status().text();
    model_ = std::move(model).value();
    InstanceSpec spec;
    spec.name = "m_0";
    spec.reporter = &reporter_;
    auto instance = model_->create_instance(spec);
    ASSERT_TRUE(instance.ok()) << instance.status().text();
    instance_ = std::move(instance).value();
  }
  std::unique_ptr<TestRequest> request(const std::vector<int32_t>& values,
                                       const std::vector<uint32_t>& delays,
                                       const std::vector<uint32_t>& wait = {0}) {
    auto made = std::make_unique<TestRequest>("r");
    made->add_input("IN", DataType::kInt32, {static_cast<int64_t>(values.size())}, values);
    made->add_input("DELAY", DataType::kUint32, {static_cast<int64_t>(delays.size())}, delays);
    made->add_input("WAIT", DataType::kUint32, {static_cast<int64_t>(wait.size())}, wait);
    made->add_output("OUT");
    made->add_output("IDX");
    return made;
  }
  void execute(TestRequest& one) {
    one.mark_accepted();
    Request* pointer = &one.request();
    ASSERT_TRUE(instance_->execute({.requests = {&pointer, 1}, .total_batch_size = 1}).ok());
  }
  void expect_clean(const TestRequest& one) {
    EXPECT_TRUE(one.done());
    for (const std::string& problem : one.problems()) ADD_FAILURE() << problem;
    EXPECT_EQ(reporter_.of("r").total(), 1u);
    reporter_.clear();
  }
  static void expect_data(const ReceivedResponse& response, int32_t value, uint32_t index,
                          bool final = false) {
    EXPECT_EQ(response.code, Code::kOk) << response.message;
    EXPECT_EQ(response.final(), final);
    ASSERT_EQ(response.outputs.size(), 2u);
    EXPECT_EQ(response.outputs[0].name, "OUT");
    EXPECT_EQ(response.outputs[0].datatype, DataType::kInt32);
    EXPECT_EQ(response.outputs[0].shape, std::vector<int64_t>{1});
    EXPECT_EQ(response.outputs[0].bytes, test::bytes_of(std::vector{value}));
    EXPECT_EQ(response.outputs[1].name, "IDX");
    EXPECT_EQ(response.outputs[1].datatype, DataType::kUint32);
    EXPECT_EQ(response.outputs[1].bytes, test::bytes_of(std::vector{index}));
  }
  static void expect_end(const ReceivedResponse& response) {
    EXPECT_TRUE(response.final());
    EXPECT_TRUE(response.empty);
  }
  int64_t now_ms() { return host_.clock().now_ns() / kNsPerMs - start_ms_; }

  FakeHost host_;
  const int64_t start_ms_ = host_.clock().now_ns() / kNsPerMs;
  test::RecordingReporter reporter_;
  RepeatBackend backend_{host_.clock(), host_.executors()};
  std::unique_ptr<BackendModel> model_;
  std::unique_ptr<BackendInstance> instance_;
};

TEST_F(RepeatTest, OneResponseAnElementEachAfterItsDelay) {
  load();
  auto one = request({4, -2, 0, 1}, {5, 0, 1000, 25});
  std::vector<int64_t> sent_ms;
  one->on_response([&](const ReceivedResponse&) { sent_ms.push_back(now_ms()); });
  execute(*one);
  EXPECT_TRUE(one->responses().empty()) << "execute() does not wait";
  host_.run_until_idle();
  auto responses = one->responses();
  ASSERT_EQ(responses.size(), 5u);
  expect_data(responses[0], 4, 0);
  expect_data(responses[1], -2, 1);
  expect_data(responses[2], 0, 2);
  expect_data(responses[3], 1, 3);
  expect_end(responses[4]);
  EXPECT_EQ(sent_ms, (std::vector<int64_t>{5, 5, 1005, 1030, 1030}));
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{1});
  EXPECT_EQ(reporter_.disordered_times(), 0u);
  expect_clean(*one);
}

TEST_F(RepeatTest, NoElementsIsOnlyTheEnd) {
  for (const char* final_with_last : {"false", "true"}) {
    ModelDescription model = model_of();
    model.parameters["final_with_last"] = final_with_last;
    load(model);
    auto one = request({}, {});
    execute(*one);
    host_.run_until_idle();
    ASSERT_EQ(one->responses().size(), 1u);
    expect_end(one->response());
    EXPECT_EQ(reporter_.of("r").succeeded, 1u);
    expect_clean(*one);
  }
}

TEST_F(RepeatTest, TheLastResponseMayBeTheFinalOne) {
  ModelDescription model = model_of();
  model.parameters["final_with_last"] = "true";
  load(model);
  auto one = request({8, 9}, {0, 3});
  execute(*one);
  host_.run_until_idle();
  ASSERT_EQ(one->responses().size(), 2u);
  expect_data(one->responses()[0], 8, 0);
  expect_data(one->responses()[1], 9, 1, true);
  expect_clean(*one);
}

TEST_F(RepeatTest, AnErrorInTheMiddleEndsNothing) {
  for (const char* final_with_last : {"false", "true"}) {
    for (int fail_at : {0, 1, 2}) {
      ModelDescription model = model_of("m");
      model.parameters["fail_at"] = std::to_string(fail_at);
      model.parameters["final_with_last"] = final_with_last;
      load(model);
      auto one = request({5, 6, 7}, {0, 0, 0});
      execute(*one);
      host_.run_until_idle();
      auto responses = one->responses();
      bool with_last = std::string_view(final_with_last) == "true";
      ASSERT_EQ(responses.size(), with_last ? 3u : 4u);
      for (int i = 0; i < 3; ++i) {
        const ReceivedResponse& response = responses[static_cast<size_t>(i)];
        if (i != fail_at) {
          expect_data(response, 5 + i, static_cast<uint32_t>(i), with_last && i == 2);
          continue;
        }
        EXPECT_EQ(response.code, Code::kInternal);
        EXPECT_EQ(response.message,
                  cat("model 'm': response ", i, " fails, as parameter 'fail_at' of its configuration asks"));
        EXPECT_TRUE(response.outputs.empty());
        EXPECT_EQ(response.final(), with_last && i == 2);
      }
      expect_clean(*one);
    }
  }
}

TEST_F(RepeatTest, TheRequestIsReleasedAfterItsWait) {
  load();
  struct {
    uint32_t wait_ms, delay_ms;
  } cases[] = {{0, 50}, {20, 50}, {50, 50}, {51, 50}, {3000, 0}};
  for (auto [wait_ms, delay_ms] : cases) {
    auto one = request({1}, {delay_ms}, {wait_ms});
    int64_t begun_ms = now_ms(), released_ms = -1, ended_ms = -1;
    one->on_release([&](Request&) { released_ms = now_ms(); });
    one->on_response([&](const ReceivedResponse& response) {
      if (response.final()) ended_ms = now_ms();
    });
    execute(*one);
    host_.run_until_idle();
    EXPECT_EQ(released_ms - begun_ms, wait_ms);
    EXPECT_EQ(ended_ms - begun_ms, delay_ms);
    expect_clean(*one);
  }
}

TEST_F(RepeatTest, ManyResponsesLetOthersTakeTheirTurn) {
  load();
  std::vector<int32_t> values(1000);
  std::vector<uint32_t> delays(1000, 0);
  auto many = request(values, delays), few = request({1}, {0});
  execute(*many);
  execute(*few);
  size_t sent_before = 0;
  few->on_done([&] { sent_before = many->responses().size(); });
  host_.run_until_idle();
  EXPECT_EQ(many->responses().size(), 1001u);
  EXPECT_LT(sent_before, 200u);
  EXPECT_TRUE(many->done() && few->done());
  EXPECT_TRUE(many->problems().empty() && few->problems().empty());
}

TEST_F(RepeatTest, ACancellationIsNoticedInTheMiddleOfADelay) {
  load();
  for (uint32_t wait_ms : {0U, 5'000'000U}) {
    auto one = request({1, 2}, {0, 4'000'000'000}, {wait_ms});
    execute(*one);
    host_.run_for(60 * kNsPerMs);
    ASSERT_EQ(one->responses().size(), 1u);
    one->cancel();
    EXPECT_FALSE(one->done());
    host_.run_for(10 * kNsPerMs);
    ASSERT_EQ(one->responses().size(), 2u);
    EXPECT_EQ(one->responses()[1].code, Code::kCancelled);
    EXPECT_TRUE(one->responses()[1].final());
    size_t canceled = static_cast<size_t>(FailureReason::kCanceled);
    EXPECT_EQ(reporter_.of("r").not_executed[canceled], wait_ms == 0 ? 0u : 1u)
        << "counted once, as what it was";
    EXPECT_EQ(reporter_.batches().size(), wait_ms == 0 ? 1u : 0u);
    expect_clean(*one);
    EXPECT_EQ(host_.simulation().pending_timers(), 0u);
  }
}

TEST_F(RepeatTest, ACancelledRequestSendsNothing) {
  load();
  auto one = request({1}, {0});
  one->cancel();
  execute(*one);
  host_.run_until_idle();
  ASSERT_EQ(one->responses().size(), 1u);
  EXPECT_EQ(one->response().code, Code::kCancelled);
  expect_clean(*one);
}

TEST_F(RepeatTest, ACancellationAfterTheEndReleases) {
  load();
  auto one = request({1}, {0}, {1'000'000});
  execute(*one);
  host_.run_for(kNsPerMs);
  EXPECT_TRUE(one->got_final());
  EXPECT_FALSE(one->got_release());
  one->cancel();
  host_.run_for(10 * kNsPerMs);
  EXPECT_EQ(reporter_.of("r").succeeded, 1u);
  expect_clean(*one);
}

TEST_F(RepeatTest, BadInputsAreTheRequestsFailure) {
  load();
  auto message_of = [&](std::unique_ptr<TestRequest> one) {
    execute(*one);
    host_.run_until_idle();
    EXPECT_EQ(one->response().code, Code::kInvalidArgument);
    EXPECT_EQ(reporter_.of("r").failed, 1u);
    expect_clean(*one);
    return one->response().message;
  };
  EXPECT_EQ(message_of(request({1, 2}, {0})), "expected IN and DELAY shape to match, got [2] and [1]");
  EXPECT_EQ(message_of(request({}, {0})), "expected IN and DELAY shape to match, got [0] and [1]");
  EXPECT_EQ(message_of(request({1}, {0}, {})), "unexpected size for WAIT input: 0 elements, expected 1");
  EXPECT_EQ(message_of(request({1}, {0}, {1, 2})), "unexpected size for WAIT input: 2 elements, expected 1");
  EXPECT_EQ(message_of(std::make_unique<TestRequest>("r")), "input 'IN' is missing");
  auto odd = std::make_unique<TestRequest>("r");
  odd->add_raw_input("IN", DataType::kInt32, {1}, "12345");
  EXPECT_EQ(message_of(std::move(odd)), "input 'IN' has 5 bytes, expected a multiple of 4");
  auto gpu = request({1}, {0});
  const_cast<Buffer&>(gpu->request().inputs[0].buffers[0]).kind = MemoryKind::kGpu;
  EXPECT_NE(message_of(std::move(gpu)).find("input 'IN' is in memory of GPU 0"), std::string::npos);
}

TEST_F(RepeatTest, AFailedAllocationIsTheEnd) {
  load();
  auto one = request({1, 2}, {0, 0});
  one->fail_allocations(Code::kResourceExhausted, "none left");
  execute(*one);
  host_.run_until_idle();
  ASSERT_EQ(one->responses().size(), 1u);
  EXPECT_EQ(one->response().code, Code::kResourceExhausted);
  EXPECT_TRUE(one->response().final());
  expect_clean(*one);
}

TEST_F(RepeatTest, OnlyWantedOutputsAreWritten) {
  load();
  TestRequest one("r");
  one.add_input("IN", DataType::kInt32, {1}, std::vector<int32_t>{3});
  one.add_input("DELAY", DataType::kUint32, {1}, std::vector<uint32_t>{0});
  one.add_input("WAIT", DataType::kUint32, {1}, std::vector<uint32_t>{0});
  one.add_output("IDX");
  execute(one);
  host_.run_until_idle();
  ASSERT_EQ(one.response().outputs.size(), 1u);
  EXPECT_EQ(one.response().outputs[0].name, "IDX");
  expect_clean(one);
}

TEST_F(RepeatTest, WhatIsLeftWhenTheInstanceEndsIsAnswered) {
  load();
  auto waiting = request({1, 2}, {0, 1000}, {5000}), fresh = request({1}, {0});
  execute(*waiting);
  host_.run_for(kNsPerMs);
  execute(*fresh);
  instance_.reset();
  for (auto* one : {waiting.get(), fresh.get()}) {
    EXPECT_TRUE(one->done());
    EXPECT_TRUE(one->problems().empty());
    EXPECT_EQ(one->responses().back().code, Code::kUnavailable);
    EXPECT_EQ(one->responses().back().message,
              "the instance of model 'repeat_int32' ended before its last response");
  }
  EXPECT_EQ(reporter_.all().not_executed[static_cast<size_t>(FailureReason::kOther)], 2u);
}

TEST_F(RepeatTest, InstancesAreRefusedWithAReason) {
  load();
  InstanceSpec spec;
  spec.name = "m_0";
  spec.kind = InstanceKind::kGpu;
  EXPECT_EQ(model_->create_instance(spec).status().message(),
            "instance 'm_0' is of kind GPU; the repeat backend serves KIND_CPU and KIND_MODEL");
  spec.kind = InstanceKind::kModel;
  host_.simulation().refuse_creates(1);
  EXPECT_EQ(model_->create_instance(spec).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(model_->create_instance(spec).ok());
}

}  // namespace
}  // namespace atl::repeat
