// Every rule of a configuration: the text that clients know, and where it says the mistake is.
#include <span>

#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

struct Row {
  const char* text;
  const char* place;  ///< line, column and field
  const char* message;
};

/// Checked whenever a configuration is read, in the order of the rules.
const Row kAlways[] = {
    {R"(name: 'm'
platform: 'caffe')",
     "2:1: field 'platform'", "unexpected platform type 'caffe' for m"},
    {R"(platform: 'ensemble'
backend: 'b')",
     "2:1: field 'backend'", "Ensemble model 'm' must have platform type 'ensemble' and empty backend type"},
    {R"(backend: 'onnxruntime'
platform: 'tensorrt_plan')",
     "2:1: field 'platform'", "unexpected 'platform' and 'backend' pair, got:tensorrt_plan, onnxruntime"},
    {R"(backend: 'b'
max_batch_size: -1)",
     "2:1: field 'max_batch_size'", "'max_batch_size' must be non-negative value for m"},
    {R"(backend: 'b'
version_policy { })",
     "2:1: field 'version_policy'", "must specify 'version policy' for m"},
    {R"(backend: 'b'
max_batch_size: 8
dynamic_batching {
  preferred_batch_size: [ 4, 0 ]
})",
     "4:3: field 'dynamic_batching.preferred_batch_size[1]'",
     "dynamic batching preferred size must be positive for m"},
    {R"(backend: 'b'
max_batch_size: 8
dynamic_batching {
  preferred_batch_size: [ 4, 9 ]
})",
     "4:3: field 'dynamic_batching.preferred_batch_size[1]'",
     "dynamic batching preferred size must be <= max batch size for m"},
    {R"(backend: 'b'
max_batch_size: 8
dynamic_batching {
  priority_levels: 3
  default_priority_level: 4
})",
     "5:3: field 'dynamic_batching.default_priority_level'",
     "default priority level must be in range [1, 3] for m"},
    {R"(backend: 'b'
max_batch_size: 8
dynamic_batching {
  priority_levels: 3 default_priority_level: 1
  priority_queue_policy { key: 4 value { } }
})",
     "5:3: field 'dynamic_batching.priority_queue_policy'",
     "priority queue policy must have priority level in range [1, 3] for m"},
    {R"(backend: 'b'
max_batch_size: 8
dynamic_batching {
  preserve_ordering: true default_priority_level: 1
  priority_levels: 2
})",
     "5:3: field 'dynamic_batching.priority_levels'",
     "Only one priority level is allowed when 'preserve_ordering' is true for m"},
    {R"(backend: 'b'
max_batch_size: 8
dynamic_batching {
  preserve_ordering: true
  default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 }
})",
     "4:3: field 'dynamic_batching.preserve_ordering'",
     "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m"},
    {R"(backend: 'b'
sequence_batching { }
response_cache { enable: true })",
     "3:1: field 'response_cache'",
     "Response Cache does not currently support model m with sequence batching scheduler. Please disable the "
     "response cache."},
    {R"(backend: 'b'
sequence_batching {
  control_input { }
})",
     "3:3: field 'sequence_batching.control_input[0]'",
     "sequence batching control tensor must have a name for m"},
    {R"(backend: 'b'
sequence_batching {
  control_input { name: 'c' }
  control_input { name: 'c' }
})",
     "4:3: field 'sequence_batching.control_input[1]'",
     "sequence batching control tensor 'c' is specified for multiple control kinds for m"},
    {R"(backend: 'b'
sequence_batching {
  control_input { name: 'c' control { kind: CONTROL_SEQUENCE_END bool_false_true: [ false, true ] } }
  control_input { name: 'd' control { kind: CONTROL_SEQUENCE_END bool_false_true: [ false, true ] } }
})",
     "4:29: field 'sequence_batching.control_input[1].control[0]'",
     "sequence batching specifies multiple CONTROL_SEQUENCE_END tensors for m"},
    {R"(backend: 'b'
sequence_batching {
  control_input [ { name: 'c'
  control { kind: CONTROL_SEQUENCE_START  } } ]
})",
     "4:3: field 'sequence_batching.control_input[0].control[0]'",
     "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for "
     "CONTROL_SEQUENCE_START for m"},
    {R"(backend: 'b'
sequence_batching {
  control_input [ { name: 'c'
  control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] fp32_false_true: [ 0, 1 ] } } ]
})",
     "4:3: field 'sequence_batching.control_input[0].control[0]'",
     "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and "
     "'bool_false_true' for CONTROL_SEQUENCE_READY for m"},
    {R"(backend: 'b'
sequence_batching {
  control_input [ { name: 'c'
  control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1, 2 ] } } ]
})",
     "4:42: field 'sequence_batching.control_input[0].control[0].fp32_false_true'",
     "sequence batching control 'fp32_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_START for "
     "m"},
    {R"(backend: 'b'
sequence_batching {
  control_input [ { name: 'c'
  control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 int32_false_true: [ 0, 1 ] } } ]
})",
     "4:3: field 'sequence_batching.control_input[0].control[0]'",
     "sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' "
     "for CONTROL_SEQUENCE_CORRID for m"},
    {R"(backend: 'b'
sequence_batching {
  control_input [ { name: 'c'
  control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32 } } ]
})",
     "4:3: field 'sequence_batching.control_input[0].control[0]'",
     "unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, "
     "TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING"},
    {R"(backend: 'b'
max_batch_size: 8
sequence_batching {
  oldest {
    preferred_batch_size: [ 1, 0 ]
  }
})",
     "5:5: field 'sequence_batching.oldest.preferred_batch_size[1]'",
     "sequence batching preferred batch size must be positive for m"},
    {R"(backend: 'b'
max_batch_size: 8
sequence_batching {
  oldest {
    preferred_batch_size: [ 9 ]
  }
})",
     "5:5: field 'sequence_batching.oldest.preferred_batch_size[0]'",
     "sequence batching preferred batch size must be <= max batch size for m"},
    {R"(backend: 'b'
sequence_batching {
  direct {
    minimum_slot_utilization: 1.5
  }
})",
     "4:5: field 'sequence_batching.direct.minimum_slot_utilization'",
     "sequence batching minimum slot utilization must be in range (0.0, 1.0] for m"},
    {R"(name: 'm'
platform: 'ensemble')",
     "2:1: field 'platform'", "ensemble scheduling must be set for ensemble m whose platform is ensemble"},
    {R"(backend: 'b'
model_transaction_policy { decoupled: true }
response_cache { enable: true })",
     "3:1: field 'response_cache'",
     "Response Cache does not currently support model m with 'decoupled' transaction policy. Please disable "
     "the response cache."},
    {R"(backend: 'b'
model_metrics {
  metric_control { }
})",
     "3:3: field 'model_metrics.metric_control[0]'", "metric control must specify 'metric_identifier'"},
    {R"(backend: 'b'
model_metrics {
  metric_control {
    metric_identifier { }
  }
})",
     "4:5: field 'model_metrics.metric_control[0].metric_identifier'",
     "metric identifier must specify non-empty 'family'"},
    {R"(backend: 'b'
model_metrics {
  metric_control { metric_identifier { family: 'f' } }
})",
     "3:3: field 'model_metrics.metric_control[0]'", "metric control must specify 'histogram_options'"},
    {R"(backend: 'b'
model_metrics {
  metric_control { metric_identifier { family: 'f' }
    histogram_options { } }
})",
     "4:5: field 'model_metrics.metric_control[0].histogram_options.buckets'",
     "histogram options must specify non-empty 'buckets'"},
    {R"(backend: 'b'
name: 'other')",
     "2:1: field 'name'",
     "unexpected directory name 'm' for model 'other', directory name must equal model name"},
    {R"(backend: 'b'
ensemble_scheduling { })",
     "2:1: field 'ensemble_scheduling'",
     "ensemble scheduling cannot be set for model 'm' whose platform is not ensemble"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } output_map { key: 'Mo' value: 'o' } }
}
instance_group { })",
     "7:1: field 'instance_group[0]'", "instance group should not be specified for ensemble 'm'"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } output_map { key: 'Mo' value: 'o' } }
}
optimization { })",
     "7:1: field 'optimization'", "optimization should not be specified for ensemble 'm'"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } output_map { key: 'Mo' value: 'o' } }
}
model_warmup { })",
     "7:1: field 'model_warmup[0]'", "model_warmup can not be specified for ensemble 'm'"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  
})",
     "4:1: field 'ensemble_scheduling'", "must specify 'step' for ensemble 'm'"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } output_map { key: 'Mt' value: 't' } }
  step { model_name: '' model_version: -1 input_map { key: 'Mt' value: 't' } output_map { key: 'Mo' value: 'o' } }
})",
     "6:3: field 'ensemble_scheduling.step[1]'", "must specify 'model_name' in step 1 of ensemble 'm'"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 output_map { key: 'Mo' value: 'o' } }
})",
     "5:3: field 'ensemble_scheduling.step[0]'", "must specify 'input_map' in step 0 of ensemble 'm'"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } }
})",
     "5:3: field 'ensemble_scheduling.step[0]'", "must specify 'output_map' in step 0 of ensemble 'm'"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } output_map { key: 'Mo' value: 'o' } }
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } output_map { key: 'Mo' value: 'o' } }
})",
     "6:3: field 'ensemble_scheduling.step[1]'",
     "ensemble tensor 'o' can appear in an output map only once for ensemble 'm' step 1"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mx' value: 'x' } output_map { key: 'Mo' value: 'o' } }
})",
     "2:1: field 'input[0]'", "ensemble input 'i' for ensemble m' is not used"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } output_map { key: 'Mx' value: 'x' } }
})",
     "3:1: field 'output[0]'", "ensemble output 'o' for ensemble m' is not used"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } output_map { key: 'Ma' value: 'a' } }
  step { model_name: 'x' model_version: -1 input_map { key: 'Mu' value: 'u' } output_map { key: 'Mo' value: 'o' } }
  step { model_name: 'x' model_version: -1 input_map { key: 'Ma' value: 'a' } output_map { key: 'Mb' value: 'b' } }
})",
     "3:1: field 'output[0]'",
     "output 'o' for ensemble 'm' is not written: at least one of its depending tensors, 'u', is not "
     "connected"},
    {R"(platform: 'ensemble'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: 'x' model_version: -1 input_map { key: 'Mi' value: 'i' } output_map { key: 'Mo' value: 'o' } output_map { key: 'Mt' value: 't' } }
})",
     "5:3: field 'ensemble_scheduling.step[0]'", "ensemble tensor 't' is unused in ensemble 'm'"},
};

