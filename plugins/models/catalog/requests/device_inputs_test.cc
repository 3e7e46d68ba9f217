#include "models/catalog/requests/device_inputs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_request_memory.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"

namespace atl::models {
namespace {

/// Notes what it can read, and answers.
class Reader final : public BackendInstance {
 public:
  Status execute(const Batch& batch) noexcept override {
    if (!refusal.ok()) return refusal.clone();
    weight = batch.total_batch_size;
    for (Request* request : batch.requests) {
      for (const InputTensor& input : request->inputs) {
        std::string& bytes = seen.emplace_back();
        for (const Buffer& buffer : input.buffers) {
          EXPECT_TRUE(is_host_ready(buffer));
          bytes.append(static_cast<const char*>(buffer.data), buffer.size_bytes);
        }
      }
      request->sink->send(request->sink->new_response(), kFinal);
      (void)request->release().ok();
    }
    return {};
  }
  std::vector<std::string> seen;
  uint32_t weight = 0;
  Status refusal;
};

class DeviceInputsTest : public ::testing::Test {
 protected:
  DeviceInputsTest() {
    host_.registry().publish<Memory>("gpu", gpu_, 0, Memory::kDevicesMinor);
    host_.registry().publish<RequestMemory>("budget", budget_);
    EXPECT_TRUE(inputs_.open().ok());
  }
  ~DeviceInputsTest() override {
    inputs_.close();
    EXPECT_EQ(budget_.used_bytes(), 0u);
    for (const Buffer& buffer : held_) gpu_.free(buffer);
  }
  /// The text in pieces on the device.
  void add(test::TestRequest& request, std::string_view name, const std::vector<std::string>& pieces) {
    InputTensor& input = request.request().add_input();
    input.name = name;
    auto* buffers = request->arena().make_array<Buffer>(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      held_.push_back(buffers[i] = gpu_.make(pieces[i]));
      input.size_bytes += pieces[i].size();
    }
    input.buffers = {buffers, pieces.size()};
  }
  Status execute(const std::vector<test::TestRequest*>& requests) {
    std::vector<Request*> pointers;
    Batch batch;
    for (test::TestRequest* request : requests) {
      request->mark_accepted();
      pointers.push_back(&request->request());
      batch.total_batch_size += (*request)->batch_weight();
    }
    batch.requests = pointers;
    return inputs_.execute(reader_, batch, &reporter_);
  }

  test::FakeDeviceMemory gpu_;
  test::FakeRequestMemory budget_{1000};
  test::FakeHost host_;
  test::RecordingReporter reporter_;
  DeviceInputs inputs_{host_};
  Reader reader_;
  std::vector<Buffer> held_;
};

TEST_F(DeviceInputsTest, EveryInputIsReadyAndInCpuMemory) {
  test::TestRequest request("r");
  add(request, "A", {"on the ", "", "device"});
  request.add_raw_input("B", DataType::kUint8, {4}, "host", {2});
  add(request, "C", {""});
  test::FakeDeviceEvent event;
  event.reach();
  InputTensor& late = request.add_raw_input("D", DataType::kUint8, {4}, "late");
  const_cast<Buffer&>(late.buffers[0]).ready_after = &event;
  const Buffer* in_place = request->inputs[1].buffers.data();
  uint64_t used = 0;
  request.on_release([&](Request&) { used = budget_.used_bytes(); });
  ASSERT_TRUE(execute({&request}).ok());
  EXPECT_EQ(reader_.seen, (std::vector<std::string>{"on the device", "host", "", "late"}));
  EXPECT_EQ(request->inputs[1].buffers.data(), in_place) << "what is there is not touched";
  EXPECT_TRUE(request.done());
  EXPECT_EQ(used, 0u) << "given back before the request is";
  EXPECT_TRUE(request.problems().empty());
}

TEST_F(DeviceInputsTest, WhatIsOnTheHostCostsNothing) {
  test::TestRequest request("r");
  request.add_raw_input("A", DataType::kUint8, {4}, "host");
  ASSERT_TRUE(execute({&request}).ok());
  EXPECT_EQ(gpu_.copied().first, 0u);
  EXPECT_EQ(budget_.peak_bytes(), 0u);
}

TEST_F(DeviceInputsTest, OneThatCanNotBeBroughtFailsAloneAndTheOthersRun) {
  test::TestRequest first("a"), large("b"), third("c");
  add(first, "A", {"first"});
  add(large, "A", {std::string(1000, 'x')});
  third.add_raw_input("A", DataType::kUint8, {5}, "third");
  third->batch_size = 3;
  ASSERT_TRUE(execute({&first, &large, &third}).ok());
  EXPECT_EQ(reader_.seen, (std::vector<std::string>{"first", "third"}));
  EXPECT_EQ(reader_.weight, 4u);
  EXPECT_EQ(large.response().code, Code::kResourceExhausted);
  EXPECT_NE(large.response().message.find("that all requests together may take"), std::string::npos);
  EXPECT_EQ(reporter_.all().not_executed[static_cast<uint32_t>(FailureReason::kBackend)], 1u);
  for (auto* request : {&first, &large, &third}) EXPECT_TRUE(request->done());
}

TEST_F(DeviceInputsTest, AFailureOfTheDeviceIsSaidWithTheInputsName) {
  test::TestRequest request("r");
  add(request, "A", {"bytes"});
  gpu_.fail_copies(internal_error("the device is lost"));
  ASSERT_TRUE(execute({&request}).ok());
  EXPECT_EQ(request.response().message, "input 'A': the device is lost");
  EXPECT_TRUE(reader_.seen.empty());
}

TEST_F(DeviceInputsTest, ARefusedBatchIsTheCallersUnlessSomeOfItIsAnswered) {
  reader_.refusal = internal_error("refused");
  test::TestRequest one("a");
  add(one, "A", {"bytes"});
  EXPECT_EQ(execute({&one}).message(), "refused");
  EXPECT_FALSE(one.got_final());
  fail_request(one.request(), internal_error("by the caller"));
  test::TestRequest two("b"), large("c");
  add(two, "A", {"bytes"});
  add(large, "A", {std::string(1000, 'x')});
  EXPECT_TRUE(execute({&two, &large}).ok());
  EXPECT_EQ(two.response().message, "refused");
  EXPECT_TRUE(two.done() && large.done());
}

}  // namespace
}  // namespace atl::models
