#include "backends/tensorflow/run/tf_model.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include "atoll/proto/model_description.h"
#include "backends/tensorflow/run/tf_instance.h"

namespace atl::tensorflow {
namespace {

template <class Tensors>
auto find_tensor(const Tensors& tensors, const std::string& name) {
  return std::ranges::find_if(tensors, [&](const auto& tensor) { return tensor.name() == name; });
}

/// The configuration cannot say rank 0 for a model that does not batch; it says [1].
template <class Tensor>
bool stands_for_scalar(const Tensor& tensor, const TfTensorInfo& info, bool batches) {
  return !batches && info.is_scalar() && !tensor.has_reshape();
}

int32_t batch_input_for(const std::vector<backends::BatchInput>& all, const std::string& input) {
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::ranges::find(all[i].targets, input) != all[i].targets.end()) return static_cast<int32_t>(i);
  }
  return -1;
}

}  // namespace

Result<TfModelPlan> make_plan(const inference::ModelConfig& config, const TfSignature& signature,
                              const TfSession& session) {
  TfModelPlan plan;
  plan.model_name = config.name();
  plan.batches = config.max_batch_size() > 0;
  plan.decoupled = config.model_transaction_policy().decoupled();
  const ModelDescription described = proto::describe_model(config);
  plan.batch_inputs = backends::batch_inputs_of(described);
  for (const TfTensorInfo& info : signature.inputs) {
    auto place = session.find(info);
    if (!place.ok()) return std::move(place).status();
    TfInputPlan input;
    input.name = info.name;
    input.datatype = info.datatype();
    input.place = *place;
    input.required = !session.has_default(*place);
    input.batch_input = batch_input_for(plan.batch_inputs, info.name);
    const auto written = find_tensor(config.input(), info.name);
    if (written != config.input().end()) {
      input.scalar = stands_for_scalar(*written, info, plan.batches);
      input.ragged = written->allow_ragged_batch();
    }
    plan.inputs.push_back(std::move(input));
  }
  auto scattered = backends::batch_outputs_of(described);
  if (!scattered.ok()) return std::move(scattered).status();
  for (const TfTensorInfo& info : signature.outputs) {
    const auto written = find_tensor(config.output(), info.name);
    const bool is_state = std::ranges::any_of(config.sequence_batching().state(), [&](const auto& state) {
      return state.output_name() == info.name;
    });
    if (written == config.output().end() && !is_state) continue;
    auto place = session.find(info);
    if (!place.ok()) return std::move(place).status();
    TfOutputPlan output{info.name, info.datatype(), *place, false, is_state, std::nullopt};
    if (written != config.output().end()) output.scalar = stands_for_scalar(*written, info, plan.batches);
    const auto scatter = std::ranges::find(*scattered, info.name, &backends::BatchOutput::target);
    if (scatter != scattered->end()) output.scatter = std::move(*scatter);
    plan.outputs.push_back(std::move(output));
  }
  return plan;
}

TfModel::TfModel(const Clock& clock, TfModelPlan plan, std::unique_ptr<TfSession> session,
                 uint64_t size_bytes, bool gpu_instances_on_cpu) noexcept
    : clock_(clock),
      plan_(std::make_shared<const TfModelPlan>(std::move(plan))),
      session_(std::move(session)),
      size_bytes_(size_bytes),
      gpu_instances_on_cpu_(gpu_instances_on_cpu) {}

TfModel::~TfModel() {
  session_.reset();
  ::malloc_trim(0);
}

Result<std::unique_ptr<BackendInstance>> TfModel::create_instance(const InstanceSpec& spec) noexcept {
  if (spec.kind == InstanceKind::kGpu && !gpu_instances_on_cpu_) {
    return unimplemented("instance '", spec.name,
                         "': found KIND_GPU, expected KIND_CPU: this backend runs on CPU; with the option "
                         "gpu_instances_on_cpu of backends/tensorflow such instances run there, too");
  }
  return std::unique_ptr<BackendInstance>(new TfInstance(clock_, plan_, session_, spec.reporter));
}

std::vector<MemoryUsage> TfModel::memory_usage() const noexcept {
  return {{MemoryKind::kCpu, 0, size_bytes_}};
}

}  // namespace atl::tensorflow
