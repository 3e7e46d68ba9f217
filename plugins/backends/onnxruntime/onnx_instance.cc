#include "backends/onnxruntime/onnx_instance.h"

#include <algorithm>
#include <limits>

#include "atoll/backend/values.h"
#include "backends/common/request_check.h"
#include "backends/onnxruntime/datatypes.h"
#include "backends/onnxruntime/string_tensor.h"

namespace atl::ort {
namespace {

/// What a tensor without bytes points to.
alignas(Scratch::kAlignment) std::byte g_nothing[Scratch::kAlignment];

bool is_aligned(const void* data, DataType datatype) {
  return reinterpret_cast<uintptr_t>(data) % data_type_size_bytes(datatype) == 0;
}

/// Largest tensor; what is above could not be added up.
constexpr uint64_t kMaxBytes = std::numeric_limits<int64_t>::max();

Status too_large(std::string_view input) {
  return invalid_argument("input '", input, "': found more than 2^63 - 1 elements or bytes in the batch");
}

const backends::BatchInput& batch_input_of(const OnnxModelPlan& model, const OnnxInputPlan& input) {
  return model.batch_inputs[static_cast<size_t>(input.batch_input)];
}

bool has_gpu_buffer(const InputTensor& input) {
  return std::ranges::any_of(input.buffers,
                             [](const Buffer& buffer) { return buffer.kind == MemoryKind::kGpu; });
}

Status gpu_buffer(std::string_view output) {
  return invalid_argument("output '", output, "': found a buffer in GPU memory, expected CPU memory");
}

}  // namespace

OnnxInstance::OnnxInstance(const BackendContext& context, std::shared_ptr<const OnnxModelPlan> plan,
                           std::shared_ptr<OrtSession> session, Handle<OrtRunOptions> run_options,
                           Handle<OrtMemoryInfo> memory_info, InferenceReporter* reporter,
                           std::unique_ptr<GpuExecution> gpu, std::unique_ptr<GpuGraphs> graphs) noexcept
    : clock_(*context.clock),
      plan_(std::move(plan)),
      session_(std::move(session)),
      run_options_(std::move(run_options)),
      memory_info_(std::move(memory_info)),
      scratch_(context.scratch, context.scratch_keep_bytes),
      responder_(reporter, plan_->decoupled),
      gpu_(std::move(gpu)),
      graphs_(std::move(graphs)) {}

std::string OnnxInstance::unready_reason() const {
  return gpu_ == nullptr ? std::string() : std::string(gpu_->loss().message());
}

Status OnnxInstance::execute(const Batch& batch) noexcept {
  if (gpu_ != nullptr) ATOLL_RETURN_IF_ERROR(gpu_->begin());
  ExecutionTimes times;
  times.execute_start_ns = clock_.now_ns();
  responder_.begin(batch);
  // A request whose elements do not add up must not spoil the tensor it would be joined into.
  bool check_elements = batch.requests.size() > 1;
  groups_.fill(responder_, [&](Request& request) -> Status {
    if (gpu_ != nullptr) ATOLL_RETURN_IF_ERROR(gpu_->bring_texts(request));
    return backends::check_request(*plan_, request, check_elements, gpu_ != nullptr);
  });
  const auto joins = [this](const Request& a, const Request& b) { return backends::joinable(*plan_, a, b); };
  while (groups_.take(responder_, joins)) run_group(times);
  times.execute_end_ns = clock_.now_ns();
  if (times.compute_start_ns == 0) times.compute_start_ns = times.compute_end_ns = times.execute_end_ns;
  scratch_.done();
  if (gpu_ != nullptr) gpu_->end();
  if (graphs_ != nullptr) graphs_->done();
  responder_.finish(times);
  return {};
}

void OnnxInstance::fail_group(const Status& failure) noexcept {
  for (uint32_t i : group_.indices) responder_.fail(i, failure.clone());
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
  if (!status.ok() && gpu_ != nullptr) status = gpu_->explain(std::move(status));
  if (status.ok()) {
    for (const BoundOutput& output : outputs_) deliver(output);
    if (gpu_ != nullptr) {
      if (Status copied = gpu_->wait(); !copied.ok()) fail_group(copied);
    }
  } else if (group_.indices.size() > 1 && (gpu_ == nullptr || gpu_->loss().ok())) {
    groups_.split();
  } else {
    fail_group(status);
  }
  inputs_.clear();
  outputs_.clear();
}

Status OnnxInstance::describe_input(const OnnxInputPlan& plan, BoundInput& bound) noexcept {
  const InputTensor& first = *group_.members[0]->find_input(plan.name);
  bound.plan = &plan;
  if (plan.ragged) {
    bound.shape.assign(1, 0);
  } else if (!plan.scalar) {
    bound.shape.assign(first.shape.begin(), first.shape.end());
    if (plan_->batches) bound.shape[0] = group_.weight;
  }
  int64_t elements = 0;
  for (const Request* member : group_.members) {
    const InputTensor& input = *member->find_input(plan.name);
    if (__builtin_add_overflow(elements, *element_count(input.shape), &elements) ||
        __builtin_add_overflow(bound.size_bytes, backends::bytes_present(input), &bound.size_bytes) ||
        bound.size_bytes > kMaxBytes) {
      return too_large(plan.name);
    }
    if (gpu_ != nullptr) bound.on_gpu = bound.on_gpu || has_gpu_buffer(input);
  }
  if (plan.ragged) bound.shape[0] = elements;
  bound.on_gpu = bound.on_gpu && bound.size_bytes != 0;
  bound.in_place =
      bound.size_bytes == 0 ||
      (group_.indices.size() == 1 && first.buffers.size() == 1 && plan.datatype != DataType::kBytes &&
       (bound.on_gpu ? gpu_->is_usable(first.buffers[0]) : is_aligned(first.buffers[0].data, plan.datatype)));
  return {};
}

Status OnnxInstance::describe_batch_input(const OnnxInputPlan& plan, BoundInput& bound) noexcept {
  bound.plan = &plan;
  auto size = backends::batch_input_shape(batch_input_of(*plan_, plan), group_.members, bound.shape);
  if (!size.ok()) return std::move(size).status();
  bound.size_bytes = *size;
  bound.in_place = *size == 0;
  return {};
}

Status OnnxInstance::bind_inputs() noexcept {
  uint64_t gathered_bytes[] = {0, 0};  // with the CPU, on the GPU
  for (const OnnxInputPlan& plan : plan_->inputs) {
    bool made = plan.batch_input >= 0;
    if (!made && group_.members[0]->find_input(plan.name) == nullptr) continue;
    BoundInput& bound = inputs_.emplace_back();
    ATOLL_RETURN_IF_ERROR(made ? describe_batch_input(plan, bound) : describe_input(plan, bound));
    if (bound.in_place || plan.datatype == DataType::kBytes) continue;
    uint64_t& sum = gathered_bytes[bound.on_gpu];
    if (__builtin_add_overflow(sum, Scratch::aligned(bound.size_bytes), &sum)) return too_large(plan.name);
  }
  std::byte* gathered[] = {nullptr, nullptr};
  for (const bool on_gpu : {false, true}) {
    if (gathered_bytes[on_gpu] == 0) continue;
    auto block = on_gpu ? gpu_->reserve(gathered_bytes[on_gpu]) : scratch_.reserve(gathered_bytes[on_gpu]);
    if (!block.ok()) return std::move(block).status();
    gathered[on_gpu] = *block;
  }
  for (BoundInput& bound : inputs_) {
    if (bound.plan->datatype == DataType::kBytes) {
      ATOLL_RETURN_IF_ERROR(bind_strings(bound));
    } else {
      ATOLL_RETURN_IF_ERROR(bind_tensor(bound, gathered[bound.on_gpu]));
      if (!bound.in_place) gathered[bound.on_gpu] += Scratch::aligned(bound.size_bytes);
    }
  }
  return gpu_ == nullptr ? Status() : gpu_->wait();
}

Status OnnxInstance::bind_tensor(BoundInput& bound, std::byte* gathered) noexcept {
  void* data = gathered;
  if (bound.size_bytes == 0) {
    data = g_nothing;
  } else if (bound.plan->batch_input >= 0) {
    backends::write_batch_input(batch_input_of(*plan_, *bound.plan), group_.members,
                                {gathered, bound.size_bytes});
  } else if (bound.in_place) {
    data = group_.members[0]->find_input(bound.plan->name)->buffers[0].data;
  } else {
    ATOLL_RETURN_IF_ERROR(bound.on_gpu ? gather_on_gpu(bound, gathered) : gather(bound, gathered));
  }
  const OrtMemoryInfo* const place = bound.on_gpu ? gpu_->memory_info() : memory_info_.get();
  return make(bound.value, api().CreateTensorWithDataAsOrtValue, place, data, bound.size_bytes,
              bound.shape.data(), bound.shape.size(), to_onnx(bound.plan->datatype));
}

Status OnnxInstance::gather(const BoundInput& bound, std::byte* gathered) noexcept {
  uint64_t left = bound.size_bytes;
  for (const Request* member : group_.members) {
    const InputTensor& input = *member->find_input(bound.plan->name);
    auto written = backends::gather(input.buffers, Buffer{gathered, left}, input.name);
    if (!written.ok()) return std::move(written).status();
    gathered += *written;
    left -= *written;
  }
  return {};
}

Status OnnxInstance::bind_strings(BoundInput& bound) noexcept {
  OrtAllocator* allocator = nullptr;
  ATOLL_RETURN_IF_ERROR(check(api().GetAllocatorWithDefaultOptions(&allocator)));
  ATOLL_RETURN_IF_ERROR(make(bound.value, api().CreateTensorAsOrtValue, allocator, bound.shape.data(),
                             bound.shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING));
  size_t first = 0;
  for (const Request* member : group_.members) {
    const InputTensor& input = *member->find_input(bound.plan->name);
    auto count = static_cast<size_t>(*element_count(input.shape));
    ATOLL_RETURN_IF_ERROR(fill_strings(*bound.value, first, count, input));
    first += count;
  }
  return {};
}

Status OnnxInstance::bind_outputs() noexcept {
  for (const OnnxOutputPlan& plan : plan_->outputs) {
    bool wanted =
        plan.ends_iteration || std::ranges::any_of(group_.members, [&](const Request* member) {
          return member->find_output(plan.name) != nullptr || (plan.state && member->state != nullptr);
        });
    if (!wanted) continue;
    BoundOutput& bound = outputs_.emplace_back();
    bound.plan = &plan;
    bool read_here = plan.state || plan.ends_iteration || plan.datatype == DataType::kBytes;
    if (group_.indices.size() == 1 && plan.fixed && !read_here) {
      ATOLL_RETURN_IF_ERROR(bind_direct(bound));
    } else if (gpu_ != nullptr) {
      bound.on_gpu = is_for_gpu(plan);
    }
  }
  return {};
}

/// Adds an output to the response of request i, where the instance would rather have it.
OutputTensor* OnnxInstance::add_output(const OnnxOutputPlan& plan, uint32_t i, const RequestedOutput& wanted,
                                       uint64_t size_bytes) noexcept {
  if (gpu_ == nullptr || plan.datatype == DataType::kBytes) {
    return responder_.add_output(i, wanted, plan.datatype, shape_, size_bytes);
  }
  OutputTensor* output =
      responder_.add_output(i, wanted, plan.datatype, shape_, size_bytes, MemoryKind::kGpu, gpu_->device());
  if (output != nullptr) gpu_->note_place(position_of(plan), output->buffer.kind);
  return output;
}

/// Lets ONNX Runtime write into the response's buffer, if that can be.
Status OnnxInstance::bind_direct(BoundOutput& bound) noexcept {
  const OnnxOutputPlan& plan = *bound.plan;
  shape_ = plan.dims;
  if (plan_->batches) shape_[0] = group_.weight;
  auto count = element_count(shape_);
  uint64_t size_bytes = 0;
  if (!count || __builtin_mul_overflow(static_cast<uint64_t>(*count), data_type_size_bytes(plan.datatype),
                                       &size_bytes)) {
    return invalid_argument("output '", plan.name, "': found shape ", shape_text(shape_),
                            ", expected a product of dimensions that fits into 63 bits");
  }
  const RequestedOutput& wanted = *group_.members[0]->find_output(plan.name);
  OutputTensor* output = add_output(plan, group_.indices[0], wanted, size_bytes);
  if (output == nullptr)
    return internal_error("output '", plan.name, "': no buffer");  // failed with the reason
  bound.on_gpu = size_bytes != 0 && !backends::is_host_memory(output->buffer.kind);
  if (bound.on_gpu && gpu_ == nullptr) return gpu_buffer(plan.name);
  bound.direct = true;
  void* data = size_bytes == 0 ? g_nothing : output->buffer.data;
  if (bound.on_gpu ? !gpu_->is_usable(output->buffer) : !is_aligned(data, plan.datatype)) {
    bound.late = output->buffer;
    bound.late.size_bytes = size_bytes;
    return {};
  }
  const OrtMemoryInfo* const place = bound.on_gpu ? gpu_->memory_info() : memory_info_.get();
  return make(bound.value, api().CreateTensorWithDataAsOrtValue, place, data, size_bytes, shape_.data(),
              shape_.size(), to_onnx(plan.datatype));
}

void OnnxInstance::list_tensors() noexcept {
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
}

Status OnnxInstance::run() noexcept {
  list_tensors();
  if (outputs_.empty()) return {};
  if (graphs_ != nullptr && graphs_->is_wanted(group_.weight) && describe_graph()) return run_with_graph();
  return run_plain();
}

Status OnnxInstance::run_plain() noexcept {
  if (gpu_ != nullptr && has_output_to_make_on_gpu()) return run_bound();
  Status status = check(api().Run(session_.get(), run_options(), input_names_.data(), input_values_.data(),
                                  input_values_.size(), output_names_.data(), output_names_.size(),
                                  output_values_.data()));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    // Where there was no value ONNX Runtime has made one.
    if (outputs_[i].value == nullptr) outputs_[i].value.reset(output_values_[i]);
  }
  return status;
}

