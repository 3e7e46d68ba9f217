// What an instance on a GPU does otherwise than one on the CPU.
#include <algorithm>

#include "atoll/backend/values.h"
#include "backends/onnxruntime/datatypes.h"
#include "backends/onnxruntime/onnx_instance.h"

namespace atl::ort {

Status OnnxInstance::gather_on_gpu(const BoundInput& bound, std::byte* gathered) noexcept {
  for (const Request* member : group_.members) {
    for (const Buffer& from : member->find_input(bound.plan->name)->buffers) {
      ATOLL_RETURN_IF_ERROR(
          gpu_->copy(Buffer{gathered, from.size_bytes, MemoryKind::kGpu, gpu_->device()}, from));
      gathered += from.size_bytes;
    }
  }
  return {};
}

/// Whether an output goes to memory of a GPU, as far as that can be known before there is any for it.
bool OnnxInstance::is_for_gpu(const OnnxOutputPlan& plan) const noexcept {
  if (plan.ends_iteration || plan.datatype == DataType::kBytes) return false;
  if (gpu_->is_expected(position_of(plan))) return true;
  return std::ranges::any_of(group_.members, [&](const Request* member) {
    const RequestedOutput* wanted = member->find_output(plan.name);
    const bool placed =
        wanted != nullptr && wanted->placement.data != nullptr && wanted->placement.kind == MemoryKind::kGpu;
    return placed || (plan.state && member->state != nullptr);
  });
}

size_t OnnxInstance::position_of(const OnnxOutputPlan& plan) const noexcept {
  return static_cast<size_t>(&plan - plan_->outputs.data());
}

bool OnnxInstance::has_output_to_make_on_gpu() const noexcept {
  return std::ranges::any_of(
      outputs_, [](const BoundOutput& output) { return output.on_gpu && output.value == nullptr; });
}

/// As run(), where memory on the GPU is to be made for an output.
Status OnnxInstance::run_bound() noexcept {
  outputs_on_gpu_.clear();
  for (const BoundOutput& output : outputs_) outputs_on_gpu_.push_back(output.on_gpu);
  Status status =
      gpu_->run_bound(*session_, run_options(),
                      {input_names_, input_values_, output_names_, output_values_, outputs_on_gpu_});
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].value == nullptr) outputs_[i].value.reset(output_values_[i]);
  }
  return status;
}

/// Whether the run's tensors could be those of a graph: all of them of sizes that are known before it.
bool OnnxInstance::describe_graph() noexcept {
  graph_key_.clear();
  graph_tensors_.clear();
  graph_shapes_.clear();
  for (const BoundInput& input : inputs_) {
    if (input.plan->datatype == DataType::kBytes || input.size_bytes == 0) return false;
    graph_key_.push_back(input.plan - plan_->inputs.data());
    graph_key_.push_back(static_cast<int64_t>(input.shape.size()));
    graph_key_.insert(graph_key_.end(), input.shape.begin(), input.shape.end());
    graph_tensors_.push_back({input.shape, to_onnx(input.plan->datatype), input.size_bytes});
  }
  graph_key_.push_back(-1);
  graph_shapes_.reserve(outputs_.size());
  for (const BoundOutput& output : outputs_) {
    const OnnxOutputPlan& plan = *output.plan;
    if (!plan.fixed || plan.datatype == DataType::kBytes) return false;
    std::vector<int64_t>& shape = graph_shapes_.emplace_back(plan.dims);
    if (plan_->batches) shape[0] = group_.weight;
    const auto count = element_count(shape);
    uint64_t size_bytes = 0;
    if (!count || *count == 0 ||
        __builtin_mul_overflow(static_cast<uint64_t>(*count), data_type_size_bytes(plan.datatype),
                               &size_bytes)) {
      return false;
    }
    graph_key_.push_back(static_cast<int64_t>(position_of(plan)));
    graph_tensors_.push_back({shape, to_onnx(plan.datatype), size_bytes});
  }
  return true;
}

