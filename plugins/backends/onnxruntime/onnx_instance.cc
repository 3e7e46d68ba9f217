#include "onnx_instance.h"

#include <algorithm>
#include <cstring>

#include "common/gather.h"
#include "datatypes.h"
#include "request_check.h"
#include "string_tensor.h"

namespace atl::ort {
namespace {

/// What a tensor without bytes points to.
alignas(Scratch::kAlignment) std::byte g_nothing[Scratch::kAlignment];

uint64_t aligned(uint64_t size_bytes) {
  return (size_bytes + Scratch::kAlignment - 1) & ~(Scratch::kAlignment - 1);
}

bool is_aligned(const void* data, DataType datatype) {
  return reinterpret_cast<uintptr_t>(data) % data_type_size_bytes(datatype) == 0;
}

/// Position among the requested outputs, or -1.
int64_t find_requested(const Request& request, std::string_view name) {
  for (uint32_t i = 0; i < request.outputs.size(); ++i) {
    if (request.outputs[i].name == name) return i;
  }
  return -1;
}

Status gpu_buffer(std::string_view output) {
  return invalid_argument("output '", output, "': found a buffer in GPU memory, expected CPU memory");
}

}  // namespace

OnnxInstance::OnnxInstance(const Surroundings& surroundings, std::shared_ptr<const ModelPlan> plan,
                           std::shared_ptr<OrtSession> session, Handle<OrtRunOptions> run_options,
                           Handle<OrtMemoryInfo> memory_info, InferenceReporter* reporter) noexcept
    : clock_(*surroundings.clock),
      plan_(std::move(plan)),
      session_(std::move(session)),
      run_options_(std::move(run_options)),
      memory_info_(std::move(memory_info)),
      scratch_(surroundings.memory, surroundings.scratch_keep_bytes),
      responder_(reporter, plan_->decoupled) {}

Status OnnxInstance::execute(const Batch& batch) noexcept {
  ExecutionTimes times;
  times.execute_start_ns = clock_.now_ns();
  responder_.begin(batch);
  // A request whose elements do not add up must not spoil the tensor it would be joined into.
  bool check_elements = batch.requests.size() > 1;
  pending_.clear();
  for (uint32_t i = 0; i < responder_.size(); ++i) {
    Status status = check_request(*plan_, responder_.request(i), check_elements);
    if (status.ok()) {
      pending_.push_back(i);
    } else {
      responder_.fail(i, std::move(status));
    }
  }
  while (!pending_.empty()) {
    take_group(pending_);
    run_group(times);
  }
  times.execute_end_ns = clock_.now_ns();
  if (times.compute_start_ns == 0) times.compute_start_ns = times.compute_end_ns = times.execute_end_ns;
  scratch_.done();
  responder_.finish(times);
  return {};
}

/// Moves the first pending request, and all that can be joined with it, to the group.
void OnnxInstance::take_group(std::vector<uint32_t>& pending) noexcept {
  group_.assign(1, pending[0]);
  rest_.clear();
  const Request& first = responder_.request(pending[0]);
  group_weight_ = first.batch_weight();
  for (size_t i = 1; i < pending.size(); ++i) {
    const Request& next = responder_.request(pending[i]);
    if (joinable(*plan_, first, next)) {
      group_.push_back(pending[i]);
      group_weight_ += next.batch_weight();
    } else {
      rest_.push_back(pending[i]);
    }
  }
  pending.swap(rest_);
}

void OnnxInstance::fail_group(const Status& failure) noexcept {
  for (uint32_t i : group_) responder_.fail(i, failure.clone());
}

void OnnxInstance::run_group(ExecutionTimes& times) noexcept {
  Status status = bind_inputs();
  if (status.ok()) status = bind_outputs();
  if (status.ok()) {
    int64_t start_ns = clock_.now_ns();
    if (times.compute_start_ns == 0) times.compute_start_ns = start_ns;
    status = run();
    times.compute_end_ns = clock_.now_ns();
    if (!status.ok()) {
      status = make_status(status.code(), "model '", plan_->model_name, "': ", status.message());
    }
  }
  if (status.ok()) {
    for (const BoundOutput& output : outputs_) deliver(output);
  } else {
    fail_group(status);
  }
  inputs_.clear();
  outputs_.clear();
}

void OnnxInstance::describe_input(const InputPlan& plan, BoundInput& bound) noexcept {
  const InputTensor& first = *member(0).find_input(plan.name);
  bound.plan = &plan;
  if (!plan.scalar) bound.shape.assign(first.shape.begin(), first.shape.end());
  if (plan_->batches) bound.shape[0] = group_weight_;
  for (size_t i = 0; i < group_.size(); ++i)
    bound.size_bytes += bytes_present(*member(i).find_input(plan.name));
  bound.in_place = bound.size_bytes == 0 ||
                   (group_.size() == 1 && first.buffers.size() == 1 && plan.datatype != DataType::kBytes &&
                    is_aligned(first.buffers[0].data, plan.datatype));
}

Status OnnxInstance::bind_inputs() noexcept {
  uint64_t gathered_bytes = 0;
  for (const InputPlan& plan : plan_->inputs) {
    if (member(0).find_input(plan.name) == nullptr) continue;
    BoundInput& bound = inputs_.emplace_back();
    describe_input(plan, bound);
    if (!bound.in_place && plan.datatype != DataType::kBytes) gathered_bytes += aligned(bound.size_bytes);
  }
  std::byte* gathered = nullptr;
  if (gathered_bytes != 0) {
    auto block = scratch_.reserve(gathered_bytes);
    if (!block.ok()) return std::move(block).status();
    gathered = *block;
  }
  for (BoundInput& bound : inputs_) {
    if (bound.plan->datatype == DataType::kBytes) {
      ATOLL_RETURN_IF_ERROR(bind_strings(bound));
    } else {
      ATOLL_RETURN_IF_ERROR(bind_tensor(bound, gathered));
      if (!bound.in_place) gathered += aligned(bound.size_bytes);
    }
  }
  return {};
}

Status OnnxInstance::bind_tensor(BoundInput& bound, std::byte* gathered) noexcept {
  void* data = gathered;
  if (bound.size_bytes == 0) {
    data = g_nothing;
  } else if (bound.in_place) {
    data = member(0).find_input(bound.plan->name)->buffers[0].data;
  } else {
    uint64_t left = bound.size_bytes;
    for (size_t i = 0; i < group_.size(); ++i) {
      const InputTensor& input = *member(i).find_input(bound.plan->name);
      auto written = backends::gather(input.buffers, Buffer{gathered, left}, input.name);
      if (!written.ok()) return std::move(written).status();
      gathered += *written;
      left -= *written;
    }
  }
  return make(bound.value, api().CreateTensorWithDataAsOrtValue, memory_info_.get(), data, bound.size_bytes,
              bound.shape.data(), bound.shape.size(), to_onnx(bound.plan->datatype));
}

Status OnnxInstance::bind_strings(BoundInput& bound) noexcept {
  OrtAllocator* allocator = nullptr;
  ATOLL_RETURN_IF_ERROR(check(api().GetAllocatorWithDefaultOptions(&allocator)));
  ATOLL_RETURN_IF_ERROR(make(bound.value, api().CreateTensorAsOrtValue, allocator, bound.shape.data(),
                             bound.shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING));
  size_t first = 0;
  for (size_t i = 0; i < group_.size(); ++i) {
    const InputTensor& input = *member(i).find_input(bound.plan->name);
    auto count = static_cast<size_t>(*element_count(input.shape));
    ATOLL_RETURN_IF_ERROR(fill_strings(*bound.value, first, count, input));
    first += count;
  }
  return {};
}

Status OnnxInstance::bind_outputs() noexcept {
  for (const OutputPlan& plan : plan_->outputs) {
    bool wanted = false;
    for (size_t i = 0; i < group_.size() && !wanted; ++i) {
      wanted = find_requested(member(i), plan.name) >= 0 || (plan.state && member(i).state != nullptr);
    }
    if (!wanted) continue;
    BoundOutput& bound = outputs_.emplace_back();
    bound.plan = &plan;
    if (group_.size() == 1 && plan.fixed && !plan.state && plan.datatype != DataType::kBytes) {
      ATOLL_RETURN_IF_ERROR(bind_direct(bound));
    }
  }
  return {};
}

/// Lets ONNX Runtime write into the response's buffer, if that can be.
Status OnnxInstance::bind_direct(BoundOutput& bound) noexcept {
  const OutputPlan& plan = *bound.plan;
  shape_ = plan.dims;
  if (plan_->batches) shape_[0] = group_weight_;
  auto count = element_count(shape_);
  uint64_t size_bytes = 0;
  if (!count || __builtin_mul_overflow(static_cast<uint64_t>(*count), data_type_size_bytes(plan.datatype),
                                       &size_bytes)) {
    return invalid_argument("output '", plan.name, "': found shape ", shape_text(shape_),
                            ", expected a product of dimensions that fits into 63 bits");
  }
  auto requested = static_cast<uint32_t>(find_requested(member(0), plan.name));
  OutputTensor* output = responder_.add_output(group_[0], requested, plan.datatype, shape_, size_bytes);
  if (output == nullptr)
    return internal_error("output '", plan.name, "': no buffer");  // failed with the reason
  if (size_bytes != 0 && !backends::is_host_memory(output->buffer.kind)) return gpu_buffer(plan.name);
  bound.direct = true;
  void* data = size_bytes == 0 ? g_nothing : output->buffer.data;
  if (!is_aligned(data, plan.datatype)) {
    bound.late = Buffer{data, size_bytes};
    return {};
  }
  return make(bound.value, api().CreateTensorWithDataAsOrtValue, memory_info_.get(), data, size_bytes,
              shape_.data(), shape_.size(), to_onnx(plan.datatype));
}

Status OnnxInstance::run() noexcept {
  input_names_.clear();
  input_values_.clear();
  output_names_.clear();
  output_values_.clear();
  for (const BoundInput& input : inputs_) {
    input_names_.push_back(input.plan->name.c_str());
    input_values_.push_back(input.value.get());
  }
  for (const BoundOutput& output : outputs_) {
    output_names_.push_back(output.plan->name.c_str());
    output_values_.push_back(output.value.get());
  }
  if (outputs_.empty()) return {};
  Status status = check(api().Run(session_.get(), run_options_.get(), input_names_.data(),
                                  input_values_.data(), input_values_.size(), output_names_.data(),
                                  output_names_.size(), output_values_.data()));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    // Where there was no value ONNX Runtime has made one.
    if (outputs_[i].value == nullptr) outputs_[i].value.reset(output_values_[i]);
  }
  return status;
}