void OnnxInstance::deliver(const BoundOutput& bound) noexcept {
  const OnnxOutputPlan& plan = *bound.plan;
  Status status;
  result_on_gpu_ = gpu_ != nullptr && ort::is_on_gpu(*bound.value);
  if (!bound.direct || bound.late.data != nullptr) status = result_.read(*bound.value, plan.datatype);
  if (status.ok()) {
    status = bound.direct ? copy_late(bound) : plan.scatter ? deliver_scattered(plan) : deliver_rows(plan);
  }
  result_.done();
  if (!status.ok()) {
    fail_group(make_status(status.code(), "output '", plan.name, "': ", status.message()));
  }
}

/// For a response buffer that ONNX Runtime could not write to because of its alignment.
Status OnnxInstance::copy_late(const BoundOutput& bound) noexcept {
  if (bound.late.data == nullptr) return {};
  uint64_t found = result_.size_bytes(0, result_.element_count());
  if (found != bound.late.size_bytes) {
    return internal_error("found ", found, " bytes from the model, expected ", bound.late.size_bytes);
  }
  return write_part(*bound.plan, 0, result_.element_count(), bound.late);
}

/// Cuts an output by the requests' batch weights and copies the parts.
Status OnnxInstance::deliver_rows(const OnnxOutputPlan& plan) noexcept {
  shape_.assign(result_.shape().begin(), result_.shape().end());
  if (plan_->batches && (shape_.empty() || shape_[0] != group_.weight)) {
    return internal_error("found shape ", shape_text(shape_), " from the model, expected the batch size ",
                          group_.weight, " as first dimension");
  }
  if (shape_.empty() && plan.scalar) shape_.push_back(1);
  uint64_t from = 0;
  for (uint32_t i : group_.indices) {
    uint32_t weight = responder_.request(i).batch_weight();
    uint64_t part = result_.element_count();
    if (plan_->batches) {
      shape_[0] = weight;
      part = part / group_.weight * weight;
    }
    deliver_part(plan, i, from, part);
    from += part;
  }
  return {};
}

