#include "warmup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;

std::string with_sample(std::string_view sample, std::string_view base = kSimpleConfig) {
  return cat(base, " model_warmup { name: \"s\" ", sample, " }");
}

constexpr std::string_view kGoodInput =
    R"(inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: 4 zero_data: true } })";

TEST(Warmup, RunsEverySampleOnEveryInstanceUncounted) {
  CatalogBench bench;
  bench.put("m", cat(with_sample(cat("batch_size: 3 count: 2 ", kGoodInput)),
                     R"( model_warmup { name: "skipped" }
                         instance_group { name: "g" count: 2 kind: KIND_CPU }
                         instance_group { name: "p" count: 1 kind: KIND_CPU passive: true })"));
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  std::vector<uint64_t> executions;
  for (test::FakeInstance* instance : bench.backend.instances()) executions.push_back(instance->executions());
  EXPECT_THAT(executions, ElementsAre(2, 2, 0));
  EXPECT_THAT(bench.backend.instances()[0]->batches()[0].batch_sizes, ElementsAre(1, 1, 1));
  ModelStatistics statistics = bench.catalog().acquire("m", 1)->get()->statistics();
  EXPECT_EQ(statistics.inference_count + statistics.execution_count + statistics.success.count, 0U);
  EXPECT_TRUE(statistics.batches.empty());
}

TEST(Warmup, AddsControlTensorsAsTheyAre) {
  CatalogBench bench;
  bench.put("m",
            with_sample(cat(
                "batch_size: 1 ", kGoodInput,
                R"( inputs { key: "START" value { data_type: TYPE_STRING dims: 2 random_data: true } })")));
  std::vector<std::string> seen;
  bench.backend.behavior.on_execute = [&](const Batch& batch) {
    for (const InputTensor& input : batch.requests[0]->inputs) {
      seen.push_back(cat(input.name, " ", shape_text(input.shape), " ", input.size_bytes));
    }
  };
  ASSERT_EQ(bench.load_one("m").text(), "OK");
  EXPECT_THAT(seen, ElementsAre("INPUT0 [1,4] 16", "START [2] 8"));
}

TEST(Warmup, FailuresFailTheLoad) {
  struct Case {
    std::string sample, why;
    uint32_t fail_executes = 0;
  };
  const std::vector<Case> cases = {
      {cat("batch_size: 1 ", kGoodInput), "the fake instance was told to fail; ", 1},
      {"batch_size: 1",
       "[request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'm'. Got input(s) [], but "
       "missing "
       "required input(s) ['INPUT0']. Please provide all required input(s).; "},
      {cat("batch_size: 9 ", kGoodInput), "batch_size is 9, expected at most 8; "},
      {cat("batch_size: 1 count: 1000000000 ", kGoodInput), "count is 1000000000, expected at most 10000; "},
      {R"(batch_size: 1 inputs { key: "INPUT0" value { dims: 4 zero_data: true } })",
       "warmup setting expects input 'INPUT0' to have input_data_type set; "},
      {R"(batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: -1 zero_data: true } })",
       "warmup setting expects all variable-size dimensions are specified for input 'INPUT0'; "},
      {R"(batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: 1000000000000 zero_data: true } })",
       "input 'INPUT0' has 1000000000000 elements, more than 1073741824 bytes; "},
      {R"(batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: 4 input_data_file: "../x" } })",
       "warmup file '../x' of input 'INPUT0': is outside model directory; "},
      {R"(batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: 4 input_data_file: "x" } })",
       "warmup file 'x' of input 'INPUT0': No such file or directory; "},
  };
  for (const Case& one : cases) {
    CatalogBench bench;
    bench.put("m", with_sample(one.sample));
    bench.backend.behavior.fail_executes = one.fail_executes;
    EXPECT_EQ(bench.load_one("m").message(),
              cat("version 1 is at UNAVAILABLE state: Invalid argument: failed to run warmup sample 's': ",
                  one.why, ";"));
    EXPECT_EQ(bench.backend.live_models(), 0);
  }
}

}  // namespace
}  // namespace atl::models