void OnnxInstance::deliver(const BoundOutput& bound) noexcept {
  Status status = bound.direct ? copy_late(bound) : deliver_parts(*bound.plan, *bound.value);
  if (!status.ok()) {
    fail_group(make_status(status.code(), "output '", bound.plan->name, "': ", status.message()));
  }
}

/// For a response buffer that ONNX Runtime could not write to because of its alignment.
Status OnnxInstance::copy_late(const BoundOutput& bound) noexcept {
  if (bound.late.data == nullptr) return {};
  ATOLL_RETURN_IF_ERROR(read_shape(*bound.value));
  auto count = static_cast<uint64_t>(element_count(shape_).value_or(0));
  uint64_t found = count * data_type_size_bytes(bound.plan->datatype);
  if (found != bound.late.size_bytes) {
    return internal_error("found ", found, " bytes from the model, expected ", bound.late.size_bytes);
  }
  void* data = nullptr;
  ATOLL_RETURN_IF_ERROR(check(api().GetTensorMutableData(bound.value.get(), &data)));
  std::memcpy(bound.late.data, data, found);
  return {};
}

Status OnnxInstance::read_shape(const OrtValue& value) noexcept {
  Handle<OrtTensorTypeAndShapeInfo> info;
  ATOLL_RETURN_IF_ERROR(make(info, api().GetTensorTypeAndShape, &value));
  size_t rank = 0;
  ATOLL_RETURN_IF_ERROR(check(api().GetDimensionsCount(info.get(), &rank)));
  shape_.resize(rank);
  return check(api().GetDimensions(info.get(), shape_.data(), rank));
}

