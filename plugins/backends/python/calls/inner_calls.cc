#include "backends/python/calls/inner_calls.h"

#include <cstring>
#include <utility>

#include "atoll/request/trace.h"
#include "backends/python/calls/batch_writer.h"

namespace atl::python {
namespace {

/// Of an output's block, in OutputTensor::sink_data: the worker has it.
constexpr uint64_t kSent = 1;

/// Nothing is not handed over.
bool is_shared(const OutputTensor& output) { return output.sink_data != 0 && output.buffer.size_bytes != 0; }

Status refused(std::string_view model, std::string_view reason) {
  return internal_error("Model ", model, " - Error when running inference: ", reason);
}

constexpr std::string_view kIsDecoupled =
    " is using the decoupled. The current BLS request call doesn't support models using the decoupled transaction policy. Please use "
    "'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled models.'";

}  // namespace

/// One request. Its inputs stay in the worker's memory, and outputs are made there.
class InnerCall final : public InnerRequest {
 public:
  InnerCall(std::shared_ptr<InnerCalls> calls, const RingMessage& message)
      : calls_(std::move(calls)), message_(message) {}
  virtual ~InnerCall() = default;

  /// Errors: the worker does not keep to the protocol.
  Status read(const PayloadView& payload) {
    if (!payload.read(0, header_) || !payload.read(header_.model, model_))
      return invalid_argument("found a call outside of its memory");
    const RequestRecord& record = header_.request;
    Arena& arena = request.arena();
    std::string text;
    const auto add_text = [&](TextRef ref, std::string_view& to) {
      if (!payload.read(ref, text)) return false;
      if (!text.empty()) to = arena.copy_text(text);
      return true;
    };
    if (!add_text(record.id, request.id) || !add_text(record.correlation_text, request.sequence.text) ||
        !payload.read(record.parameters, text)) {
      return invalid_argument("found a call's texts outside of its memory");
    }
    if (!text.empty() && !read_parameters(text, arena, request.parameters)) {
      return invalid_argument("found parameters of a call that are no JSON object");
    }
    if (request.sequence.text.empty()) request.sequence.number = record.correlation_id;
    request.sequence_flags = record.sequence_flags & (kSequenceStart | kSequenceEnd);
    request.timeout_us = record.timeout_us;
    ATOLL_RETURN_IF_ERROR(read_inputs(payload));
    return read_outputs(payload);
  }
  /// Whether nobody waits for its caller any more. A call that was given a request's trace is made for that one.
  bool is_for(uint64_t batch, uint64_t handle, bool is_whole) const noexcept {
    const uint64_t caller = header_.request.handle;
    return caller != 0 ? caller == handle : is_whole && message_.value == batch;
  }
  void take_parent(const CallParent& parent) {
    request.call_flags |=
        kIsStep | (parent.call_flags != 0 ? static_cast<uint32_t>(kCallerHoldsResources) : 0u);
    if (parent.is_known) request.call_flags |= kCallerIsKnown;
    request.tenant = request.arena().copy_text(parent.tenant);
    request.caller = request.arena().copy_text(parent.caller);
  }
  /// May be over, and this gone from its calls, when it returns.
  void start(ServerLink& server, const Executions& executions) {
    Result<HeldModel> held = server.acquire(model_, header_.model_version);
    if (!held.ok()) {
      return refuse(refused(
          model_, cat("Failed for execute the inference request. Model '", model_, "' is not ready.")));
    }
    held_ = std::move(held).value();
    if (held_.model->info().decoupled && (header_.flags & InferHeader::kDecoupled) == 0) {
      return refuse(refused(model_, cat("Model ", model_, kIsDecoupled)));
    }
    if (!calls_->graph_.begin_call(*calls_->node_, model_)) {
      return refuse(unavailable("Model ", model_, " - Error when running inference: model '",
                                calls_->node_->model(), "' waits for model '", model_,
                                "', every instance of which waits for others, in the end for this one"));
    }
    is_asked_ = true;
    Model& target = *held_.model.get();
    if (Trace* parent = executions.trace_of(header_.request.handle); parent != nullptr) {
      request.trace = parent->spawn_child(target.info().name, target.info().version, request.id);
    }
    if (submit(target)) on_end();
  }

