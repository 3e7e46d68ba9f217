// A misspelt field in every message: where it is, and which one was probably meant.
#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

/// A field that is not there, and the one that was probably meant.
struct Misspelt {
  const char* text;
  const char* field;
  const char* message;
  const char* meant;  ///< null: nothing is near enough
};

const Misspelt kMisspelt[] = {
    {"max_batchsize: 1", "max_batchsize", "ModelConfig", "max_batch_size"},
    {"plattform: 'x'", "plattform", "ModelConfig", "platform"},
    {"inputs { }", "inputs", "ModelConfig", "input"},
    {"input { datatype: TYPE_FP32 }", "datatype", "ModelInput", "data_type"},
    {"input { reshape { shapes: 1 } }", "shapes", "ModelTensorReshape", "shape"},
    {"output { label_file: 'l' }", "label_file", "ModelOutput", "label_filename"},
    {"batch_input { source_inputs: 'i' }", "source_inputs", "BatchInput", "source_input"},
    {"batch_output { target: 'i' }", "target", "BatchOutput", "target_name"},
    {"version_policy { latest { num_version: 1 } }", "num_version", "ModelVersionPolicy.Latest",
     "num_versions"},
    {"version_policy { specific { version: 1 } }", "version", "ModelVersionPolicy.Specific", "versions"},
    {"instance_group { counts: 1 }", "counts", "ModelInstanceGroup", "count"},
    {"instance_group { gpu: 1 }", "gpu", "ModelInstanceGroup", "gpus"},
    {"instance_group { hostpolicy: 'x' }", "hostpolicy", "ModelInstanceGroup", "host_policy"},
    {"instance_group { secondary_devices { device: 1 } }", "device", "ModelInstanceGroup.SecondaryDevice",
     "device_id"},
    {"instance_group { rate_limiter { resource { } } }", "resource", "ModelRateLimiter", "resources"},
    {"instance_group { rate_limiter { resources { counts: 1 } } }", "counts", "ModelRateLimiter.Resource",
     "count"},
    {"dynamic_batching { max_queue_delay_micros: 1 }", "max_queue_delay_micros", "ModelDynamicBatching",
     "max_queue_delay_microseconds"},
    {"dynamic_batching { default_queue_policy { max_queue: 1 } }", "max_queue", "ModelQueuePolicy",
     "max_queue_size"},
    {"sequence_batching { control_inputs { } }", "control_inputs", "ModelSequenceBatching", "control_input"},
    {"sequence_batching { control_input { controls { } } }", "controls", "ModelSequenceBatching.ControlInput",
     "control"},
    {"sequence_batching { control_input { control { int32_true_false: 1 } } }", "int32_true_false",
     "ModelSequenceBatching.Control", "int32_false_true"},
    {"sequence_batching { direct { min_slot_utilization: 1 } }", "min_slot_utilization",
     "ModelSequenceBatching.StrategyDirect", "minimum_slot_utilization"},
    {"sequence_batching { oldest { max_candidates: 1 } }", "max_candidates",
     "ModelSequenceBatching.StrategyOldest", "max_candidate_sequences"},
    {"sequence_batching { state { input: 'i' } }", "input", "ModelSequenceBatching.State", "input_name"},
    {"sequence_batching { state { initial_state { file: 'i' } } }", "file",
     "ModelSequenceBatching.InitialState", "data_file"},
    {"ensemble_scheduling { steps { } }", "steps", "ModelEnsembling", "step"},
    {"ensemble_scheduling { step { model: 'x' } }", "model", "ModelEnsembling.Step", nullptr},
    {"optimization { graphs { } }", "graphs", "ModelOptimizationPolicy", "graph"},
    {"optimization { cuda { graph: true } }", "graph", "ModelOptimizationPolicy.Cuda", "graphs"},
    {"optimization { cuda { graph_spec { batchsize: 1 } } }", "batchsize",
     "ModelOptimizationPolicy.Cuda.GraphSpec", "batch_size"},
    {"optimization { execution_accelerators { gpu_accelerator { } } }", "gpu_accelerator",
     "ModelOptimizationPolicy.ExecutionAccelerators", "gpu_execution_accelerator"},
    {"optimization { input_pinned_memory { enabled: true } }", "enabled",
     "ModelOptimizationPolicy.PinnedMemoryBuffer", "enable"},
    {"model_warmup { input { } }", "input", "ModelWarmup", "inputs"},
    {"model_warmup { inputs { key: 'i' value { zeros: true } } }", "zeros", "ModelWarmup.Input", "zero_data"},
    {"response_cache { enabled: true }", "enabled", "ModelResponseCache", "enable"},
    {"model_transaction_policy { decouple: true }", "decouple", "ModelTransactionPolicy", "decoupled"},
    {"model_metrics { metric_controls { } }", "metric_controls", "ModelMetrics", "metric_control"},
    {"model_operations { op_library: 'x' }", "op_library", "ModelOperations", "op_library_filename"},
    {"model_repository_agents { agent { } }", "agent", "ModelRepositoryAgents", "agents"},
    {"parameters { key: 'a' value { string: 'x' } }", "string", "ModelParameter", "string_value"},
};

TEST(MisspeltFields, OfEveryMessageAreNamed) {
  for (const Misspelt& row : kMisspelt) {
    const Status status = read_status(cat("backend: 'b'\n", row.text));
    const size_t column = std::string_view(row.text).rfind(row.field) + 1;
    std::string expected = cat(kPath, ":2:", column, ": field '");
    EXPECT_TRUE(status.text().starts_with(expected)) << status.text();
    expected = cat("unknown field '", row.field, "' in ", row.message);
    if (row.meant != nullptr) expected += cat(", did you mean '", row.meant, "'?");
    EXPECT_TRUE(status.text().ends_with(expected)) << status.text() << " | expected: " << expected;
  }
}

}  // namespace
}  // namespace atl::pbtxt
