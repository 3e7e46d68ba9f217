#include "backends/pytorch/torch_instance.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "atoll/backend/values.h"
#include "backends/pytorch/arguments.h"

namespace atl::pytorch {
namespace {

/// What a thread runs forward() with, for as long as this is there.
class RunMode {
 public:
  explicit RunMode(const TorchSettings& settings) : was_optimized_(torch::jit::getGraphExecutorOptimize()) {
    if (settings.inference_mode) {
      inference_.emplace();
    } else {
      no_gradients_.emplace();
    }
    torch::jit::setGraphExecutorOptimize(settings.optimized);
    thread_local int threads = 0;  // PyTorch keeps the number for each thread that calls it
    if (std::exchange(threads, settings.intra_op_threads) != settings.intra_op_threads)
      at::set_num_threads(settings.intra_op_threads);
  }
  ~RunMode() { torch::jit::setGraphExecutorOptimize(was_optimized_); }

 private:
  const bool was_optimized_;
  std::optional<c10::InferenceMode> inference_;
  std::optional<at::NoGradGuard> no_gradients_;
};

Status check(const TorchModelPlan& model, const Request& request, bool check_elements) {
  for (const TorchInputPlan& plan : model.inputs) {
    const InputTensor* input = request.find_input(plan.rule.name);
    if (input == nullptr) {
      if (!plan.rule.required) continue;
      return invalid_argument("input '", plan.rule.name, "': found none, expected one");
    }
    ATOLL_RETURN_IF_ERROR(backends::check_input(plan.rule, *input, request, model.batches, check_elements));
  }
  return {};
}

bool can_be_joined(const TorchModelPlan& model, const Request& a, const Request& b) {
  return model.batches && !model.inputs.empty() &&
         std::ranges::all_of(model.inputs, [&](const TorchInputPlan& plan) {
           return backends::can_be_joined(plan.rule, a, b);
         });
}

bool is_wanted(const TorchOutputPlan& plan, const Request& request) {
  return request.find_output(plan.name) != nullptr || (plan.state && request.state != nullptr);
}

}  // namespace

TorchInstance::TorchInstance(const Clock& clock, std::shared_ptr<const TorchModelPlan> plan,
                             const TorchSettings& settings, torch::jit::Module module,
                             InferenceReporter* reporter)
    : clock_(clock),
      plan_(std::move(plan)),
      settings_(settings),
      module_(std::move(module)),
      responder_(reporter, plan_->decoupled) {}

Status TorchInstance::execute(const Batch& batch) noexcept {
  ExecutionTimes times;
  times.execute_start_ns = clock_.now_ns();
  responder_.begin(batch);
  // A request whose elements do not add up must not spoil the list it would be joined into.
  const bool check_elements = batch.requests.size() > 1;
  groups_.fill(responder_, [&](const Request& request) { return check(*plan_, request, check_elements); });
  const auto joins = [this](const Request& a, const Request& b) { return can_be_joined(*plan_, a, b); };
  while (groups_.take(responder_, joins)) run_group(times);
  times.execute_end_ns = clock_.now_ns();
  if (times.compute_start_ns == 0) times.compute_start_ns = times.compute_end_ns = times.execute_end_ns;
  responder_.finish(times);
  return {};
}

void TorchInstance::run_group(ExecutionTimes& times) noexcept {
  c10::IValue result;
  const int64_t start_ns = clock_.now_ns();
  if (times.compute_start_ns == 0) times.compute_start_ns = start_ns;
  Status status = forward(result);
  times.compute_end_ns = clock_.now_ns();
  if (status.ok()) {
    for (const TorchOutputPlan& plan : plan_->outputs) deliver(plan, result);
  } else if (group_.indices.size() > 1) {
    groups_.split();
  } else {
    responder_.fail(group_.indices[0], std::move(status));
  }
}

Status TorchInstance::forward(c10::IValue& result) noexcept try {
  const RunMode mode(settings_);
  Result<std::vector<c10::IValue>> arguments = make_arguments(*plan_, group_.members, group_.weight);
  if (!arguments.ok()) return std::move(arguments).status();
  result = module_.forward(std::move(arguments).value());
  return {};
} catch (const c10::Error& error) {
  return internal_error("model '", plan_->model_name,
                        "': PyTorch execute failure: ", error.what_without_backtrace());
} catch (const std::exception& error) {
  return internal_error("model '", plan_->model_name, "': PyTorch execute failure: ", error.what());
}

void TorchInstance::deliver(const TorchOutputPlan& plan, const c10::IValue& result) noexcept {
  if (std::ranges::none_of(group_.members, [&](const Request* request) { return is_wanted(plan, *request); }))
    return;
  Result<c10::IValue> value = value_of(plan, result);
  Status status = value.ok() ? value_.read(*value, plan.datatype) : std::move(value).status();
  if (status.ok()) status = deliver_rows(plan);
  value_.done();
  if (status.ok()) return;
  for (const uint32_t i : group_.indices)
    responder_.fail(i, make_status(status.code(), "output '", plan.name, "': ", status.message()));
}

/// Cuts an output by the requests' batch sizes and copies the parts.
Status TorchInstance::deliver_rows(const TorchOutputPlan& plan) noexcept {
  std::vector<int64_t> shape(value_.shape().begin(), value_.shape().end());
  if (plan_->batches && (shape.empty() || shape[0] != group_.weight)) {
    return internal_error("found shape ", shape_text(shape), " from the model, expected the batch size ",
                          group_.weight, " as first dimension");
  }
  if (shape.empty() && plan.scalar) shape.push_back(1);
  uint64_t from = 0;
  for (const uint32_t i : group_.indices) {
    const uint32_t weight = responder_.request(i).batch_weight();
    uint64_t part = value_.element_count();
    if (plan_->batches) {
      shape[0] = weight;
      part = part / group_.weight * weight;
    }
    Status status = deliver_part(plan, i, shape, from, part);
    if (!status.ok()) responder_.fail(i, std::move(status));
    from += part;
  }
  return {};
}

/// Gives request i its `count` elements from `from` on, if it wants them.
Status TorchInstance::deliver_part(const TorchOutputPlan& plan, uint32_t i, std::span<const int64_t> shape,
                                   uint64_t from, uint64_t count) noexcept {
  Request& request = responder_.request(i);
  const uint64_t bytes = value_.size_bytes(from, count);
  const RequestedOutput* wanted = request.find_output(plan.name);
  if (wanted != nullptr && !responder_.failed(i)) {
    const OutputTensor* output = responder_.add_output(i, *wanted, plan.datatype, shape, bytes);
    if (output == nullptr) return {};  // failed with the reason
    if (count != 0 && !backends::is_host_memory(output->buffer.kind))
      return invalid_argument("output '", plan.name, "': found a buffer in GPU memory, expected CPU memory");
    ATOLL_RETURN_IF_ERROR(value_.write(from, count, static_cast<std::byte*>(output->buffer.data)));
  }
  if (!plan.state || request.state == nullptr || responder_.failed(i)) return {};
  Buffer buffer;
  ATOLL_RETURN_IF_ERROR(
      request.state->output(plan.name, plan.datatype, shape, bytes, MemoryKind::kCpu, 0, &buffer));
  ATOLL_RETURN_IF_ERROR(value_.write(from, count, static_cast<std::byte*>(buffer.data)));
  return request.state->commit(plan.name);
}

}  // namespace atl::pytorch
