#include "backends/tensorflow/run/tf_instance.h"

#include <algorithm>
#include <utility>

#include "atoll/backend/values.h"
#include "backends/common/request_check.h"

namespace atl::tensorflow {
namespace {

bool is_wanted(const TfOutputPlan& plan, const Request& request) {
  return request.find_output(plan.name) != nullptr || (plan.state && request.state != nullptr);
}

}  // namespace

TfInstance::TfInstance(const Clock& clock, std::shared_ptr<const TfModelPlan> plan,
                       std::shared_ptr<TfSession> session, InferenceReporter* reporter)
    : clock_(clock),
      plan_(std::move(plan)),
      session_(std::move(session)),
      responder_(reporter, plan_->decoupled) {}

Status TfInstance::execute(const Batch& batch) noexcept {
  ExecutionTimes times;
  times.execute_start_ns = clock_.now_ns();
  responder_.begin(batch);
  // A request whose elements do not add up must not spoil the tensor it would be joined into.
  const bool check_elements = batch.requests.size() > 1;
  groups_.fill(responder_, [&](const Request& request) {
    return backends::check_request(*plan_, request, check_elements);
  });
  const auto joins = [this](const Request& a, const Request& b) { return backends::joinable(*plan_, a, b); };
  while (groups_.take(responder_, joins)) run_group(times);
  times.execute_end_ns = clock_.now_ns();
  if (times.compute_start_ns == 0) times.compute_start_ns = times.compute_end_ns = times.execute_end_ns;
  responder_.finish(times);
  return {};
}

void TfInstance::run_group(ExecutionTimes& times) noexcept {
  choose_outputs();
  Status status = bind_inputs();
  if (status.ok() && !outputs_.empty()) {
    const int64_t start_ns = clock_.now_ns();
    if (times.compute_start_ns == 0) times.compute_start_ns = start_ns;
    status = run();
    times.compute_end_ns = clock_.now_ns();
  }
  if (status.ok()) {
    for (size_t i = 0; i < outputs_.size(); ++i) deliver(*outputs_[i], *results_[i]);
  } else if (group_.indices.size() > 1) {
    groups_.split();
  } else {
    responder_.fail(group_.indices[0], std::move(status));
  }
  inputs_.clear();
  results_.clear();
}

Status TfInstance::bind_inputs() noexcept {
  input_places_.clear();
  for (const TfInputPlan& plan : plan_->inputs) {
    const bool is_made = plan.batch_input >= 0;
    if (!is_made && group_.members[0]->find_input(plan.name) == nullptr) continue;
    auto tensor = is_made ? make_batch_input(*plan_, plan, group_.members)
                          : join_inputs(*plan_, plan, group_.members, group_.weight);
    if (!tensor.ok()) return std::move(tensor).status();
    inputs_.push_back(std::move(tensor).value());
    input_places_.push_back(plan.place);
  }
  return {};
}

void TfInstance::choose_outputs() noexcept {
  outputs_.clear();
  output_places_.clear();
  for (const TfOutputPlan& plan : plan_->outputs) {
    if (std::ranges::none_of(group_.members,
                             [&](const Request* request) { return is_wanted(plan, *request); }))
      continue;
    outputs_.push_back(&plan);
    output_places_.push_back(plan.place);
  }
}

Status TfInstance::run() noexcept {
  tensors_.clear();
  for (const auto& input : inputs_) tensors_.push_back(input.get());
  tensors_.resize(inputs_.size() + outputs_.size(), nullptr);
  TF_Tensor** const results = tensors_.data() + inputs_.size();
  tf().TF_SessionRun(session_->get(), nullptr, input_places_.data(), tensors_.data(),
                     static_cast<int>(inputs_.size()), output_places_.data(), results,
                     static_cast<int>(outputs_.size()), nullptr, 0, nullptr, status_);
  bool all = true;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    results_.emplace_back(results[i]);
    all = all && results[i] != nullptr;
  }
  if (status_.ok())
    return all ? Status() : internal_error("model '", plan_->model_name, "': a result is missing");
  const Status failure = status_.status();
  return make_status(failure.code(), "model '", plan_->model_name, "': ", failure.message());
}

