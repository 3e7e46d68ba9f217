#include "backends/onnxruntime/onnx_model.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "atoll/backend/parameters.h"
#include "atoll/proto/model_description.h"
#include "backends/onnxruntime/gpu_source.h"
#include "backends/onnxruntime/onnx_instance.h"
#include "backends/onnxruntime/session_threads.h"

namespace atl::ort {
namespace {

template <class Tensors>
auto find_tensor(const Tensors& tensors, const std::string& name) {
  return std::ranges::find_if(tensors, [&](const auto& tensor) { return tensor.name() == name; });
}

/// The configuration cannot say rank 0 for a model that does not batch; it says [1].
template <class Tensor>
bool stands_for_scalar(const Tensor& tensor, const OnnxTensor& info, bool batches) {
  return !batches && info.dims.empty() && !tensor.has_reshape() && tensor.dims_size() == 1 &&
         tensor.dims(0) == 1;
}

bool is_fixed(const OnnxTensor& info, bool batches) {
  if (info.dims.empty()) return false;
  auto from = info.dims.begin() + (batches ? 1 : 0);
  return std::all_of(from, info.dims.end(), [](int64_t dim) { return dim >= 0; });
}

bool has_one_element_a_request(const OnnxTensor& info, bool batches) {
  std::span<const int64_t> dims = info.dims;
  if (batches) {
    if (dims.empty() || dims[0] != -1) return false;
    dims = dims.subspan(1);
  }
  return std::ranges::all_of(dims, [](int64_t dim) { return dim == 1; });
}

/// Marks the output that tells whether a request is finished, if the model has one.
Status plan_iterations(const inference::ModelConfig& config, const ModelDescription& described,
                       const Signature& signature, OnnxModelPlan& plan) {
  constexpr std::string_view kKey = "iteration_end_output";
  const std::optional<std::string_view> name = backends::text_parameter(described, kKey);
  if (!name) return {};
  const auto unexpected = [&](const auto&... text) {
    return invalid_argument("parameter '", kKey, "': found '", *name, "'", text...);
  };
  if (!config.sequence_batching().iterative_sequence()) {
    return unexpected(", expected no such parameter without sequence_batching.iterative_sequence: ",
                      "no other scheduler takes requests back");
  }
  const OnnxTensor* info = signature.find_output(*name);
  if (info == nullptr) return unexpected(", expected one of the outputs: ", names_of(signature.outputs));
  if (info->datatype != DataType::kBool) {
    return unexpected(" of datatype ", info->type_text, ", expected BOOL");
  }
  if (!has_one_element_a_request(*info, plan.batches)) {
    return unexpected(" with shape ", shape_text(info->dims), ", expected ", plan.batches ? "[-1,1]" : "[1]",
                      ": one element a request");
  }
  std::ranges::find(plan.outputs, *name, &OnnxOutputPlan::name)->ends_iteration = true;
  return {};
}

Status gpus_usable(const BackendContext& context) {
  if (context.gpus != nullptr) return context.gpus->usable();
  return make_status(Code::kUnavailable, "no plugin provides GPUs");
}

}  // namespace

Result<OnnxModelPlan> make_plan(const inference::ModelConfig& config, const Signature& signature) {
  OnnxModelPlan plan;
  plan.model_name = config.name();
  plan.batches = config.max_batch_size() > 0;
  plan.decoupled = config.model_transaction_policy().decoupled();
  const ModelDescription described = proto::describe_model(config);
  plan.batch_inputs = backends::batch_inputs_of(described);
  for (const OnnxTensor& info : signature.inputs) {
    OnnxInputPlan input;
    input.name = info.name;
    input.datatype = info.datatype;
    input.required = !info.has_default;
    auto written = find_tensor(config.input(), info.name);
    if (written != config.input().end()) {
      input.scalar = stands_for_scalar(*written, info, plan.batches);
      input.ragged = written->allow_ragged_batch();
    }
    for (size_t i = 0; i < plan.batch_inputs.size(); ++i) {
      const auto& targets = plan.batch_inputs[i].targets;
      if (std::ranges::find(targets, info.name) != targets.end()) input.batch_input = static_cast<int32_t>(i);
    }
    plan.inputs.push_back(std::move(input));
  }
  auto scattered = backends::batch_outputs_of(described);
  if (!scattered.ok()) return std::move(scattered).status();
  for (const OnnxTensor& info : signature.outputs) {
    OnnxOutputPlan output;
    output.name = info.name;
    output.datatype = info.datatype;
    output.dims = info.dims;
    auto written = find_tensor(config.output(), info.name);
    if (written != config.output().end()) output.scalar = stands_for_scalar(*written, info, plan.batches);
    for (const auto& state : config.sequence_batching().state()) {
      output.state = output.state || state.output_name() == info.name;
    }
    auto scatter = std::ranges::find(*scattered, info.name, &backends::BatchOutput::target);
    if (scatter != scattered->end()) output.scatter = std::move(*scatter);
    output.fixed = !output.scatter && is_fixed(info, plan.batches);
    plan.outputs.push_back(std::move(output));
  }
  ATOLL_RETURN_IF_ERROR(plan_iterations(config, described, signature, plan));
  return plan;
}

Result<Handle<OrtSession>> open_session(const BackendContext& context, const OnnxSessionSettings& settings,
                                        const std::string& log_id, const OnnxFile& file,
                                        const GpuPlace* place) noexcept {
  const Environment& environment = *context.environment;
  auto options = make_session_options(settings, environment, log_id);
  if (!options.ok()) return std::move(options).status();
  if (place != nullptr) ATOLL_RETURN_IF_ERROR(add_gpu(**options, place->settings, place->device));
  auto threads = SessionThreads::make(environment.executors(), settings);
  if (!threads.ok()) return std::move(threads).status();
  ATOLL_RETURN_IF_ERROR(threads->give_to(**options));
  return make_session(environment, file, context.model_files, **options);
}

Result<Handle<OrtSession>> open_on_gpu(const BackendContext& context, const OnnxSessionSettings& settings,
                                       const std::string& log_id, const OnnxFile& file,
                                       GpuSettings& gpu_settings, int32_t device) noexcept {
  const GpuPlace place{gpu_settings, device};
  auto session = open_session(context, settings, log_id, file, &place);
  if (session.ok() || gpu_settings.graph_sizes.empty()) return session;
  gpu_settings.graph_sizes.clear();
  auto without = open_session(context, settings, log_id, file, &place);
  if (without.ok()) {
    context.environment->log().warning("unable to record CUDA graph for '", log_id,
                                       "', it is run without: ", session.status().message());
  }
  return without;
}

OnnxModel::OnnxModel(BackendContext context, OnnxModelPlan plan, OnnxSessionSettings settings,
                     std::optional<GpuSettings> gpu_settings, OnnxFile file, FirstSession first) noexcept
    : context_(context),
      plan_(std::make_shared<const OnnxModelPlan>(std::move(plan))),
      settings_(std::move(settings)),
      gpu_settings_(std::move(gpu_settings)),
      file_(std::move(file)) {
  if (first.device) {
    sessions_on_gpu_[*first.device] = 1;
    first_on_gpu_ = std::move(first);
  } else {
    session_ = std::move(first.session);
    on_cpu_ = true;
  }
}

Result<std::shared_ptr<OrtSession>> OnnxModel::session_for_instance() noexcept {
  // The first instance takes the session that load() made, whether or not it is shared.
  if (session_ != nullptr) return settings_.share_session ? session_ : std::exchange(session_, nullptr);
  auto opened = open_session(context_, settings_, plan_->model_name, file_);
  if (!opened.ok()) return std::move(opened).status();
  std::shared_ptr<OrtSession> session = std::move(opened).value();
  if (settings_.share_session) session_ = session;
  std::lock_guard lock(mutex_);
  on_cpu_ = true;
  return session;
}

Result<std::shared_ptr<OrtSession>> OnnxModel::session_on_gpu(int32_t device) noexcept {
  if (first_on_gpu_.session != nullptr && first_on_gpu_.device == device) {
    return std::shared_ptr<OrtSession>(std::move(first_on_gpu_.session));
  }
  auto session = open_on_gpu(context_, settings_, plan_->model_name, file_, *gpu_settings_, device);
  if (!session.ok()) return std::move(session).status();
  std::lock_guard lock(mutex_);
  ++sessions_on_gpu_[device];
  return std::shared_ptr<OrtSession>(std::move(session).value());
}

Result<Handle<OrtRunOptions>> OnnxModel::run_options() const noexcept {
  Handle<OrtRunOptions> options;
  ATOLL_RETURN_IF_ERROR(make(options, api().CreateRunOptions));
  if (!settings_.arena_shrinkage.empty()) {
    ATOLL_RETURN_IF_ERROR(
        check(api().AddRunConfigEntry(options.get(), kArenaShrinkageKey, settings_.arena_shrinkage.c_str())));
  }
  return options;
}

Result<std::unique_ptr<BackendInstance>> OnnxModel::create_on_gpu(const InstanceSpec& spec) noexcept {
  if (!gpu_settings_) {
    return internal_error("instance '", spec.name,
                          "': found KIND_GPU, expected a kind of the instance groups "
                          "that the model was loaded with");
  }
  auto session = session_on_gpu(spec.device_id);
  if (!session.ok()) return std::move(session).status();
  auto options = run_options();
  if (!options.ok()) return std::move(options).status();
  Handle<OrtMemoryInfo> memory_info;
  ATOLL_RETURN_IF_ERROR(make(memory_info, api().CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault));
  auto gpu = GpuExecution::make(*context_.gpus, spec.device_id, **session, plan_->outputs.size(),
                                context_.scratch_keep_bytes);
  if (!gpu.ok()) return std::move(gpu).status();
  std::unique_ptr<GpuGraphs> graphs;
  if (!gpu_settings_->graph_sizes.empty()) {
    auto made = GpuGraphs::make(*context_.gpus, spec.device_id, gpu_settings_->graph_sizes,
                                context_.environment->log());
    if (!made.ok()) return std::move(made).status();
    graphs = std::move(made).value();
  }
  BackendContext context = context_;
  if (gpu_settings_->pinned_inputs) context.scratch = &context_.gpus->pinned_memory();
  return std::unique_ptr<BackendInstance>(
      new OnnxInstance(context, plan_, std::move(session).value(), std::move(options).value(),
                       std::move(memory_info), spec.reporter, std::move(gpu).value(), std::move(graphs)));
}

Result<std::unique_ptr<BackendInstance>> OnnxModel::create_instance(const InstanceSpec& spec) noexcept {
  if (spec.kind == InstanceKind::kGpu) {
    // Again, because the GPUs may have gone since the model was loaded.
    if (Status status = gpus_usable(context_); !status.ok()) {
      return make_status(status.code(), "instance '", spec.name, "' is of KIND_GPU: ", status.message());
    }
    return create_on_gpu(spec);
  }
  auto session = session_for_instance();
  if (!session.ok()) return std::move(session).status();
  auto options = run_options();
  if (!options.ok()) return std::move(options).status();
  Handle<OrtMemoryInfo> memory_info;
  ATOLL_RETURN_IF_ERROR(make(memory_info, api().CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault));
  return std::unique_ptr<BackendInstance>(new OnnxInstance(context_, plan_, std::move(session).value(),
                                                           std::move(options).value(), std::move(memory_info),
                                                           spec.reporter));
}

std::vector<MemoryUsage> OnnxModel::memory_usage() const noexcept {
  std::lock_guard lock(mutex_);
  std::vector<MemoryUsage> usage;
  if (on_cpu_) usage.push_back({MemoryKind::kCpu, 0, file_.size_bytes});
  for (const auto& [device, count] : sessions_on_gpu_) {
    usage.push_back({MemoryKind::kGpu, device, count * file_.size_bytes});
  }
  return usage;
}

}  // namespace atl::ort
