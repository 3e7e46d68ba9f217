#include "models/catalog/loading/warmup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;
using Sample = inference::ModelWarmup;
using Change = std::function<void(Sample&)>;

/// Adds an input of zeros.
Sample::Input& add_input(Sample& sample, const std::string& name, inference::DataType datatype,
                         const std::vector<int64_t>& dims) {
  Sample::Input& input = (*sample.mutable_inputs())[name];
  input.set_data_type(datatype);
  for (int64_t dim : dims) input.add_dims(dim);
  input.set_zero_data(true);
  return input;
}

/// The simple configuration with one sample of batch size 1 for INPUT0, changed.
std::string with_sample(const Change& change, std::string_view more = {}) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(cat(kSimpleConfig, more), &config));
  Sample& sample = *config.add_model_warmup();
  sample.set_name("s");
  sample.set_batch_size(1);
  add_input(sample, "INPUT0", inference::TYPE_FP32, {4});
  change(sample);
  return cat(kSerialized, config.SerializeAsString());
}

TEST(Warmup, RunsEverySampleOnEveryInstanceUncounted) {
  CatalogBench bench;
  bench.put("m", with_sample(
                     [](Sample& sample) {
                       sample.set_batch_size(3);
                       sample.set_count(2);
                     },
                     R"( model_warmup { name: "skipped" }
                         instance_group { name: "g" count: 2 kind: KIND_CPU }
                         instance_group { name: "p" count: 1 kind: KIND_CPU passive: true })"));
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  std::vector<uint64_t> executions;
  for (test::FakeInstance* instance : bench.backend.instances()) executions.push_back(instance->executions());
  EXPECT_THAT(executions, ElementsAre(2, 2, 0));
  EXPECT_THAT(bench.backend.instances()[0]->batches()[0].batch_sizes, ElementsAre(1, 1, 1));
  auto model = bench.catalog().acquire("m", 1);
  ModelStatistics statistics = (*model)->statistics();
  EXPECT_EQ(statistics.inference_count + statistics.execution_count + statistics.success.count, 0U);
  EXPECT_TRUE(statistics.batches.empty());
}

TEST(Warmup, ControlTensorsHaveTheBatchDimensionToo) {
  CatalogBench bench;
  bench.put("m", with_sample([](Sample& sample) {
              add_input(sample, "START", inference::TYPE_STRING, {2}).set_random_data(true);
            }));
  std::vector<std::string> seen;
  bench.backend.behavior.on_execute = [&](const Batch& batch) {
    for (const InputTensor& input : batch.requests[0]->inputs) {
      seen.push_back(cat(input.name, " ", shape_text(input.shape), " ", input.size_bytes));
    }
  };
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_THAT(seen, ElementsAre("INPUT0 [1,4] 16", "START [1,2] 8"));
}

TEST(Warmup, FailuresFailTheLoad) {
  struct Case {
    Change change;
    std::string why;
    uint32_t fail_executes = 0;
  };
  auto input = [](Sample& sample) -> Sample::Input& { return (*sample.mutable_inputs())["INPUT0"]; };
  const std::vector<Case> cases = {
      {[](Sample&) {}, "the fake instance was told to fail; ", 1},
      {[](Sample& sample) { sample.clear_inputs(); },
       "[request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'm'. Got input(s) [], but "
       "missing required input(s) ['INPUT0']. Please provide all required input(s).; "},
      {[](Sample& sample) { sample.set_batch_size(9); }, "batch_size is 9, expected at most 8; "},
      {[](Sample& sample) { sample.set_count(1'000'000'000); },
       "count is 1000000000, expected at most 10000; "},
      {[&](Sample& sample) { input(sample).clear_data_type(); },
       "warmup setting expects input 'INPUT0' to have input_data_type set; "},
      {[&](Sample& sample) { input(sample).set_dims(0, -1); },
       "warmup setting expects all variable-size dimensions are specified for input 'INPUT0'; "},
      {[&](Sample& sample) { input(sample).set_dims(0, 1'000'000'000'000); },
       "input 'INPUT0' has 1000000000000 elements, more than 1073741824 bytes; "},
      {[&](Sample& sample) { input(sample).set_input_data_file("../x"); },
       "warmup file '../x' of input 'INPUT0': is outside model directory; "},
      {[&](Sample& sample) { input(sample).set_input_data_file("x"); },
       "warmup file 'x' of input 'INPUT0': No such file or directory; "},
  };
  for (const Case& one : cases) {
    CatalogBench bench;
    bench.put("m", with_sample(one.change));
    bench.backend.behavior.fail_executes = one.fail_executes;
    EXPECT_EQ(bench.load_one("m").message(),
              cat("version 1 is at UNAVAILABLE state: Invalid argument: failed to run warmup sample 's': ",
                  one.why, ";"));
    EXPECT_EQ(bench.backend.live_models(), 0);
  }
}

/// A model whose backend keeps its warm-up requests.
class UnansweredWarmup : public ::testing::Test {
 protected:
  UnansweredWarmup()
      : bench_(CatalogBench::Threads::kSimulated, [](test::FakeOptions& options) {
          options.set_duration_ns("warmup_timeout", kNsPerSecond).set_int("load_retry_count", 3);
        }) {
    bench_.put("m", with_sample([](Sample& sample) { sample.set_batch_size(2); }));
    bench_.backend.behavior.answer_later = true;
    bench_.backend.behavior.busy_ns = kNsPerSecond;
  }
  void answer_all() {
    for (test::FakeInstance* instance : bench_.backend.instances()) instance->answer_held();
    bench_.host.run_ready();
    EXPECT_EQ(bench_.backend.live_models(), 0);
  }
  std::string holding() { return bench_.plugin->holding(); }

  CatalogBench bench_;
  const std::string kFailure =
      "version 1 is at UNAVAILABLE state: Deadline exceeded: failed to run warmup sample 's': the backend has not "
      "answered within 1 s; ;";
};

TEST_F(UnansweredWarmup, FailsTheLoadAndKeepsTheVersionUntilItIsAnswered) {
  EXPECT_EQ(bench_.load_one("m").message(), kFailure);
  EXPECT_EQ(bench_.backend.live_models(), 1) << "it is not tried again";
  EXPECT_EQ(holding(), "a warm-up request of model 'm' version 1 that was not answered");
  ASSERT_EQ(bench_.backend.instances().size(), 1U);
  answer_all();
  EXPECT_EQ(holding(), "");
  bench_.backend.behavior.answer_later = false;
  EXPECT_EQ(bench_.load_one("m").text(), "OK");
}

TEST_F(UnansweredWarmup, OnlySoManyAreLeft) {
  for (uint32_t i = 0; i < LeftWarmups::kMost; ++i) EXPECT_EQ(bench_.load_one("m").message(), kFailure);
  EXPECT_THAT(bench_.load_one("m").message(),
              ::testing::HasSubstr("8 warm-up requests of earlier loads were not answered"));
  EXPECT_EQ(bench_.backend.live_models(), static_cast<int>(LeftWarmups::kMost));
  answer_all();
}

TEST(Warmup, TheEndOfTheServerIsNotKeptWaiting) {
  CatalogBench bench(CatalogBench::Threads::kReal,
                     [](test::FakeOptions& options) { options.set_duration_ns("warmup_timeout", 0); });
  bench.put("m", with_sample([](Sample&) {}));
  bench.backend.behavior.answer_later = true;
  std::promise<Status> loaded;
  bench.catalog().load({"m"}, [&](const std::vector<ModelLoadResult>& results) {
    loaded.set_value(results[0].status.clone());
  });
  while (bench.backend.instances().empty() || bench.backend.instances()[0]->executions() == 0) {
    std::this_thread::yield();
  }
  bench.host.gate().close();
  EXPECT_FALSE(loaded.get_future().get().ok());
  bench.backend.instances()[0]->answer_held();
}

}  // namespace
}  // namespace atl::models