void TfInstance::deliver(const TfOutputPlan& plan, const TF_Tensor& tensor) noexcept {
  Status status = result_.read(tensor, plan.datatype);
  if (status.ok()) status = plan.scatter ? deliver_scattered(plan) : deliver_rows(plan);
  if (status.ok()) return;
  for (const uint32_t i : group_.indices)
    responder_.fail(i, make_status(status.code(), "output '", plan.name, "': ", status.message()));
}

/// Cuts an output by the requests' batch sizes and copies the parts.
Status TfInstance::deliver_rows(const TfOutputPlan& plan) noexcept {
  std::vector<int64_t> shape(result_.shape().begin(), result_.shape().end());
  if (plan_->batches && (shape.empty() || shape[0] != group_.weight)) {
    return internal_error("found shape ", shape_text(shape), " from the model, expected the batch size ",
                          group_.weight, " as first dimension");
  }
  if (shape.empty() && plan.scalar) shape.push_back(1);
  uint64_t from = 0;
  for (const uint32_t i : group_.indices) {
    const uint32_t weight = responder_.request(i).batch_weight();
    uint64_t part = result_.element_count();
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

/// Cuts an output by the shapes of another input in the requests and copies the parts.
Status TfInstance::deliver_scattered(const TfOutputPlan& plan) noexcept {
  std::vector<int64_t> shape;
  uint64_t expected = 0;
  for (const Request* member : group_.members) {
    auto part = backends::batch_output_shape(*plan.scatter, *member, shape);
    if (!part.ok()) return std::move(part).status();
    if (__builtin_add_overflow(expected, *part, &expected))
      return invalid_argument("found more than 2^64 - 1 elements in the batch");
  }
  if (expected != result_.element_count()) {
    return internal_error("found shape ", shape_text(result_.shape()), " from the model, expected ", expected,
                          " elements for the shapes of input '", plan.scatter->source, "'");
  }
  uint64_t from = 0;
  for (const uint32_t i : group_.indices) {
    auto part = backends::batch_output_shape(*plan.scatter, responder_.request(i), shape);
    if (!part.ok()) return std::move(part).status();
    Status status = deliver_part(plan, i, shape, from, *part);
    if (!status.ok()) responder_.fail(i, std::move(status));
    from += *part;
  }
  return {};
}

/// Gives request i its `count` elements from `from` on, if it wants them.
Status TfInstance::deliver_part(const TfOutputPlan& plan, uint32_t i, std::span<const int64_t> shape,
                                uint64_t from, uint64_t count) noexcept {
  Request& request = responder_.request(i);
  const uint64_t bytes = result_.size_bytes(from, count);
  const RequestedOutput* wanted = request.find_output(plan.name);
  if (wanted != nullptr && !responder_.failed(i)) {
    const OutputTensor* output = responder_.add_output(i, *wanted, plan.datatype, shape, bytes);
    if (output == nullptr) return {};  // failed with the reason
    if (count != 0 && !backends::is_host_memory(output->buffer.kind))
      return invalid_argument("output '", plan.name, "': found a buffer in GPU memory, expected CPU memory");
    ATOLL_RETURN_IF_ERROR(result_.write(from, count, static_cast<std::byte*>(output->buffer.data)));
  }
  if (!plan.state || request.state == nullptr || responder_.failed(i)) return {};
  Buffer buffer;
  ATOLL_RETURN_IF_ERROR(
      request.state->output(plan.name, plan.datatype, shape, bytes, MemoryKind::kCpu, 0, &buffer));
  ATOLL_RETURN_IF_ERROR(result_.write(from, count, static_cast<std::byte*>(buffer.data)));
  return request.state->commit(plan.name);
}

}  // namespace atl::tensorflow
