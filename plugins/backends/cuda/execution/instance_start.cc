// How an instance comes to be: streams, memory, a run on zeros, graphs.
#include <algorithm>
#include <optional>
#include <utility>

#include "backends/cuda/execution/cuda_instance.h"

namespace atl::cuda_backend {
namespace {

/// Shapes of inputs that a model of variable ones is tried with.
std::vector<std::vector<int64_t>> trial_shapes(const ModelPlan& plan, int64_t batch) {
  std::vector<std::vector<int64_t>> shapes;
  for (const InputPlan& input : plan.inputs) {
    std::vector<int64_t> shape = plan.pipeline.table.tensors[input.slot].dims;
    std::ranges::replace(shape, int64_t{-1}, int64_t{1});
    const bool is_joined = input.ragged || input.batch_input >= 0;
    if (!shape.empty() && (plan.batches() || is_joined)) shape[0] = batch;
    // Some kinds have one more value than there are requests.
    if (input.batch_input >= 0 && shape.size() == 1) ++shape[0];
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

bool is_variable(const ModelPlan& plan) {
  return std::ranges::any_of(plan.pipeline.table.tensors, [&plan](const BatchTensor& tensor) {
    const bool has_batch = plan.batches() && !tensor.flat && !tensor.dims.empty();
    return std::any_of(tensor.dims.begin() + (has_batch ? 1 : 0), tensor.dims.end(),
                       [](int64_t dim) { return dim < 0; });
  });
}

}  // namespace

Result<std::unique_ptr<CudaInstance>> CudaInstance::make(std::shared_ptr<const ModelPlan> plan,
                                                         std::shared_ptr<DevicePart> part,
                                                         InferenceReporter* reporter) noexcept {
  std::unique_ptr<CudaInstance> made(new CudaInstance(std::move(plan), std::move(part)));
  ATOLL_RETURN_IF_ERROR(made->open(reporter));
  return made;
}

Status CudaInstance::open(InferenceReporter* reporter) noexcept {
  ATOLL_RETURN_IF_ERROR(part_->cuda().ensure_current(part_->device()));
  ATOLL_RETURN_IF_ERROR(open_lanes());
  const RunSettings& settings = plan_->settings;
  const bool runs_ahead = settings.eager_batching || settings.output_copy_stream;
  for (uint32_t i = 0; i < (runs_ahead ? kBatchesInFlight : 1); ++i) sets_.emplace_back(*part_);
  for (uint32_t i = 0; i < kBatchesInFlight; ++i) {
    auto slot = std::make_unique<Slot>(*this, reporter, plan_->decoupled);
    slot->set = runs_ahead ? i : 0;
    ATOLL_RETURN_IF_ERROR(slot->batch.open(part_->cuda(), part_->device(), settings.busy_wait_events));
    slots_.push_back(std::move(slot));
  }
  return warm_up();
}

Status CudaInstance::open_lanes() noexcept {
  const RunSettings& settings = plan_->settings;
  const auto open_lane = [&](Stream& lane) -> Status {
    Result<Stream> made = Stream::make(part_->cuda(), part_->device(), settings.priority);
    if (!made.ok()) return std::move(made).status();
    lane = std::move(made).value();
    return {};
  };
  ATOLL_RETURN_IF_ERROR(open_lane(lanes_.main));
  if (settings.eager_batching) ATOLL_RETURN_IF_ERROR(open_lane(lanes_.input));
  if (settings.output_copy_stream) ATOLL_RETURN_IF_ERROR(open_lane(lanes_.output));
  return {};
}

Status CudaInstance::warm_up() noexcept {
  for (WorkSet& set : sets_) {
    ATOLL_RETURN_IF_ERROR(warm_up(set));
    if (!plan_->settings.graphs.empty()) capture_graphs(set);
    ATOLL_RETURN_IF_ERROR(part_->cuda().lost(part_->device()));
  }
  return {};
}

/// The driver loads a kernel when it is launched first, and what is wrong with it shows then.
Status CudaInstance::warm_up(WorkSet& set) noexcept {
  const int64_t batch = std::max<int64_t>(plan_->max_batch_size, 1);
  Status status = run_.prepare(batch, trial_shapes(*plan_, batch));
  if (!status.ok() && is_variable(*plan_)) {
    part_->context().log->info("model '", plan_->model_name,
                               "' was not tried before its first request: ", status.message());
    return {};
  }
  if (status.ok()) status = run_.run_on_zeros(set);
  if (status.ok()) return {};
  return make_status(status.code(), "the model failed on inputs of zeros: ", status.message());
}

/// A graph that cannot be captured is no reason not to serve.
void CudaInstance::capture_graphs(WorkSet& set) noexcept {
  uint64_t most_bytes = set.size_bytes();
  std::vector<GraphShapes> wanted;
  Status failure;
  for (const GraphSpec& spec : plan_->settings.graphs) {
    std::optional<GraphShapes> shapes = graph_shapes(*plan_, spec);
    Status status = shapes ? run_.prepare(shapes->batch, shapes->inputs)
                           : invalid_argument("the shapes of its inputs vary: graph_spec has to say them");
    if (status.ok()) {
      most_bytes = std::max(most_bytes, run_.work_bytes());
      wanted.push_back(std::move(*shapes));
    } else if (failure.ok()) {
      failure = std::move(status).note(cat("batch size ", spec.batch));
    }
  }
  // All addresses are final before the first capture.
  if (!wanted.empty()) {
    if (Status status = set.reserve(most_bytes, lanes_); !status.ok()) {
      failure = std::move(status);
      wanted.clear();
    }
  }
  for (GraphShapes& shapes : wanted) {
    const int64_t batch = shapes.batch;
    Status status = run_.prepare(batch, shapes.inputs);
    if (status.ok()) status = run_.run_on_zeros(set);
    if (status.ok()) {
      Result<CapturedGraph> graph = run_.capture(set, std::move(shapes));
      if (graph.ok()) set.add_graph(std::move(graph).value());
      status = graph.status().clone();
    }
    if (!status.ok() && failure.ok()) failure = std::move(status).note(cat("batch size ", batch));
  }
  if (failure.ok()) return;
  part_->context().log->warning("unable to record CUDA graph for ", plan_->model_name, ": ", failure.text());
}

}  // namespace atl::cuda_backend
