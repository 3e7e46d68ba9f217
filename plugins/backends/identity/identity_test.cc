#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/recording_reporter.h"
#include "atoll/testing/recording_sink.h"
#include "backends/identity/identity_backend.h"
#include "backends/identity/testing/identity_test_models.h"

namespace atl::identity {
namespace {

using test::TestRequest;

class IdentityTest : public ::testing::Test {
 protected:
  Status load(const ModelDescription& description) {
    auto model = backend_.load(source_of(description));
    if (!model.ok()) return std::move(model).status();
    model_ = std::move(model).value();
    InstanceSpec spec;
    spec.name = "m_0";
    spec.reporter = &reporter_;
    auto instance = model_->create_instance(spec);
    if (!instance.ok()) return std::move(instance).status();
    instance_ = std::move(instance).value();
    return {};
  }
  void execute(const std::vector<TestRequest*>& requests) {
    std::vector<Request*> pointers;
    for (TestRequest* request : requests) {
      request->mark_accepted();
      pointers.push_back(&request->request());
    }
    Batch batch{.requests = pointers};
    for (const Request* request : pointers) batch.total_batch_size += request->batch_weight();
    ASSERT_TRUE(instance_->execute(batch).ok());
    for (TestRequest* request : requests) {
      ASSERT_TRUE(request->done());
      for (const std::string& problem : request->problems()) ADD_FAILURE() << problem;
    }
  }
  std::string load_error(const ModelDescription& description) {
    Status status = load(description);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  }

