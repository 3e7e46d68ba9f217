#include "backends/cuda/execution/group_run.h"

#include <utility>

namespace atl::cuda_backend {

Status GroupRun::prepare(const BatchGroup& group, const WorkSet& set) noexcept {
  ATOLL_RETURN_IF_ERROR(join(group));
  views_.assign(shapes_.begin(), shapes_.end());
  const int64_t batch = plan_.batches() ? group.weight : 1;
  graph_ = set.find_graph(views_, batch, plan_.batches(), plan_.pipeline.pad_batch);
  if (graph_ == nullptr) return work_out(batch);
  if (plan_.batches()) {
    for (std::vector<int64_t>& shape : shapes_) shape[0] = graph_->shapes().batch;
  }
  return work_out(graph_->shapes().batch);
}

Status GroupRun::prepare(int64_t batch, const std::vector<std::vector<int64_t>>& shapes) noexcept {
  graph_ = nullptr;
  shapes_ = shapes;
  return work_out(batch);
}

Status GroupRun::join(const BatchGroup& group) {
  shapes_.resize(plan_.inputs.size());
  for (size_t i = 0; i < shapes_.size(); ++i)
    ATOLL_RETURN_IF_ERROR(join_input(plan_.inputs[i], group, shapes_[i]));
  return {};
}

Status GroupRun::join_input(const InputPlan& input, const BatchGroup& group, std::vector<int64_t>& shape) {
  if (input.batch_input >= 0) {
    const backends::BatchInput& made = plan_.batch_inputs[static_cast<size_t>(input.batch_input)];
    return backends::batch_input_shape(made, group.members, shape).status().clone();
  }
  shape.clear();
  const InputTensor* first = group.members[0]->find_input(input.name);
  if (first == nullptr) return {};
  if (!input.ragged) {
    shape.assign(first->shape.begin(), first->shape.end());
    if (plan_.batches()) shape[0] = group.weight;
    return {};
  }
  int64_t elements = 0;
  for (const Request* member : group.members) {
    const auto count = element_count(member->find_input(input.name)->shape);
    if (!count || __builtin_add_overflow(elements, *count, &elements)) {
      return invalid_argument("input '", input.name, "': found more than 2^63 - 1 elements in the batch");
    }
  }
  shape.push_back(elements);
  return {};
}

Status GroupRun::work_out(int64_t batch) {
  extents_.set_batch(batch);
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const InputPlan& input = plan_.inputs[i];
    if (shapes_[i].empty() && input.optional) {
      extents_.set_absent(input.slot);
    } else {
      ATOLL_RETURN_IF_ERROR(extents_.set(input.slot, shapes_[i]));
    }
  }
  ATOLL_RETURN_IF_ERROR(set_output_shapes(plan_.pipeline, extents_));
  ATOLL_RETURN_IF_ERROR(evaluate(plan_.pipeline, extents_, part_.code().limits(), run_));
  return lay_out(plan_, extents_, run_, layout_);
}

Status GroupRun::run(const BatchGroup& group, WorkSet& set, InFlight& batch, bool is_first) noexcept {
  const bool has_graph = graph_ != nullptr;
  ATOLL_RETURN_IF_ERROR(outputs_.allocate(group, extents_, batch));
  ATOLL_RETURN_IF_ERROR(set.reserve(layout_.total_bytes, lanes_));
  addresses_.set(plan_, extents_, layout_, set.address());
  // What comes before on the lane of the outputs is read from memory that is written to now.
  if (!is_first && lanes_.output) ATOLL_RETURN_IF_ERROR(lanes_.main.wait_for(batch.done.handle()));
  const bool copies_ahead = is_first && lanes_.input;
  const Stream& input = copies_ahead ? lanes_.input : lanes_.main;
  ATOLL_RETURN_IF_ERROR(inputs_.gather(group, extents_, layout_, !has_graph, addresses_, batch, input));
  ATOLL_RETURN_IF_ERROR(input.record(batch.inputs_ready));
  if (copies_ahead) ATOLL_RETURN_IF_ERROR(lanes_.main.wait_for(batch.inputs_ready.handle()));
  if (!has_graph) outputs_.place(group, extents_, addresses_);
  ATOLL_RETURN_IF_ERROR(has_graph ? graph_->launch(lanes_.main)
                                  : launcher_.launch(plan_, part_, run_, addresses_, lanes_.main));
  ATOLL_RETURN_IF_ERROR(lanes_.main.record(batch.computed));
  if (lanes_.output) ATOLL_RETURN_IF_ERROR(lanes_.output.wait_for(batch.computed.handle()));
  ATOLL_RETURN_IF_ERROR(outputs_.deliver(layout_, set.address(), batch, lanes_.outputs()));
  ATOLL_RETURN_IF_ERROR(batch.record_outputs(lanes_.outputs()));
  return lanes_.outputs().record(batch.done);
}

Status GroupRun::run_on_zeros(WorkSet& set) noexcept {
  ATOLL_RETURN_IF_ERROR(set.reserve(layout_.total_bytes, lanes_));
  addresses_.set(plan_, extents_, layout_, set.address());
  Status status;
  if (layout_.total_bytes != 0) {
    status = part_.cuda().call<&CudaDriver::cuMemsetD8Async>(part_.device(), set.address(), 0,
                                                             layout_.total_bytes, lanes_.main.handle());
  }
  if (status.ok()) status = launcher_.launch(plan_, part_, run_, addresses_, lanes_.main);
  Status ended = lanes_.synchronize();
  return status.ok() ? std::move(ended) : std::move(status);
}

Result<CapturedGraph> GroupRun::capture(WorkSet& set, GraphShapes shapes) noexcept {
  addresses_.set(plan_, extents_, layout_, set.address());
  return CapturedGraph::capture(plan_, part_, run_, addresses_, lanes_.main, launcher_, std::move(shapes));
}

}  // namespace atl::cuda_backend