 private:
  Status read_inputs(const PayloadView& payload) {
    const RequestRecord& record = header_.request;
    if (record.input_count > kRecordsMax)
      return invalid_argument("found ", record.input_count, " inputs of a call");
    ReceivedTensor tensor;
    for (uint32_t i = 0; i < record.input_count; ++i) {
      ATOLL_RETURN_IF_ERROR(read_tensor(payload, calls_->memory_->slabs,
                                        record.inputs + uint64_t{i} * sizeof(TensorRecord), tensor));
      Arena& arena = request.arena();
      InputTensor& input = request.add_input();
      input.name = arena.copy_text(tensor.name);
      input.datatype = tensor.datatype;
      input.flags = InputTensor::kShared;
      input.shape = arena.copy(tensor.dims());
      auto* buffer = arena.make<Buffer>();
      buffer->data = const_cast<std::byte*>(tensor.data);
      buffer->size_bytes = tensor.size_bytes;
      input.buffers = {buffer, 1};
      input.size_bytes = tensor.size_bytes;
    }
    return {};
  }
  Status read_outputs(const PayloadView& payload) {
    const RequestRecord& record = header_.request;
    if (record.output_count > kRecordsMax)
      return invalid_argument("found ", record.output_count, " outputs of a call");
    std::string name;
    for (uint32_t i = 0; i < record.output_count; ++i) {
      TextRef ref;
      if (!payload.read(record.outputs + uint64_t{i} * sizeof ref, ref) || !payload.read(ref, name)) {
        return invalid_argument("found a call's outputs outside of its memory");
      }
      request.add_output().name = request.arena().copy_text(name);
    }
    return {};
  }

  Status allocate_output(Response&, OutputTensor& output, uint64_t size_bytes, MemoryKind,
                         int64_t) noexcept override {
    Result<const python::Block*> block = calls_->memory_->blocks.allocate(size_bytes);
    if (!block.ok()) return std::move(block).status();
    output.buffer = {};
    output.buffer.data = (*block)->payload;
    output.buffer.size_bytes = size_bytes;
    output.sink_data = reinterpret_cast<uint64_t>(*block);
    return {};
  }
  void free_output(OutputTensor& output) noexcept override {
    const uint64_t data = std::exchange(output.sink_data, 0);
    if (data == 0) return;
    calls_->memory_->blocks.give_back(reinterpret_cast<const python::Block*>(data & ~kSent),
                                      (data & kSent) != 0);
  }
  void on_response(Response* response, uint32_t flags) noexcept override {
    Status failure;
    if (response != nullptr && !response->error.ok()) {
      // What the target's queue has never seen was refused, which has a text of its own.
      const bool was_seen = !is_asked_ || request.times.queue_start_ns != 0;
      failure = was_seen ? std::move(response->error) : refused(model_, response->error.message());
    }
    calls_->send(message_.id, response, flags, failure);
  }
  void on_end() noexcept override {
    const std::shared_ptr<InnerCalls> calls = calls_;
    if (is_asked_) calls->graph_.end_call(*calls->node_, model_);
    release_payload(*calls->memory_, message_);
    held_ = {};
    calls->remove(message_.id);  // which may be the last reference to this
  }

