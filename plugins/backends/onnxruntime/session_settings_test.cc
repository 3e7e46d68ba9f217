#include "backends/onnxruntime/session_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/onnxruntime/testing/backend_fixture.h"

namespace atl::ort::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

std::string parameter(const std::string& key, const std::string& value) {
  return cat("parameters { key: '", key, "' value { string_value: '", value, "' } } ");
}

class SessionSettingsTest : public testing::Test {
 protected:
  Result<OnnxSessionSettings> read(const std::string& text) {
    auto view = backends::ConfigView::parse(config_of(text).SerializeAsString());
    return read_session_settings(*view, backend_settings_, defaults_, log_);
  }
  std::string error(const std::string& text) {
    auto settings = read(text);
    return settings.ok() ? "OK" : std::string(settings.status().message());
  }
  std::map<std::string, std::string> backend_settings_;
  SessionDefaults defaults_{3, 5, 6, false};
  RecordingLog log_;
};

TEST_F(SessionSettingsTest, ThreadsComeFromOptionSettingAndParameterInThisOrder) {
  EXPECT_EQ(read("")->intra_op_threads, 3);
  EXPECT_EQ(read("")->inter_op_threads, 5);
  backend_settings_ = {{"intra_op_thread_count", "7"}};
  EXPECT_EQ(read("")->intra_op_threads, 7);
  EXPECT_EQ(read(parameter("intra_op_thread_count", "9"))->intra_op_threads, 9);
  EXPECT_EQ(read(parameter("inter_op_thread_count", "2"))->inter_op_threads, 2);
}

TEST_F(SessionSettingsTest, ZeroThreadsAreOnePerCpu) {
  EXPECT_EQ(read(parameter("intra_op_thread_count", "0"))->intra_op_threads, 6);
}

TEST_F(SessionSettingsTest, BadValuesNameKeyFoundAndExpected) {
  for (std::string value : {"", "x", "-1", "1025", "1 ", "99999999999999999999"}) {
    std::string text = error(parameter("intra_op_thread_count", value));
    EXPECT_THAT(text, HasSubstr("'intra_op_thread_count'")) << value;
    EXPECT_THAT(text, HasSubstr(cat("'", value, "'")));
    EXPECT_THAT(text, HasSubstr("from 0 to 1024"));
  }
  EXPECT_EQ(error(parameter("execution_mode", "2")),
            "parameter 'execution_mode': found '2', expected 0 (sequential) or 1 (parallel)");
  EXPECT_THAT(error(parameter("enable_mem_arena", "yes")), HasSubstr("'enable_mem_arena'"));
  EXPECT_THAT(error(parameter("enable_mem_pattern", "2")), HasSubstr("'enable_mem_pattern'"));
  EXPECT_THAT(error(parameter("share_session_between_instances", "-")), HasSubstr("'-'"));
  EXPECT_EQ(error(parameter("memory.enable_memory_arena_shrinkage", "gpu:0")),
            "parameter 'memory.enable_memory_arena_shrinkage': found 'gpu:0', expected cpu:0");
  EXPECT_EQ(error("optimization { graph { level: 3 } }"),
            "optimization.graph.level: found 3, expected -1 (basic), 0 (all), 1 (extended) or 2 (none)");
  backend_settings_ = {{"inter_op_thread_count", "many"}};
  EXPECT_EQ(
      error(""),
      "backend setting 'inter_op_thread_count': found 'many', expected a number of threads from 0 to 1024");
}

TEST_F(SessionSettingsTest, ShrinkingNeedsAnArena) {
  std::string shrink = parameter("memory.enable_memory_arena_shrinkage", "cpu:0");
  EXPECT_EQ(read(shrink)->arena_shrinkage, "cpu:0");
  EXPECT_THAT(error(shrink + parameter("enable_mem_arena", "0")),
              HasSubstr("because enable_mem_arena is off"));
}