/// Checked of a complete configuration.
const Row kComplete[] = {
    {R"(backend: 'b'
input { })",
     "2:1: field 'input[0]'", "model input must specify 'name' for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
output { name: 'p'
  dims: 1 })",
     "4:1: field 'output[1]'", "model output 'p' must specify 'data_type' for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 })",
     "2:1: field 'input[0]'", "model input 'i' must specify 'dims' for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1
  reshape { } })",
     "2:1: field 'input[0]'",
     "model input 'i' cannot have empty reshape for non-batching model as scalar tensors are not supported "
     "for m"},
    {R"(backend: 'b'
output { name: 'o' data_type: TYPE_FP32
  dims: [ 1, 0 ] })",
     "2:1: field 'output[0]'",
     "model output 'o' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 2
  reshape { shape: -2 } })",
     "2:1: field 'input[0]'",
     "model input 'i' reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension "
     "for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 2
  reshape { shape: 3 } })",
     "2:1: field 'input[0]'", "model input 'i' has different size for dims and reshape for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: [ 2, -1 ]
  reshape { shape: [ -1, -1 ] } })",
     "2:1: field 'input[0]'",
     "model input 'i' has different number of variable-size dimensions for dims and reshape for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: [ 2, 4, -1, 6 ]
  reshape { shape: [ 6, -1, 8 ] } })",
     "2:1: field 'input[0]'", "model input 'i' has different size for dims and reshape for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1
  format: FORMAT_NCHW })",
     "2:1: field 'input[0]'", "model input NHWC/NCHW require 3 dims for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1
  is_shape_tensor: true })",
     "2:1: field 'input[0]'", "shape tensors are only supported for TensorRT platform for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1
  is_non_linear_format_io: true })",
     "2:1: field 'input[0]'", "Non-linear IO format is only supported for the TensorRT platform for m"},
    {R"(platform: 'tensorrt_plan'
input { name: 'i' data_type: TYPE_FP32 dims: 1
  is_non_linear_format_io: true })",
     "2:1: field 'input[0]'", "Non-linear IO format input requires 3 dims for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
