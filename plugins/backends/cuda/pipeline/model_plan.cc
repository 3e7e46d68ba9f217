#include "backends/cuda/pipeline/model_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backends/common/config_view.h"
#include "model_config.pb.h"

namespace atl::cuda_backend {
namespace {

using inference::ModelConfig;
using ControlKind = inference::ModelSequenceBatching_Control;

/// Lower is served first; the driver takes what the device has that comes next.
constexpr int32_t kPriorityMost = -100, kPriorityLeast = 100;

DataType control_datatype(const ControlKind& control) {
  if (control.kind() == ControlKind::CONTROL_SEQUENCE_CORRID)
    return backends::data_type_of(control.data_type());
  if (control.fp32_false_true_size() != 0) return DataType::kFp32;
  return control.bool_false_true_size() != 0 ? DataType::kBool : DataType::kInt32;
}

/// Adds tensors that schedulers and this backend make, which are not among the configuration's inputs and outputs.
class TableBuilder {
 public:
  TableBuilder(const ModelConfig& config, TensorTable& table) : config_(config), table_(table) {}

  Status add(const std::string& name, DataType datatype, bool is_output, std::vector<int64_t> dims) {
    if (table_.find(name, is_output)) return {};
    if (data_type_size_bytes(datatype) == 0) {
      return invalid_argument("tensor '", name, "': found type ", data_type_name(datatype),
                              ", expected one whose elements are of one size");
    }
    if (table_.batches) dims.insert(dims.begin(), -1);
    table_.tensors.push_back({.name = name,
                              .datatype = datatype,
                              .is_output = is_output,
                              .optional = false,
                              .dims = std::move(dims),
                              .flat = false});
    return {};
  }
  Status add_controls() {
    for (const auto& input : config_.sequence_batching().control_input()) {
      if (input.control_size() == 0) continue;
      ATOLL_RETURN_IF_ERROR(add(input.name(), control_datatype(input.control(0)), false, {1}));
    }
    return {};
  }
  Status add_states() {
    for (const auto& state : config_.sequence_batching().state()) {
      const std::vector<int64_t> dims(state.dims().begin(), state.dims().end());
      const DataType datatype = backends::data_type_of(state.data_type());
      ATOLL_RETURN_IF_ERROR(add(state.input_name(), datatype, false, dims));
      ATOLL_RETURN_IF_ERROR(add(state.output_name(), datatype, true, dims));
    }
    return {};
  }
  void add_batch_input(const backends::BatchInput& input) {
    const size_t rank = input.kind == backends::BatchInput::Kind::kItemShape ? 2 : 1;
    for (const std::string& target : input.targets) {
      if (!table_.find(target, false)) {
        table_.tensors.emplace_back();
        table_.tensors.back().name = target;
        table_.tensors.back().datatype = input.datatype;
      }
      flatten(target, false, rank);
    }
  }
  /// All requests' values one after the other: no batch dimension.
  void flatten(const std::string& name, bool is_output, size_t rank = 1) {
    const auto slot = table_.find(name, is_output);
    if (!slot) return;
    table_.tensors[*slot].dims.assign(rank, -1);
    table_.tensors[*slot].flat = true;
  }