  const std::shared_ptr<InnerCalls> calls_;
  const RingMessage message_;
  InferHeader header_;
  std::string model_;
  HeldModel held_;
  bool is_asked_ = false;
};

void InnerCalls::set_parent(const Request& first) {
  const uint32_t flags = first.call_flags & (kHoldsResources | kCallerHoldsResources);
  std::lock_guard lock(mutex_);
  parent_.call_flags = flags;
  parent_.is_known = (first.call_flags & kCallerIsKnown) != 0;
  parent_.tenant.assign(first.tenant);
  parent_.caller.assign(first.caller);
}

Status InnerCalls::infer(const RingMessage& message, const Executions& executions) {
  PayloadView payload;
  if (message.id == 0 || !payload_of(*memory_, message, payload))
    return invalid_argument("found a call without a request");
  auto call = std::make_shared<InnerCall>(shared_from_this(), message);
  ATOLL_RETURN_IF_ERROR(call->read(payload));
  {
    std::lock_guard lock(mutex_);
    if (open_.size() >= kOpenMax) return invalid_argument("found ", kOpenMax, " open calls, and one more");
    if (!open_.emplace(message.id, call).second) return invalid_argument("found call ", message.id, " twice");
    call->take_parent(parent_);
  }
  call->start(server_, executions);
  return {};
}

void InnerCalls::cancel(uint64_t id) {
  std::shared_ptr<InnerCall> call;
  {
    std::lock_guard lock(mutex_);
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    call = found->second;
  }
  call->request.cancellation.cancel();
}

void InnerCalls::on_cancelled(uint64_t batch, uint64_t handle, bool is_whole) noexcept {
  uint64_t last = 0;
  while (true) {
    std::shared_ptr<InnerCall> call;
    {
      std::lock_guard lock(mutex_);
      auto next = open_.upper_bound(last);
      while (next != open_.end() && !next->second->is_for(batch, handle, is_whole)) ++next;
      if (next == open_.end()) return;
      last = next->first;
      call = next->second;
    }
    call->request.cancellation.cancel();  // which may end it
  }
}

void InnerCalls::close() {
  std::vector<std::shared_ptr<InnerCall>> open;
  {
    std::lock_guard lock(mutex_);
    worker_ = nullptr;
    for (const auto& [id, call] : open_) open.push_back(call);
  }
  for (const auto& call : open) call->request.cancellation.cancel();
}

void InnerCalls::remove(uint64_t id) {
  std::shared_ptr<InnerCall> last;
  std::lock_guard lock(mutex_);
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  last = std::move(found->second);
  open_.erase(found);
}

void InnerCalls::send(uint64_t id, Response* response, uint32_t flags, const Status& failure) {
  RingMessage message;
  message.type = MessageType::kInferResponse;
  message.id = id;
  message.flags = flags & atl::kFinal;
  const Block* block = nullptr;
  if (response != nullptr) {
    Status written = write(response, failure, message, &block);
    if (!written.ok()) {
      std::lock_guard lock(mutex_);
      if (worker_ != nullptr)
        worker_->kill(cat("is killed because a response cannot be handed to it: ", written.message()));
      return;
    }
  }
  std::lock_guard lock(mutex_);
  if (worker_ == nullptr) {
    if (block != nullptr) memory_->blocks.give_back(block, false);
    return;
  }
  if (response != nullptr && failure.ok()) {
    for (OutputTensor& output : response->outputs) output.sink_data |= is_shared(output) ? kSent : 0;
  }
  worker_->send_side(message, block);
}

namespace {

uint64_t write_response(PayloadWriter writer, const Response& response, const Status& failure,
                        const std::string& parameters) {
  ResponsesHeader header;
  const uint32_t at = writer.reserve<ResponsesHeader>();
  header.response_count = 1;
  header.responses = writer.reserve<ResponseRecord>();
  writer.put(at, header);
  ResponseRecord record;
  record.flags =
      ResponseRecord::kResponse | (failure.ok() ? 0u : static_cast<uint32_t>(ResponseRecord::kError));
  record.error_code = failure.ok() ? 0 : triton_code_of(failure.code());
  record.error = writer.add_text(failure.message());
  record.parameters = writer.add_text(parameters);
  if (failure.ok()) {
    record.tensor_count = response.outputs.size();
    record.tensors = writer.reserve<TensorRecord>(response.outputs.size());
    for (uint32_t i = 0; i < response.outputs.size(); ++i) {
      const OutputTensor& output = response.outputs[i];
      TensorRecord tensor;
      tensor.name = writer.add_text(output.name);
      tensor.datatype = static_cast<uint32_t>(output.datatype);
      tensor.rank = static_cast<uint32_t>(output.shape.size());
      tensor.shape = writer.add_array(output.shape);
      if (is_shared(output)) {
        const auto& block = *reinterpret_cast<const Block*>(output.sink_data);
        tensor.data = {block.slab, DataRef::kOwnBlock, block.offset, output.buffer.size_bytes};
      }
      writer.put(record.tensors + i * sizeof(TensorRecord), tensor);
    }
  }
  writer.put(header.responses, record);
  return writer.size_bytes();
}

}  // namespace

Status InnerCalls::write(const Response* response, const Status& failure, RingMessage& message,
                         const Block** block) {
  const std::string parameters = parameters_json(response->parameters.span());
  const uint64_t size = write_response(PayloadWriter(), *response, failure, parameters);
  Result<const Block*> made = memory_->blocks.allocate(size);
  if (!made.ok()) return std::move(made).status();
  write_response(PayloadWriter((*made)->payload), *response, failure, parameters);
  message.slab = (*made)->slab;
  message.offset = (*made)->offset;
  message.size_bytes = size;
  *block = *made;
  return {};
}

}  // namespace atl::python