  test::FakeClock clock_;
  test::RecordingReporter reporter_;
  IdentityBackend backend_{clock_};
  std::unique_ptr<BackendModel> model_;
  std::unique_ptr<BackendInstance> instance_;
};

TEST_F(IdentityTest, EveryTypeComesBackBitForBit) {
  for (uint32_t i = 1; i < kDataTypeCount; ++i) {
    auto type = static_cast<DataType>(i);
    SCOPED_TRACE(data_type_name(type));
    ASSERT_TRUE(load(model_of("m", type, {-1, 3})).ok());
    std::string bytes;
    for (uint32_t at = 0; at < 6 * std::max(1u, data_type_size_bytes(type)); ++at) {
      bytes.push_back(static_cast<char>(at * 37 + 11));
    }
    TestRequest request("r");
    request.add_raw_input("INPUT0", type, {2, 3}, bytes, {1, 1, 5});
    request.add_output("OUTPUT0");
    execute({&request});
    auto response = request.response();
    const test::ReceivedOutput* output = response.find("OUTPUT0");
    ASSERT_NE(output, nullptr);
    EXPECT_EQ(output->datatype, type);
    EXPECT_EQ(output->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(output->bytes, bytes);
  }
}

TEST_F(IdentityTest, OnlyRequestedOutputsAreWritten) {
  ASSERT_TRUE(load(model_of("m", DataType::kFp32, {-1}, 3)).ok());
  TestRequest request("r");
  for (int i = 0; i < 3; ++i)
    request.add_input<float>(cat("INPUT", i), DataType::kFp32, {1}, {1.0f * static_cast<float>(i)});
  request.add_output("OUTPUT2");
  request.add_output("OUTPUT0");
  execute({&request});
  auto response = request.response();
  ASSERT_EQ(response.outputs.size(), 2u);
  EXPECT_EQ(response.outputs[0].name, "OUTPUT2");
  EXPECT_EQ(test::values_of<float>(response.find("OUTPUT2")->bytes), std::vector{2.0f});
  EXPECT_EQ(test::values_of<float>(response.find("OUTPUT0")->bytes), std::vector{0.0f});
}

TEST_F(IdentityTest, TheOutputOfAMissingOptionalInputIsZeros) {
  ModelDescription model = model_of("m", DataType::kInt16, {-1, 3}, 2, 8);
  model.inputs[1].optional = true;
  ASSERT_TRUE(load(model).ok());
  TestRequest request("r");
  request.add_raw_input("INPUT0", DataType::kInt16, {2, 1, 3}, std::string(12, 'x'));
  request->batch_size = 2;
  request.add_output("OUTPUT0");
  request.add_output("OUTPUT1");
  execute({&request});
  auto response = request.response();
  ASSERT_EQ(response.outputs.size(), 2u);
  EXPECT_EQ(response.outputs[1].datatype, DataType::kInt16);
  EXPECT_EQ(response.outputs[1].shape, (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(response.outputs[1].bytes, std::string(12, '\0'));
}

TEST_F(IdentityTest, ZerosOfTextsAreEmptyOnes) {
  ModelDescription model = model_of("m", DataType::kBytes, {2});
  model.inputs[0].optional = true;
  ASSERT_TRUE(load(model).ok());
  TestRequest request("r");
  request.add_output("OUTPUT0");
  execute({&request});
  EXPECT_EQ(request.response().outputs.at(0).bytes, std::string(8, '\0'));
}

TEST_F(IdentityTest, ZerosThatAreTooManyFailTheRequest) {
  ModelDescription model = model_of("m", DataType::kFp32, {int64_t{1} << 40, int64_t{1} << 22});
  model.inputs[0].optional = true;
  ASSERT_TRUE(load(model).ok());
  TestRequest request("r");
  request.add_output("OUTPUT0");
  execute({&request});
  EXPECT_EQ(request.response().message, "output 'OUTPUT0' of zeros is too large");
}

TEST_F(IdentityTest, EmptyTensorsAndMissingInputs) {
  ASSERT_TRUE(load(model_of("m", DataType::kFp32, {-1}, 2)).ok());
  TestRequest request("r");
  request.add_raw_input("INPUT0", DataType::kFp32, {0}, "");
  request.add_output("OUTPUT0");
  request.add_output("OUTPUT1");
  execute({&request});
  auto response = request.response();
  EXPECT_EQ(response.code, Code::kOk);
  ASSERT_EQ(response.outputs.size(), 1u);
  EXPECT_EQ(response.outputs[0].shape, std::vector<int64_t>{0});
  EXPECT_EQ(response.outputs[0].bytes, "");
}

TEST_F(IdentityTest, RequestsOfOneBatchGetTheirOwnBytesAndCountAsOneExecution) {
  ASSERT_TRUE(load(model_of("m", DataType::kInt32, {-1}, 1, 16)).ok());
  std::vector<std::unique_ptr<TestRequest>> requests;
  std::vector<TestRequest*> pointers;
  std::vector<std::vector<int32_t>> sent;
  for (int32_t rows = 1; rows <= 4; ++rows) {
    int64_t columns = 4 - rows;  // other batch sizes and other shapes, one of them empty
    sent.emplace_back(static_cast<size_t>(rows * columns), 100 * rows);
    requests.push_back(std::make_unique<TestRequest>(cat("r", rows)));
    TestRequest& request = *requests.back();
    request.add_raw_input("INPUT0", DataType::kInt32, {rows, columns}, test::bytes_of(sent.back()),
                          {sent.back().size()}, 3);
    request.add_output("OUTPUT0");
    request->batch_size = static_cast<uint32_t>(rows);
    pointers.push_back(&request);
  }
  execute(pointers);
  for (size_t i = 0; i < pointers.size(); ++i) {
    auto response = pointers[i]->response();
    ASSERT_EQ(response.outputs.size(), 1u) << response.message;
    auto rows = static_cast<int64_t>(i) + 1;
    EXPECT_EQ(response.outputs[0].shape, (std::vector<int64_t>{rows, 4 - rows}));
    EXPECT_EQ(test::values_of<int32_t>(response.outputs[0].bytes), sent[i]);
  }
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{1 + 2 + 3 + 4});
  EXPECT_EQ(reporter_.all().succeeded, 4u);
}

TEST_F(IdentityTest, EachRequestOfABatchGetsAnOutputForEachInputItGave) {
  ASSERT_TRUE(load(model_of("m", DataType::kFp32, {-1}, 3, 16)).ok());
  std::vector<std::unique_ptr<TestRequest>> requests;
  std::vector<TestRequest*> pointers;
  for (int given = 0; given < 8; ++given) {  // a bit for each of the three inputs
    requests.push_back(std::make_unique<TestRequest>(cat("r", given)));
    TestRequest& request = *requests.back();
    for (int i = 0; i < 3; ++i) {
      if ((given >> i & 1) != 0) {
        request.add_input<float>(cat("INPUT", i), DataType::kFp32, {1, 1},
                                 {static_cast<float>(10 * given + i)});
      }
      request.add_output(cat("OUTPUT", i));
    }
    request->batch_size = given == 0 ? 0 : 1;
    pointers.push_back(&request);
  }
  execute(pointers);
  for (int given = 0; given < 8; ++given) {
    auto response = pointers[static_cast<size_t>(given)]->response();
    EXPECT_EQ(response.code, Code::kOk);
    for (int i = 0; i < 3; ++i) {
      const test::ReceivedOutput* output = response.find(cat("OUTPUT", i));
      ASSERT_EQ(output != nullptr, (given >> i & 1) != 0) << given << " " << i;
      if (output == nullptr) continue;
      EXPECT_EQ(test::values_of<float>(output->bytes), std::vector{static_cast<float>(10 * given + i)});
    }
  }
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{8});
}

TEST_F(IdentityTest, OnlyWhatSucceededCountsAsTheBatch) {
  ASSERT_TRUE(load(model_of("m", DataType::kFp32, {-1}, 1, 16)).ok());
  TestRequest good("good"), cancelled("cancelled"), poor("poor");
  for (TestRequest* request : {&good, &cancelled, &poor}) {
    request->add_input<float>("INPUT0", DataType::kFp32, {3, 1}, {1, 2, 3});
    request->add_output("OUTPUT0");
    request->request().batch_size = 3;
  }
  cancelled.cancel();
  poor.fail_allocations(Code::kResourceExhausted, "full");
  execute({&cancelled, &good, &poor});
  EXPECT_EQ(good.response().code, Code::kOk);
  EXPECT_EQ(cancelled.response().code, Code::kCancelled);
  EXPECT_EQ(poor.response().code, Code::kResourceExhausted);
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{3});
}

TEST_F(IdentityTest, GpuMemoryIsRefusedRequestByRequest) {
  ASSERT_TRUE(load(model_of("m", DataType::kFp32, {-1})).ok());
  TestRequest gpu("gpu"), cpu("cpu");
  for (TestRequest* request : {&gpu, &cpu}) {
    request->add_input<float>("INPUT0", DataType::kFp32, {1}, {1.0f});
    request->add_output("OUTPUT0");
  }
  Buffer there = gpu->inputs[0].buffers[0];
  there.kind = MemoryKind::kGpu;
  gpu->inputs[0].buffers = {&there, 1};
  execute({&gpu, &cpu});
  EXPECT_EQ(gpu.response().code, Code::kInvalidArgument);
  EXPECT_NE(gpu.response().message.find("INPUT0"), std::string::npos) << gpu.response().message;
  EXPECT_EQ(cpu.response().code, Code::kOk);
  EXPECT_EQ(reporter_.batches(), std::vector<uint32_t>{1});
}

TEST_F(IdentityTest, ACancelledRequestIsAnsweredCancelled) {
  ASSERT_TRUE(load(model_of("m", DataType::kFp32, {-1})).ok());
  TestRequest request("r");
  request.add_input<float>("INPUT0", DataType::kFp32, {1}, {1.0f});
  request.add_output("OUTPUT0");
  request.cancel();
  execute({&request});
  EXPECT_EQ(request.response().code, Code::kCancelled);
  EXPECT_EQ(request.response().message, "");
}

TEST_F(IdentityTest, TheDelayEndsWhenAllRequestsAreCancelled) {
  ModelDescription changed = model_of("m", DataType::kFp32, {-1});
  changed.parameters["execute_delay_ms"] = "3600000";
  ASSERT_TRUE(load(changed).ok());
  TestRequest a("a"), b("b");
  std::thread canceller([&] {
    a.cancel();
    b.cancel();
  });
  execute({&a, &b});  // an hour, were it not for the cancellations
  canceller.join();
  EXPECT_EQ(a.response().code, Code::kCancelled);
  EXPECT_EQ(b.response().code, Code::kCancelled);
}

TEST_F(IdentityTest, TheDelayIsWaitedFor) {
  ModelDescription changed = model_of("m", DataType::kFp32, {-1});
  changed.parameters["execute_delay_ms"] = "5";
  ASSERT_TRUE(load(changed).ok());
  TestRequest request("r");
  auto start = std::chrono::steady_clock::now();
  execute({&request});
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(5));
  EXPECT_EQ(request.response().code, Code::kOk);
}

TEST_F(IdentityTest, ADecoupledModelAnswersOnceAndThenEnds) {
  ModelDescription changed = model_of("m", DataType::kFp32, {-1});
  changed.decoupled = true;
  ASSERT_TRUE(load(changed).ok());
  TestRequest request("r");
  request.add_input<float>("INPUT0", DataType::kFp32, {1}, {1.0f});
  request.add_output("OUTPUT0");
  execute({&request});
  ASSERT_EQ(request.responses().size(), 2u);
  EXPECT_FALSE(request.responses()[0].final());
  EXPECT_TRUE(request.responses()[1].empty);
}

TEST_F(IdentityTest, LoadsRefusedNameTheTensor) {
  ModelDescription changed = model_of("m", DataType::kFp32, {-1});
  changed.outputs[0].name = "RESULT";
  EXPECT_EQ(load_error(changed),
            "model 'm': output 'RESULT' of an identity model is expected to be named OUTPUT<i>");

  changed = model_of("m", DataType::kFp32, {-1});
  changed.outputs[0].name = "OUTPUT7";
  EXPECT_EQ(load_error(changed), "model 'm': output 'OUTPUT7' of an identity model has no input 'INPUT7'");

  changed = model_of("m", DataType::kFp32, {-1});
  changed.outputs[0].datatype = DataType::kInt8;
  EXPECT_EQ(load_error(changed),
            "model 'm': output 'OUTPUT0' has type INT8, expected FP32 as input 'INPUT0'");

  changed = model_of("m", DataType::kFp32, {-1, 4});
  changed.outputs[0].dims[0] = 4;
  EXPECT_EQ(load_error(changed),
            "model 'm': output 'OUTPUT0' has dims [4,4], which do not take every [-1,4] of input 'INPUT0'");

  changed = model_of("m", DataType::kFp32, {4});
  changed.outputs[0].dims[0] = -1;
  EXPECT_TRUE(load(changed).ok()) << "-1 takes everything";
  changed.inputs.emplace_back().name = "READY";
  EXPECT_TRUE(load(changed).ok()) << "an input that nobody reads";
}

TEST_F(IdentityTest, ReshapesAreWhatTheBackendSees) {
  ModelDescription changed = model_of("m", DataType::kFp32, {4});
  changed.outputs[0].dims = {2, 2};
  changed.outputs[0].has_reshape = true;
  changed.outputs[0].reshape = {4};
  EXPECT_TRUE(load(changed).ok());
}

TEST_F(IdentityTest, ABadDelayIsRefused) {
  for (const char* bad : {"-1", "3600001", "1s", ""}) {
    ModelDescription changed = model_of("m", DataType::kFp32, {-1});
    changed.parameters["execute_delay_ms"] = bad;
    EXPECT_EQ(load_error(changed), cat("model 'm': parameter 'execute_delay_ms' is '", std::string_view(bad),
                                       "', expected a whole number from 0 to 3600000"));
  }
}

TEST_F(IdentityTest, AGpuInstanceIsRefused) {
  auto model = backend_.load(source_of(model_of("m", DataType::kFp32, {-1})));
  ASSERT_TRUE(model.ok());
  InstanceSpec spec;
  spec.kind = InstanceKind::kGpu;
  EXPECT_EQ((*model)->create_instance(spec).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::identity