/// Cuts an output by the shapes of another input in the requests and copies the parts.
Status OnnxInstance::deliver_scattered(const OnnxOutputPlan& plan) noexcept {
  uint64_t expected = 0;
  for (const Request* member : group_.members) {
    auto part = backends::batch_output_shape(*plan.scatter, *member, shape_);
    if (!part.ok()) return std::move(part).status();
    if (__builtin_add_overflow(expected, *part, &expected)) return too_large(plan.scatter->source);
  }
  if (expected != result_.element_count()) {
    return internal_error("found shape ", shape_text(result_.shape()), " from the model, expected ", expected,
                          " elements for the shapes of input '", plan.scatter->source, "'");
  }
  uint64_t from = 0;
  for (uint32_t i : group_.indices) {
    auto part = backends::batch_output_shape(*plan.scatter, responder_.request(i), shape_);
    deliver_part(plan, i, from, *part);
    from += *part;
  }
  return {};
}

/// Gives request i its `count` elements from `from` on, of shape_, if it wants them, or acts on them.
void OnnxInstance::deliver_part(const OnnxOutputPlan& plan, uint32_t i, uint64_t from,
                                uint64_t count) noexcept {
  Request& request = responder_.request(i);
  uint64_t size_bytes = result_.size_bytes(from, count);
  const RequestedOutput* wanted = request.find_output(plan.name);
  if (wanted != nullptr && !responder_.failed(i)) {
    OutputTensor* output = add_output(plan, i, *wanted, size_bytes);
    if (output == nullptr) return;
    Status status = write_part(plan, from, count, output->buffer);
    if (!status.ok()) responder_.fail(i, std::move(status));
  }
  if (plan.state && request.state != nullptr && !responder_.failed(i)) {
    Buffer buffer;
    const MemoryKind kind = result_on_gpu_ ? MemoryKind::kGpu : MemoryKind::kCpu;
    Status status = request.state->output(plan.name, plan.datatype, shape_, size_bytes, kind,
                                          result_on_gpu_ ? gpu_->device() : 0, &buffer);
    if (status.ok()) status = write_part(plan, from, count, buffer);
    if (status.ok() && gpu_ != nullptr) status = gpu_->wait();
    if (status.ok()) status = request.state->commit(plan.name);
    if (!status.ok()) responder_.fail(i, std::move(status));
  }
  if (plan.ends_iteration && !result_.all_true(from, count)) responder_.reschedule(i);
}

Status OnnxInstance::write_part(const OnnxOutputPlan& plan, uint64_t from, uint64_t count,
                                const Buffer& to) noexcept {
  if (gpu_ != nullptr) return write_part_of_gpu(plan, from, count, to);
  if (count != 0 && !backends::is_host_memory(to.kind)) return gpu_buffer(plan.name);
  return result_.write(from, count, static_cast<std::byte*>(to.data));
}

}  // namespace atl::ort
