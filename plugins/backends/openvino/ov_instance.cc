#include "backends/openvino/ov_instance.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "atoll/backend/bytes.h"
#include "atoll/backend/values.h"
#include "atoll/core/text.h"
#include "backends/common/input_rules.h"

namespace atl::openvino {
namespace {

/// Whether the model takes the dimensions, which the library would find out in the middle of a run.
Status check_dims(const OvInputPlan& plan, const InputTensor& input, bool is_padded) {
  if (!plan.has_rank || plan.scalar) return {};
  bool fits = input.shape.size() == plan.dims.size();
  for (size_t i = is_padded ? 1 : 0; fits && i < plan.dims.size(); ++i)
    fits = plan.dims[i] == -1 || plan.dims[i] == input.shape[i];
  if (fits) return {};
  return invalid_argument("input '", plan.name, "': found shape ", shape_text(input.shape), ", expected ",
                          shape_text(plan.dims));
}

Status check_request(const OvModelPlan& model, const Request& request, bool check_elements) {
  for (const OvInputPlan& plan : model.inputs) {
    const InputTensor* input = request.find_input(plan.name);
    if (input == nullptr) return invalid_argument("input '", plan.name, "': found none, expected one");
    ATOLL_RETURN_IF_ERROR(backends::check_input(plan, *input, request, model.batches, check_elements));
    ATOLL_RETURN_IF_ERROR(check_dims(plan, *input, model.padded_rows != 0));
  }
  return {};
}

bool can_be_joined(const OvModelPlan& model, const Request& a, const Request& b) {
  return model.batches && !model.has_state && !model.inputs.empty() &&
         std::ranges::all_of(model.inputs,
                             [&](const OvInputPlan& plan) { return backends::can_be_joined(plan, a, b); });
}

bool is_wanted(const OvOutputPlan& plan, const Request& request) {
  return request.find_output(plan.name) != nullptr || (plan.state && request.state != nullptr);
}

uint64_t hash_of(const std::vector<std::vector<int64_t>>& shapes) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u ^ (hash >> 29); };
  for (const std::vector<int64_t>& shape : shapes) {
    mix(shape.size());
    for (const int64_t dim : shape) mix(static_cast<uint64_t>(dim));
  }
  return hash;
}

std::span<const std::string> texts_of(const OvView& view, uint64_t from, uint64_t count) {
  return {static_cast<const std::string*>(view.data) + from, count};
}

}  // namespace

OvInstance::OvInstance(const Clock& clock, std::shared_ptr<OvShared> shared, std::unique_ptr<OvRun> run,
                       InferenceReporter* reporter) noexcept
    : clock_(clock),
      shared_(std::move(shared)),
      plan_(shared_->plan),
      own_run_(std::move(run)),
      run_(own_run_.get()),
      responder_(reporter, plan_.decoupled),
      shapes_(plan_.inputs.size()) {}

Status OvInstance::execute(const Batch& batch) noexcept {
  ExecutionTimes times;
  times.execute_start_ns = clock_.now_ns();
  responder_.begin(batch);
  // A request whose elements do not add up must not spoil the tensor it would be joined into.
  const bool check_elements = batch.requests.size() > 1;
  groups_.fill(responder_,
               [&](const Request& request) { return check_request(plan_, request, check_elements); });
  const auto joins = [this](const Request& a, const Request& b) { return can_be_joined(plan_, a, b); };
  while (groups_.take(responder_, joins)) run_group(times);
  times.execute_end_ns = clock_.now_ns();
  if (times.compute_start_ns == 0) times.compute_start_ns = times.compute_end_ns = times.execute_end_ns;
  responder_.finish(times);
  return {};
}

uint32_t OvInstance::rows() const noexcept {
  return plan_.padded_rows != 0 ? plan_.padded_rows : group_.weight;
}

void OvInstance::run_group(ExecutionTimes& times) noexcept {
  Status status = prepare();
  if (status.ok()) {
    const int64_t start_ns = clock_.now_ns();
    if (times.compute_start_ns == 0) times.compute_start_ns = start_ns;
    status = run_->run();
    times.compute_end_ns = clock_.now_ns();
    if (!status.ok())
      status = make_status(status.code(), "model '", plan_.model_name, "': ", status.message());
  }
  if (status.ok()) {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) deliver(i);
  } else if (group_.indices.size() > 1) {
    groups_.split();
  } else {
    responder_.fail(group_.indices[0], std::move(status));
  }
  if (plan_.has_state) {
    sequences_.end(*group_.members[0], responder_.failed(group_.indices[0]));
    run_ = own_run_.get();
  }
}