TEST_F(SessionSettingsTest, ModesAndLevels) {
  EXPECT_EQ(read("")->execution_mode, ORT_SEQUENTIAL);
  EXPECT_EQ(read(parameter("execution_mode", "1"))->execution_mode, ORT_PARALLEL);
  EXPECT_EQ(read("")->graph_level, ORT_ENABLE_ALL);
  EXPECT_EQ(read("optimization { graph { level: -1 } }")->graph_level, ORT_ENABLE_BASIC);
  EXPECT_EQ(read("optimization { graph { level: 1 } }")->graph_level, ORT_ENABLE_EXTENDED);
  EXPECT_EQ(read("optimization { graph { level: 2 } }")->graph_level, ORT_DISABLE_ALL);
  std::string extended = parameter("graph_optimization_level", "1");
  EXPECT_EQ(read(extended)->graph_level, ORT_ENABLE_EXTENDED);
  EXPECT_EQ(read(extended + "optimization { graph { level: 2 } }")->graph_level, ORT_ENABLE_EXTENDED);
  EXPECT_EQ(
      error(parameter("graph_optimization_level", "all")),
      "parameter 'graph_optimization_level': found 'all', expected -1 (basic), 0 (all), 1 (extended) or 2 "
      "(none)");
  EXPECT_TRUE(read("")->share_session);
  EXPECT_FALSE(read(parameter("share_session_between_instances", "false"))->share_session);
}

TEST_F(SessionSettingsTest, MemoryPlansAreKeptOnlyForShapesThatClientsDoNotChoose) {
  const char fixed[] = "input { name: 'x' data_type: TYPE_FP32 dims: [3, 4] } ";
  const char variable[] = "input { name: 'x' data_type: TYPE_FP32 dims: [3, -1] } ";
  EXPECT_TRUE(read(fixed)->memory_pattern);
  EXPECT_FALSE(read(variable)->memory_pattern);
  EXPECT_TRUE(read(variable + parameter("enable_mem_pattern", "1"))->memory_pattern);
  EXPECT_FALSE(read(fixed + parameter("enable_mem_pattern", "0"))->memory_pattern);
}

TEST_F(SessionSettingsTest, SessionEntriesArePassedOn) {
  EXPECT_THAT(read(parameter("session.set_denormal_as_zero", "1"))->entries,
              Contains(Pair("session.set_denormal_as_zero", "1")));
  EXPECT_THAT(read("")->entries, Contains(Pair("session.intra_op.allow_spinning", "0")));
  defaults_.allow_spinning = true;
  EXPECT_THAT(read("")->entries, Contains(Pair("session.inter_op.allow_spinning", "1")));
  EXPECT_THAT(read(parameter("session.inter_op.allow_spinning", "0"))->entries,
              Contains(Pair("session.inter_op.allow_spinning", "0")));
  EXPECT_EQ(error(parameter("session.intra_op.allow_spinning", "true")),
            "parameter 'session.intra_op.allow_spinning': found 'true', expected 0 or 1");
}

TEST_F(SessionSettingsTest, EntriesThatNameAFileToWriteAreRefused) {
  for (std::string key : {"session.collect_node_memory_stats_to_file", "session.node_partition_config_file",
                          "session.optimized_model_external_initializers_file_name"}) {
    EXPECT_THAT(error(parameter(key, "/tmp/x")), HasSubstr(cat("parameter '", key, "': found '/tmp/x'")));
  }
}

TEST_F(SessionSettingsTest, ForeignParametersAreLeftAlone) {
  EXPECT_EQ(error(parameter("tokenizer", "bpe")), "OK");
  EXPECT_EQ(log_.count(LogLevel::kDebug, "'tokenizer'"), 1u);
}

TEST_F(SessionSettingsTest, AcceleratorsAreRefusedByName) {
  EXPECT_THAT(
      error("optimization { execution_accelerators { cpu_execution_accelerator { name: 'openvino' } } }"),
      HasSubstr("found 'openvino'"));
  // That of GPUs is for instances there.
  EXPECT_EQ(
      error("optimization { execution_accelerators { gpu_execution_accelerator { name: 'tensorrt' } } }"),
      "OK");
}

}  // namespace
}  // namespace atl::ort::test