batch_input { kind: BATCH_ITEM_SHAPE data_type: TYPE_INT32 })",
     "4:1: field 'batch_input[0]'",
     "batch input kind 'BATCH_ITEM_SHAPE' expects 1 source input, got 0 for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
batch_output { target_name: 'o' })",
     "4:1: field 'batch_output[0]'",
     "batch output kind 'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source input, got 0 for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
batch_input { kind: 99 source_input: 'i' data_type: TYPE_INT32 })",
     "4:15: field 'batch_input[0].kind'", "unknown batch input kind '99' for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
batch_output { kind: 99 source_input: 'i' target_name: 'o' })",
     "4:16: field 'batch_output[0].kind'", "unknown batch output kind '99' for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
batch_input { source_input: 'i'
  data_type: TYPE_INT64 })",
     "5:3: field 'batch_input[0].data_type'", "batch input data type must be TYPE_INT32 or TYPE_FP32 for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
batch_input { data_type: TYPE_FP32
  source_input: 'x' })",
     "5:3: field 'batch_input[0].source_input[0]'", "unknown source input name 'x' for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
batch_output { source_input: 'i'
  target_name: 'x' })",
     "5:3: field 'batch_output[0].target_name[0]'", "unknown target output name 'x' for m"},
    {R"(backend: 'b'
input { name: 'i' data_type: TYPE_FP32 dims: 1 }
output { name: 'o' data_type: TYPE_FP32 dims: 1 }
batch_output { source_input: 'i'
  target_name: [ 'o', 'o' ] })",
     "5:3: field 'batch_output[0].target_name[1]'",
     "target output name 'o' can only be specified once for m"},
};

void expect_rows(std::span<const Row> rows, bool strict) {
  for (const Row& row : rows) {
    const Status status = read_status(row.text, strict);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << row.text;
    EXPECT_EQ(status.text(), cat(kPath, ":", row.place, ": ", row.message)) << row.text;
    EXPECT_EQ(status.message(), row.message) << row.text;
  }
}

TEST(RulesTable, OfEveryConfiguration) { expect_rows(kAlways, false); }

TEST(RulesTable, OfACompleteConfiguration) { expect_rows(kComplete, true); }

}  // namespace
}  // namespace atl::pbtxt