/// Cuts an output by the requests' batch weights and copies the parts.
Status OnnxInstance::deliver_parts(const OutputPlan& plan, OrtValue& value) noexcept {
  ATOLL_RETURN_IF_ERROR(read_shape(value));
  auto count = static_cast<uint64_t>(element_count(shape_).value_or(0));
  if (plan_->batches && (shape_.empty() || shape_[0] != group_weight_)) {
    return internal_error("found shape ", shape_text(shape_), " from the model, expected the batch size ",
                          group_weight_, " as first dimension");
  }
  if (shape_.empty() && plan.scalar) shape_.push_back(1);
  Source source;
  if (plan.datatype == DataType::kBytes) {
    ATOLL_RETURN_IF_ERROR(source.strings.read(value, count));
  } else {
    void* data = nullptr;
    ATOLL_RETURN_IF_ERROR(check(api().GetTensorMutableData(&value, &data)));
    source.data = static_cast<const std::byte*>(data);
  }
  uint64_t from = 0;
  for (uint32_t i : group_) {
    uint32_t weight = responder_.request(i).batch_weight();
    uint64_t part = plan_->batches ? count / group_weight_ * weight : count;
    if (plan_->batches) shape_[0] = weight;
    deliver_part(plan, source, i, from, part);
    from += part;
  }
  return {};
}

