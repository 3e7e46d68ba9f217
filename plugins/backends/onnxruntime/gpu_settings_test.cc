#include "backends/onnxruntime/gpu_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/onnxruntime/testing/backend_fixture.h"

namespace atl::ort::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

Result<GpuSettings> read(const std::string& config) { return read_gpu_settings(config_of(config)); }
std::string error(const std::string& config) { return read(config).status().text(); }
std::string parameter(const std::string& key, const std::string& value) {
  return cat("parameters { key: '", key, "' value { string_value: '", value, "' } } ");
}
std::string accelerator(const std::string& name, const std::string& parameters = {}) {
  return cat("optimization { execution_accelerators { gpu_execution_accelerator { name: '", name, "' ",
             parameters, " } } } ");
}
std::string entry(const std::string& key, const std::string& value) {
  return cat("parameters { key: '", key, "' value: '", value, "' } ");
}

TEST(GpuSettingsTest, OneStreamIsTheDefault) {
  auto settings = read("");
  ASSERT_TRUE(settings.ok());
  EXPECT_THAT(settings->cuda, UnorderedElementsAre(Pair("use_ep_level_unified_stream", "1")));
  EXPECT_FALSE(settings->tensorrt);
  EXPECT_TRUE(settings->pinned_inputs);
}

TEST(GpuSettingsTest, ParametersOfModelsAreNumbers) {
  auto settings = read(parameter("cudnn_conv_algo_search", "1") + parameter("gpu_mem_limit", "4294967200") +
                       parameter("arena_extend_strategy", "1") + parameter("do_copy_in_default_stream", "0") +
                       parameter("tokenizer", "bpe"));
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_THAT(
      settings->cuda,
      UnorderedElementsAre(Pair("cudnn_conv_algo_search", "HEURISTIC"), Pair("gpu_mem_limit", "4294967200"),
                           Pair("arena_extend_strategy", "kSameAsRequested"),
                           Pair("do_copy_in_default_stream", "0"), Pair("use_ep_level_unified_stream", "1")));
}

TEST(GpuSettingsTest, TheAcceleratorComesBeforeParameters) {
  auto settings =
      read(parameter("cudnn_conv_algo_search", "0") +
           accelerator("cuda", entry("cudnn_conv_algo_search", "DEFAULT") + entry("use_tf32", "0") +
                                   entry("use_ep_level_unified_stream", "0")));
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_THAT(settings->cuda,
              UnorderedElementsAre(Pair("cudnn_conv_algo_search", "DEFAULT"), Pair("use_tf32", "0"),
                                   Pair("use_ep_level_unified_stream", "0")));
}

TEST(GpuSettingsTest, TensorRtHasTritonsNamesAndItsOwn) {
  auto settings = read(accelerator("tensorrt", entry("precision_mode", "FP16") +
                                                   entry("max_workspace_size_bytes", "1073741824") +
                                                   entry("trt_min_subgraph_size", "3")));
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_THAT(*settings->tensorrt,
              UnorderedElementsAre(Pair("trt_fp16_enable", "1"), Pair("trt_max_workspace_size", "1073741824"),
                                   Pair("trt_min_subgraph_size", "3")));
}

TEST(GpuSettingsTest, BadValuesAreNamed) {
  EXPECT_EQ(error(accelerator("openvino")), "unknown Execution Accelerator 'openvino' is requested");
  EXPECT_EQ(
      error(parameter("cudnn_conv_algo_search", "3")),
      "parameter 'cudnn_conv_algo_search': found '3', expected one of EXHAUSTIVE, HEURISTIC, DEFAULT, or its "
      "number, from 0 on");
  for (std::string value : {"", "-1", "1 GB", "99999999999999999999"}) {
    EXPECT_EQ(error(parameter("gpu_mem_limit", value)),
              cat("parameter 'gpu_mem_limit': found '", value, "', expected a number of 0 or more"));
  }
}

TEST(GpuSettingsTest, AddressesFilesAndWhatTheInstanceSaysAreNoOptions) {
  for (std::string key : {"device_id", "user_compute_stream", "gpu_external_alloc", "enable_cuda_graph"}) {
    EXPECT_THAT(
        error(accelerator("cuda", entry(key, "1"))),
        HasSubstr(cat("gpu_execution_accelerator 'cuda': parameter '", key, "' is not one of arena_extend")));
  }
  EXPECT_THAT(error(accelerator("tensorrt", entry("trt_engine_cache_path", "/tmp"))),
              HasSubstr("'trt_engine_cache_path' is not one of"));
}

TEST(GpuSettingsTest, GraphsAreForTheSizesThatAreSaidOrUsual) {
  const auto sizes = [](const std::string& rest) { return read(rest)->graph_sizes; };
  const std::string graphs = "optimization { cuda { graphs: true } } ";
  EXPECT_THAT(sizes("max_batch_size: 8"), testing::IsEmpty());
  EXPECT_THAT(sizes(graphs), ElementsAre(1));
  EXPECT_THAT(sizes(graphs + "max_batch_size: 7"), ElementsAre(1, 2, 3, 4, 6, 7));
  EXPECT_THAT(sizes(graphs + "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4, 5 ] }"),
              ElementsAre(1, 4, 5, 8));
  EXPECT_THAT(sizes("max_batch_size: 8 optimization { cuda { graphs: true graph_spec { batch_size: 3 } "
                    "graph_spec { batch_size: 9 } } }"),
              ElementsAre(3));
}

TEST(GpuSettingsTest, PinnedMemoryMayBeUnwanted) {
  EXPECT_FALSE(read("optimization { input_pinned_memory { enable: false } }")->pinned_inputs);
  EXPECT_TRUE(read("optimization { input_pinned_memory { enable: true } }")->pinned_inputs);
}

}  // namespace
}  // namespace atl::ort::test