/// By a graph if there can be one, else without.
Status OnnxInstance::run_with_graph() noexcept {
  bool ran = false;
  Status by_graph = run_graph(&ran);
  if (ran && by_graph.ok()) return {};
  if (!gpu_->loss().ok()) return by_graph;
  for (BoundOutput& output : outputs_) {
    if (!output.direct || output.late.data != nullptr) output.value.reset();
  }
  list_tensors();
  Status status = run_plain();
  // Where both fail it is not the graph.
  if (status.ok() && !by_graph.ok()) graphs_->give_up(graph_key_, plan_->model_name, by_graph);
  return status;
}

/// As run(), on the tensors of a graph. \param ran  false: there is none for these shapes
Status OnnxInstance::run_graph(bool* ran) noexcept {
  auto prepared = graphs_->prepare(graph_key_, graph_tensors_, gpu_->memory_info());
  if (!prepared.ok()) return std::move(prepared).status();
  if (*prepared == nullptr) return {};
  *ran = true;
  const GpuGraph& graph = **prepared;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    void* data = nullptr;
    ATOLL_RETURN_IF_ERROR(check(api().GetTensorMutableData(inputs_[i].value.get(), &data)));
    const MemoryKind kind = inputs_[i].on_gpu ? MemoryKind::kGpu : MemoryKind::kCpu;
    ATOLL_RETURN_IF_ERROR(
        gpu_->copy(graph.places[i], Buffer{data, inputs_[i].size_bytes, kind, gpu_->device()}));
    input_values_[i] = graph.values[i].get();
  }
  ATOLL_RETURN_IF_ERROR(gpu_->wait());
  return run_on(graph);
}

Status OnnxInstance::run_on(const GpuGraph& graph) noexcept {
  const size_t first = inputs_.size();
  for (size_t i = 0; i < outputs_.size(); ++i) output_values_[i] = graph.values[first + i].get();
  ATOLL_RETURN_IF_ERROR(check(api().Run(session_.get(), graph.options.get(), input_names_.data(),
                                        input_values_.data(), input_values_.size(), output_names_.data(),
                                        output_names_.size(), output_values_.data())));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    BoundOutput& output = outputs_[i];
    const Buffer& place = graph.places[first + i];
    const GraphTensor& tensor = graph_tensors_[first + i];
    if (output.value == nullptr) {  // to be delivered from there
      ATOLL_RETURN_IF_ERROR(make(output.value, api().CreateTensorWithDataAsOrtValue, gpu_->memory_info(),
                                 place.data, place.size_bytes, tensor.shape.data(), tensor.shape.size(),
                                 tensor.type));
      continue;
    }
    void* data = nullptr;
    ATOLL_RETURN_IF_ERROR(check(api().GetTensorMutableData(output.value.get(), &data)));
    const MemoryKind kind = output.on_gpu ? MemoryKind::kGpu : MemoryKind::kCpu;
    ATOLL_RETURN_IF_ERROR(gpu_->copy(Buffer{data, place.size_bytes, kind, gpu_->device()}, place));
  }
  return {};
}

/// As write_part(), where either side may be on the GPU.
Status OnnxInstance::write_part_of_gpu(const OnnxOutputPlan& plan, uint64_t from, uint64_t count,
                                       const Buffer& to) noexcept {
  if (count == 0) return {};
  const uint64_t size_bytes = result_.size_bytes(from, count);
  if (plan.datatype != DataType::kBytes) {
    const MemoryKind kind = result_on_gpu_ ? MemoryKind::kGpu : MemoryKind::kCpu;
    return gpu_->copy(to, Buffer{result_.elements(from), size_bytes, kind, gpu_->device()});
  }
  if (backends::is_host_memory(to.kind)) return result_.write(from, count, static_cast<std::byte*>(to.data));
  std::vector<std::byte> texts(size_bytes);
  ATOLL_RETURN_IF_ERROR(result_.write(from, count, texts.data()));
  ATOLL_RETURN_IF_ERROR(gpu_->copy(to, Buffer{texts.data(), size_bytes}));
  return gpu_->wait();
}

}  // namespace atl::ort