/// Gives request i its `count` elements from `from` on, of shape_, if it wants them.
void OnnxInstance::deliver_part(const OutputPlan& plan, const Source& source, uint32_t i, uint64_t from,
                                uint64_t count) noexcept {
  Request& request = responder_.request(i);
  uint64_t size_bytes = plan.datatype == DataType::kBytes ? source.strings.encoded_size_bytes(from, count)
                                                          : count * data_type_size_bytes(plan.datatype);
  if (int64_t requested = find_requested(request, plan.name); requested >= 0 && !responder_.failed(i)) {
    OutputTensor* output =
        responder_.add_output(i, static_cast<uint32_t>(requested), plan.datatype, shape_, size_bytes);
    if (output == nullptr) return;
    Status status = write_part(plan, source, from, count, output->buffer);
    if (!status.ok()) responder_.fail(i, std::move(status));
  }
  if (plan.state && request.state != nullptr && !responder_.failed(i)) {
    Buffer buffer;
    Status status =
        request.state->output(plan.name, plan.datatype, shape_, size_bytes, MemoryKind::kCpu, 0, &buffer);
    if (status.ok()) status = write_part(plan, source, from, count, buffer);
    if (status.ok()) status = request.state->commit(plan.name);
    if (!status.ok()) responder_.fail(i, std::move(status));
  }
}

Status OnnxInstance::write_part(const OutputPlan& plan, const Source& source, uint64_t from, uint64_t count,
                                const Buffer& to) noexcept {
  if (count == 0) return {};
  if (!backends::is_host_memory(to.kind)) return gpu_buffer(plan.name);
  if (plan.datatype == DataType::kBytes) {
    return source.strings.encode(from, count, static_cast<std::byte*>(to.data));
  }
  uint64_t element_bytes = data_type_size_bytes(plan.datatype);
  std::memcpy(to.data, source.data + from * element_bytes, count * element_bytes);
  return {};
}

}  // namespace atl::ort
