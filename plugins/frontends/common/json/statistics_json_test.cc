#include "frontends/common/json/statistics_json.h"

#include <gtest/gtest.h>

#include "atoll/core/text.h"

namespace atl::frontends {
namespace {

std::string duration(uint64_t count, uint64_t ns) { return cat(R"({"count":)", count, R"(,"ns":)", ns, "}"); }

TEST(StatisticsJson, WithoutModels) {
  EXPECT_EQ(statistics_json(inference::ModelStatisticsResponse()), R"({"model_stats":[]})");
}

TEST(StatisticsJson, MembersAreInTheProtocolsOrder) {
  inference::ModelStatisticsResponse statistics;
  auto* model = statistics.add_model_stats();
  model->set_name("m");
  model->set_version("3");
  model->set_last_inference(1700000000000);
  model->set_inference_count(UINT64_MAX);
  model->set_execution_count(5);
  auto* totals = model->mutable_inference_stats();
  totals->mutable_success()->set_count(1);
  totals->mutable_success()->set_ns(2);
  totals->mutable_cache_miss()->set_ns(9);
  auto* batch = model->add_batch_stats();
  batch->set_batch_size(4);
  batch->mutable_compute_infer()->set_count(7);
  auto* memory = model->add_memory_usage();
  memory->set_type("GPU");
  memory->set_id(-1);
  memory->set_byte_size(1024);
  (*model->mutable_response_stats())["1"].mutable_cancel()->set_count(3);
  (*model->mutable_response_stats())["0"].mutable_success()->set_count(2);
  const std::string zero = duration(0, 0);
  EXPECT_EQ(statistics_json(statistics),
            cat(R"({"model_stats":[{"name":"m","version":"3","last_inference":1700000000000,)",
                R"("inference_count":18446744073709551615,"execution_count":5,)",
                R"("inference_stats":{"success":)", duration(1, 2), R"(,"fail":)", zero, R"(,"queue":)", zero,
                R"(,"compute_input":)", zero, R"(,"compute_infer":)", zero, R"(,"compute_output":)", zero,
                R"(,"cache_hit":)", zero, R"(,"cache_miss":)", duration(0, 9),
                R"(},"response_stats":{"0":{"compute_infer":)", zero, R"(,"compute_output":)", zero,
                R"(,"success":)", duration(2, 0), R"(,"fail":)", zero, R"(,"empty_response":)", zero,
                R"(,"cancel":)", zero, R"(},"1":{"compute_infer":)", zero, R"(,"compute_output":)", zero,
                R"(,"success":)", zero, R"(,"fail":)", zero, R"(,"empty_response":)", zero, R"(,"cancel":)",
                duration(3, 0), R"(}},"batch_stats":[{"batch_size":4,"compute_input":)", zero,
                R"(,"compute_infer":)", duration(7, 0), R"(,"compute_output":)", zero,
                R"(}],"memory_usage":[{"type":"GPU","id":-1,"byte_size":1024}]}]})"));
}

}  // namespace
}  // namespace atl::frontends
