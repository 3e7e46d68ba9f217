#include "schedulers/ensemble/ensemble_answer.h"

#include <utility>

#include "atoll/memory/memory.h"
#include "schedulers/ensemble/ensemble_scheduler.h"
#include "schedulers/ensemble/sequence_parameters.h"
#include "schedulers/ensemble/shapes.h"

namespace atl::ensemble {
namespace {

/// Buffers one after the other to one.
Status gather(const Buffer& to, std::span<const Buffer> from) {
  Buffer rest = to;
  for (const Buffer& part : from) {
    ATOLL_RETURN_IF_ERROR(copy_on_host(rest, part));
    rest.data = static_cast<char*>(rest.data) + part.size_bytes;
    rest.size_bytes -= part.size_bytes;
  }
  return {};
}

}  // namespace

/// In the arena of the member's response.
struct EnsembleAnswer::DirectOutput {
  Response* client = nullptr;
  uint32_t index = 0;  ///< of the output in it
};

EnsembleAnswer::DirectOutput& EnsembleAnswer::direct_of(const OutputTensor& output) noexcept {
  return *reinterpret_cast<DirectOutput*>(output.sink_data & ~kDirectBit);
}

void EnsembleAnswer::begin(Request& request, const Plan& plan) noexcept {
  request_ = &request;
  plan_ = &plan;
  responses_ = 0;
  sequence_ = {request.sequence, request.sequence_flags, false};
  client_ = discarded_ = nullptr;
  client_broken_ = false;
}

// --- outputs that members write into it ---

Status EnsembleAnswer::allocate(Response& response, OutputTensor& output, uint32_t tensor,
                                uint64_t size_bytes, MemoryKind kind, int64_t device_id) {
  std::scoped_lock lock(client_mutex_);
  Response* client = plan_->mode == ResponseMode::kOnce ? client_ : nullptr;
  for (const OutputTensor& before : response.outputs) {
    if (client == nullptr && has(before)) client = direct_of(before).client;
  }
  if (client == nullptr) client = request_->sink->new_response();
  if (plan_->mode == ResponseMode::kOnce) client_ = client;
  discarded_ = nullptr;

  const StepGraph::Tensor& written = ensemble_.graph().tensors[tensor];
  OutputTensor& made = client->add_output(request_->outputs[plan_->position[tensor]], output.datatype,
                                          shape_for(output.shape, written.batched, ensemble_.batches(),
                                                    ensemble_.output_dims(written.output), client->arena()));
  auto& direct = *response.arena().make<DirectOutput>();
  direct.client = client;
  direct.index = client->outputs.size() - 1;
  if (Status status = client->allocate(made, size_bytes, kind, device_id); !status.ok()) {
    client->outputs.truncate(direct.index);
    return status;
  }
  output.buffer = made.buffer;
  output.sink_data = reinterpret_cast<uint64_t>(&direct) | kDirectBit;
  return {};
}

void EnsembleAnswer::free(OutputTensor& output) noexcept {
  Response* client = direct_of(output).client;
  output.sink_data = 0;
  std::scoped_lock lock(client_mutex_);
  if (plan_->mode == ResponseMode::kOnce) {
    client_broken_ = true;
  } else if (client != discarded_) {
    discarded_ = client;
    request_->sink->discard(client);
  }
}

// --- what has come ---

void EnsembleAnswer::note_sequence(const SequenceFields& fields) {
  sequence_ = fields;
  if (!fields.overridden) return;
  sequence_text_ = fields.id.text;
  sequence_.id.text = sequence_text_;
}

/// What the member made of the output holds for the client's, too. One without memory is as if it were left out.
void EnsembleAnswer::add(uint32_t tensor, uint64_t iteration, OutputTensor* output) {
  Response* written_to = nullptr;
  if (output != nullptr && has(*output)) {
    const DirectOutput& direct = direct_of(*output);
    std::scoped_lock lock(client_mutex_);
    OutputTensor& made = direct.client->outputs[direct.index];
    made.buffer.size_bytes = output->buffer.size_bytes;
    made.buffer.ready_after = output->buffer.ready_after;
    output->sink_data = 0;
    written_to = direct.client;
  }
  if (plan_->mode == ResponseMode::kOnce) {
    values_.add(tensor, iteration);
  } else if (written_to != nullptr) {
    client_ = written_to;
  }
}

/// One that has none of the outputs is a response nevertheless.
void EnsembleAnswer::note_response(uint32_t step) {
  const bool is_answer = plan_->mode == ResponseMode::kDirect && step == plan_->answering_step;
  if (is_answer && client_ == nullptr) client_ = request_->sink->new_response();
}

// --- what is sent ---

bool EnsembleAnswer::is_due(uint64_t iteration) {
  if (plan_->mode != ResponseMode::kCopied || (iteration != 0 && !plan_->iterates)) return false;
  for (uint32_t tensor : plan_->outputs) {
    if (values_.find(tensor, iteration) == nullptr) return false;
  }
  return true;
}

EnsembleAnswer::Due EnsembleAnswer::take_due() {
  Due due;
  due.response = std::exchange(client_, nullptr);
  if (due.response == nullptr) take_values();
  due.sequence = sequence_;
  due.sequence_text = sequence_.id.text;
  return due;
}

void EnsembleAnswer::take_values() {
  taken_.clear();
  for (uint32_t tensor : plan_->outputs) {
    const Value& value = *values_.find(tensor, responses_);
    taken_.push_back(value);
    if (value.kept != nullptr) note_sequence(value.kept->sequence);
  }
}

Status EnsembleAnswer::send(Due& due) {
  if (due.response == nullptr) ATOLL_RETURN_IF_ERROR(copy(&due.response));
  due.sequence.id.text = due.sequence_text;
  add_sequence_parameters(due.sequence, *due.response);
  request_->sink->send(due.response, 0);
  return {};
}

void EnsembleAnswer::end_send() {
  for (uint32_t tensor : plan_->outputs) values_.use(tensor, responses_);
  ++responses_;
}

Status EnsembleAnswer::copy(Response** response) {
  *response = request_->sink->new_response();
  Status status = copy_values(**response);
  if (!status.ok()) request_->sink->discard(std::exchange(*response, nullptr));
  return status;
}

Status EnsembleAnswer::copy_values(Response& response) {
  for (uint32_t i = 0; i < taken_.size(); ++i) {
    const Value& value = taken_[i];
    if (plan_->direct[plan_->outputs[i]] != 0 || value.empty) continue;
    const StepGraph::Tensor& tensor = ensemble_.graph().tensors[plan_->outputs[i]];
    OutputTensor& made =
        response.add_output(request_->outputs[i], value.datatype,
                            shape_for(value.shape, tensor.batched, ensemble_.batches(),
                                      ensemble_.output_dims(tensor.output), response.arena()));
    ATOLL_RETURN_IF_ERROR(response.allocate(made, value.size_bytes));
    ATOLL_RETURN_IF_ERROR(gather(made.buffer, value.buffers));
  }
  return {};
}

Status EnsembleAnswer::finish(Response** response) {
  if (plan_->mode == ResponseMode::kOnce) return finish_once(response);
  if (client_ != nullptr) {
    *response = std::exchange(client_, nullptr);
  } else if (is_due(responses_)) {
    take_values();
    return copy(response);
  }
  return {};
}

Status EnsembleAnswer::finish_once(Response** response) {
  const StepGraph& graph = ensemble_.graph();
  taken_.clear();
  for (uint32_t tensor : plan_->outputs) {
    const Value* value = values_.find(tensor, 0);
    if (value == nullptr) {
      return invalid_argument(graph.failure_prefix(), "[request id: ",
                              request_->id.empty() ? std::string_view("<id_unknown>") : request_->id,
                              "] unexpected deadlock, at least one output is not set while no more ensemble "
                              "steps can be made");
    }
    taken_.push_back(*value);
  }
  if (client_broken_) {
    return internal_error(graph.failure_prefix(),
                          "a member dropped a response after it was given memory for it");
  }
  if (client_ == nullptr) client_ = request_->sink->new_response();
  ATOLL_RETURN_IF_ERROR(copy_values(*client_));
  *response = std::exchange(client_, nullptr);
  return {};
}

void EnsembleAnswer::end() noexcept {
  if (client_ != nullptr) request_->sink->discard(std::exchange(client_, nullptr));
}

}  // namespace atl::ensemble