 private:
  const ModelConfig& config_;
  TensorTable& table_;
};

std::vector<int64_t> default_graph_batches(const ModelConfig& config) {
  const int64_t most = std::max(config.max_batch_size(), 1);
  std::set<int64_t> sizes{1, most};
  if (config.max_batch_size() > 0 && config.has_dynamic_batching()) {
    for (const int64_t size : config.dynamic_batching().preferred_batch_size()) sizes.insert(size);
  } else if (config.max_batch_size() > 0) {
    sizes.insert({2, 3, 4, 6, 8, 12, 16});
  }
  std::erase_if(sizes, [most](int64_t size) { return size < 1 || size > most; });
  return {sizes.begin(), sizes.end()};
}

std::vector<GraphSpec> read_graphs(const ModelConfig& config) {
  const auto& cuda = config.optimization().cuda();
  std::vector<GraphSpec> graphs;
  if (!cuda.graphs()) return graphs;
  if (cuda.graph_spec_size() == 0) {
    for (const int64_t batch : default_graph_batches(config)) graphs.emplace_back().batch = batch;
  }
  for (const auto& written : cuda.graph_spec()) {
    GraphSpec& spec = graphs.emplace_back();
    spec.batch = std::max(written.batch_size(), 1);
    if (written.has_graph_lower_bound()) spec.lowest = std::max(written.graph_lower_bound().batch_size(), 1);
    for (const auto& [name, shape] : written.input())
      spec.shapes.emplace(name, std::vector<int64_t>(shape.dim().begin(), shape.dim().end()));
  }
  std::ranges::stable_sort(graphs, {}, &GraphSpec::batch);
  return graphs;
}

Status check_graphs(const ModelConfig& config, const TensorTable& table, const RunSettings& settings) {
  for (const GraphSpec& spec : settings.graphs) {
    if (spec.batch > std::max(config.max_batch_size(), 1)) {
      return invalid_argument("optimization.cuda.graph_spec: found batch_size ", spec.batch,
                              ", expected at most max_batch_size, ", config.max_batch_size());
    }
    for (const auto& [name, shape] : spec.shapes) {
      if (!table.find(name, false)) {
        return invalid_argument("optimization.cuda.graph_spec: found input '", name,
                                "', which the model has not");
      }
    }
  }
  return {};
}

void warn_of_no_effect(const ModelConfig& config, Log& log) {
  const auto& optimization = config.optimization();
  if (optimization.execution_accelerators().gpu_execution_accelerator_size() != 0 ||
      optimization.execution_accelerators().cpu_execution_accelerator_size() != 0) {
    log.warning("model '", config.name(),
                "': optimization.execution_accelerators means nothing to this backend");
  }
}

Status add_tensors(const ModelConfig& config, const ModelDescription& model, ModelPlan& plan,
                   TensorTable& table) {
  TableBuilder builder(config, table);
  ATOLL_RETURN_IF_ERROR(builder.add_controls());
  ATOLL_RETURN_IF_ERROR(builder.add_states());
  plan.batch_inputs = backends::batch_inputs_of(model);
  for (const backends::BatchInput& input : plan.batch_inputs) builder.add_batch_input(input);
  for (const TensorSpec& input : model.inputs) {
    if (input.allow_ragged && plan.batches()) builder.flatten(input.name, false);
  }
  for (const BatchOutputSpec& spec : model.batch_outputs) {
    for (const std::string& target : spec.targets) builder.flatten(target, true);
  }
  return {};
}

int32_t batch_input_of(const ModelPlan& plan, const std::string& name) {
  for (size_t i = 0; i < plan.batch_inputs.size(); ++i) {
    const auto& targets = plan.batch_inputs[i].targets;
    if (std::ranges::find(targets, name) != targets.end()) return static_cast<int32_t>(i);
  }
  return -1;
}

Status plan_tensors(const ModelConfig& config, const ModelDescription& model, ModelPlan& plan) {
  auto scattered = backends::batch_outputs_of(model);
  if (!scattered.ok()) return std::move(scattered).status();
  const auto& tensors = plan.pipeline.table.tensors;
  for (uint32_t slot = 0; slot < tensors.size(); ++slot) {
    const BatchTensor& tensor = tensors[slot];
    if (!tensor.is_output) {
      const TensorSpec* spec = model.find_input(tensor.name);
      plan.inputs.push_back({.name = tensor.name,
                             .slot = slot,
                             .datatype = tensor.datatype,
                             .optional = tensor.optional,
                             .ragged = spec != nullptr && spec->allow_ragged && plan.batches(),
                             .batch_input = batch_input_of(plan, tensor.name)});
      continue;
    }
    OutputPlan& output = plan.outputs.emplace_back();
    output = {
        .name = tensor.name, .slot = slot, .datatype = tensor.datatype, .is_state = false, .scatter = {}};
    output.is_state = std::ranges::any_of(config.sequence_batching().state(), [&](const auto& state) {
      return state.output_name() == tensor.name;
    });
    const auto scatter = std::ranges::find(*scattered, tensor.name, &backends::BatchOutput::target);
    if (scatter != scattered->end()) output.scatter = *scatter;
  }
  return {};
}

}  // namespace

RunSettings read_settings(const ModelConfig& config) {
  const auto& optimization = config.optimization();
  RunSettings settings;
  if (optimization.priority() == inference::ModelOptimizationPolicy::PRIORITY_MAX)
    settings.priority = kPriorityMost;
  if (optimization.priority() == inference::ModelOptimizationPolicy::PRIORITY_MIN)
    settings.priority = kPriorityLeast;
  settings.busy_wait_events = optimization.cuda().busy_wait_events();
  settings.output_copy_stream = optimization.cuda().output_copy_stream();
  settings.eager_batching = optimization.eager_batching();
  settings.pinned_inputs =
      !optimization.has_input_pinned_memory() || optimization.input_pinned_memory().enable();
  settings.pinned_outputs =
      !optimization.has_output_pinned_memory() || optimization.output_pinned_memory().enable();
  settings.graphs = read_graphs(config);
  return settings;
}

Result<ModelPlan> make_plan(const ModelConfig& config, const ModelDescription& model,
                            const std::string& version_directory, Log& log) noexcept {
  ModelPlan plan;
  plan.model_name = config.name();
  plan.decoupled = config.model_transaction_policy().decoupled();
  plan.max_batch_size = static_cast<uint32_t>(std::max(config.max_batch_size(), 0));
  plan.settings = read_settings(config);
  Result<TensorTable> table = make_tensor_table(model);
  if (!table.ok()) return std::move(table).status();
  ATOLL_RETURN_IF_ERROR(add_tensors(config, model, plan, *table));
  ATOLL_RETURN_IF_ERROR(check_graphs(config, *table, plan.settings));
  Result<Pipeline> pipeline = read_pipeline(version_directory, model, std::move(table).value());
  if (!pipeline.ok()) return std::move(pipeline).status();
  plan.pipeline = std::move(pipeline).value();
  ATOLL_RETURN_IF_ERROR(plan_tensors(config, model, plan));
  plan.code.version_directory = version_directory;
  plan.code.names.default_name = config.default_model_filename();
  for (const auto& [capability, name] : config.cc_model_filenames())
    plan.code.names.by_capability.emplace(capability, name);
  warn_of_no_effect(config, log);
  return plan;
}

}  // namespace atl::cuda_backend