/// To the compilation that runs with these shapes are to be made on.
Status OvInstance::go_over() noexcept {
  const bool is_current = run_->compilation()->number == shared_->compiled->compilations();
  if (is_current && !has_new_shapes_) return {};
  std::shared_ptr<const OvCompilation> next = shared_->compiled->note_shapes(hash_of(shapes_));
  if (next == run_->compilation()) return {};
  if (plan_.has_state) return {};  // its sequence ends where it has begun
  auto run = OvRun::make(std::move(next), plan_);
  if (!run.ok()) return std::move(run).status();
  own_run_ = std::move(run).value();
  run_ = own_run_.get();
  return {};
}

/// Finds what the group is run on, and gives it the inputs.
Status OvInstance::prepare() noexcept {
  if (plan_.has_state) {
    auto run = sequences_.begin(*group_.members[0], *shared_->compiled, plan_);
    if (!run.ok()) return std::move(run).status();
    run_ = *run;
  }
  return give_inputs();
}

Status OvInstance::give_inputs() noexcept {
  if (group_.weight > rows())
    return internal_error("found a batch of ", group_.weight, ", expected ", rows(), " at most");
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    const InputTensor& first = *group_.members[0]->find_input(plan_.inputs[i].name);
    shape_.assign(first.shape.begin(), first.shape.end());
    if (plan_.inputs[i].scalar) shape_.clear();
    if (plan_.batches && !shape_.empty()) shape_[0] = rows();
    if (shape_ == shapes_[i]) continue;
    shapes_[i] = shape_;
    has_new_shapes_ = true;
  }
  if (plan_.is_variable) ATOLL_RETURN_IF_ERROR(go_over());
  has_new_shapes_ = false;
  for (size_t i = 0; i < plan_.inputs.size(); ++i) ATOLL_RETURN_IF_ERROR(give_input(i));
  return {};
}

Status OvInstance::give_input(size_t i) noexcept {
  const OvInputPlan& plan = plan_.inputs[i];
  const std::vector<int64_t>& shape = shapes_[i];
  const auto count = element_count(shape);
  uint64_t size_bytes = 0;
  if (!count ||
      __builtin_mul_overflow(static_cast<uint64_t>(*count), data_type_size_bytes(plan.datatype), &size_bytes))
    return invalid_argument("input '", plan.name, "': found more than 2^63 - 1 bytes in the batch");
  const InputTensor& first = *group_.members[0]->find_input(plan.name);
  const bool in_place = size_bytes >= kInPlaceBytes && group_.members.size() == 1 &&
                        first.buffers.size() == 1 && first.buffers[0].size_bytes == size_bytes;
  if (in_place) return run_->use_input(i, shape, first.buffers[0].data);
  auto to = run_->shape_input(i, shape);
  if (!to.ok()) return std::move(to).status();
  if (*count == 0) return {};
  return plan.datatype == DataType::kBytes
             ? copy_texts(plan, static_cast<std::string*>(*to), static_cast<size_t>(*count))
             : copy_input(plan, static_cast<std::byte*>(*to), size_bytes);
}

Status OvInstance::copy_input(const OvInputPlan& plan, std::byte* to, uint64_t size_bytes) noexcept {
  uint64_t filled = 0;
  for (const Request* member : group_.members) {
    const InputTensor& input = *member->find_input(plan.name);
    auto written = backends::gather(input.buffers, Buffer{to + filled, size_bytes - filled}, input.name);
    if (!written.ok()) return std::move(written).status();
    filled += *written;
  }
  // Padded with the last row again: what the model can do with that is known, of zeros it is not.
  const uint64_t row_bytes = plan_.batches ? size_bytes / rows() : 0;
  for (; filled < size_bytes && row_bytes != 0; filled += row_bytes)
    std::memcpy(to + filled, to + filled - row_bytes, row_bytes);
  return {};
}

Status OvInstance::copy_texts(const OvInputPlan& plan, std::string* to, size_t count) noexcept try {
  size_t filled = 0;
  for (const Request* member : group_.members) {
    const InputTensor& input = *member->find_input(plan.name);
    const auto elements = static_cast<size_t>(*element_count(input.shape));
    ATOLL_RETURN_IF_ERROR(
        backends::read_elements(input, elements, [&](size_t index, uint32_t size) -> Result<char*> {
          to[filled + index].resize(size);
          return to[filled + index].data();
        }));
    filled += elements;
  }
  const size_t row = plan_.batches ? count / rows() : 0;
  for (; filled < count && row != 0; ++filled) to[filled] = to[filled - row];
  return {};
} catch (const std::exception&) {
  return make_status(Code::kResourceExhausted, "input '", plan.name, "': no memory for its elements");
}

void OvInstance::deliver(size_t i) noexcept {
  const OvOutputPlan& plan = plan_.outputs[i];
  if (std::ranges::none_of(group_.members, [&](const Request* request) { return is_wanted(plan, *request); }))
    return;
  auto view = run_->output(i);
  Status status = view.ok() ? deliver_rows(plan, **view) : std::move(view).status();
  if (status.ok()) return;
  for (const uint32_t k : group_.indices)
    responder_.fail(k, make_status(status.code(), "output '", plan.name, "': ", status.message()));
}

/// Cuts an output by the requests' batch sizes and copies the parts.
Status OvInstance::deliver_rows(const OvOutputPlan& plan, const OvView& view) noexcept {
  shape_.assign(view.shape.begin(), view.shape.end());
  if (plan_.batches && (shape_.empty() || shape_[0] != rows())) {
    return internal_error("found shape ", shape_text(shape_), " from the model, expected the batch size ",
                          rows(), " as first dimension");
  }
  const auto elements = static_cast<uint64_t>(element_count(shape_).value_or(0));
  if (shape_.empty() && plan.scalar) shape_.push_back(1);
  uint64_t from = 0;
  for (const uint32_t k : group_.indices) {
    const uint32_t weight = responder_.request(k).batch_weight();
    uint64_t part = elements;
    if (plan_.batches) {
      shape_[0] = weight;
      part = elements / rows() * weight;
    }
    Status status = deliver_part(plan, k, view, from, part);
    if (!status.ok()) responder_.fail(k, std::move(status));
    from += part;
  }
  return {};
}

/// Gives request i its `count` elements from `from` on, of shape_, if it wants them.
Status OvInstance::deliver_part(const OvOutputPlan& plan, uint32_t i, const OvView& view, uint64_t from,
                                uint64_t count) noexcept {
  Request& request = responder_.request(i);
  const bool is_text = plan.datatype == DataType::kBytes;
  const uint64_t element_bytes = data_type_size_bytes(plan.datatype);
  const uint64_t bytes =
      is_text ? backends::encoded_size_bytes(texts_of(view, from, count)) : count * element_bytes;
  const auto write = [&](const Buffer& to) -> Status {
    if (count == 0) return {};
    if (is_text) return backends::encode_texts(texts_of(view, from, count), to);
    std::memcpy(to.data, static_cast<const std::byte*>(view.data) + from * element_bytes, bytes);
    return {};
  };
  const RequestedOutput* wanted = request.find_output(plan.name);
  if (wanted != nullptr && !responder_.failed(i)) {
    const OutputTensor* output = responder_.add_output(i, *wanted, plan.datatype, shape_, bytes);
    if (output == nullptr) return {};  // failed with the reason
    if (count != 0 && !backends::is_host_memory(output->buffer.kind))
      return invalid_argument("output '", plan.name, "': found a buffer in GPU memory, expected CPU memory");
    ATOLL_RETURN_IF_ERROR(write(output->buffer));
  }
  if (!plan.state || request.state == nullptr || responder_.failed(i)) return {};
  Buffer buffer;
  ATOLL_RETURN_IF_ERROR(
      request.state->output(plan.name, plan.datatype, shape_, bytes, MemoryKind::kCpu, 0, &buffer));
  ATOLL_RETURN_IF_ERROR(write(buffer));
  return request.state->commit(plan.name);
}

}  // namespace atl::openvino
