// How a run answers: what it sends, when, and where the bytes are.
#include <cstring>
#include <string>
#include <utility>

#include "atoll/memory/memory.h"
#include "schedulers/ensemble/ensemble_run.h"
#include "schedulers/ensemble/ensemble_scheduler.h"
#include "schedulers/ensemble/sequence_parameters.h"
#include "schedulers/ensemble/shapes.h"

namespace atl::ensemble {
namespace {

/// In the sink_data of an output that is written into a response of the request: a pointer to where, and this bit.
constexpr uint64_t kDirectBit = 1;

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
struct EnsembleRun::DirectOutput {
  Response* client = nullptr;
  uint32_t index = 0;  ///< of the output in it
};

// --- memory of the steps' outputs ---

Status EnsembleRun::allocate(StepRun& step, Response& response, OutputTensor& output, uint64_t size_bytes,
                             MemoryKind preferred_kind, int64_t preferred_device_id) noexcept {
  bool ahead = false;
  for (const StepGraph::StepOutput& mapped : graph_.steps[step.step].outputs) {
    if (!is_same_name(mapped.name, output.name)) continue;
    if (plan_->direct[mapped.tensor] != 0) {
      return allocate_direct(response, output, mapped.tensor, size_bytes, preferred_kind,
                             preferred_device_id);
    }
    // A trace that has the tensors would wait for them.
    const Trace* trace = request_->trace;
    ahead = graph_.tensors[mapped.tensor].device_ordered && (trace == nullptr || !trace->wants_tensors());
    // What is copied into a response as well is read by the CPU.
    if (plan_->position[mapped.tensor] != kNone) preferred_kind = MemoryKind::kCpu;
  }
  ATOLL_RETURN_IF_ERROR(
      ensemble_.memory().allocate(output, size_bytes, preferred_kind, preferred_device_id, ahead));
  const uint64_t held = held_bytes_.fetch_add(size_bytes, std::memory_order_relaxed) + size_bytes;
  uint64_t most = most_bytes_.load(std::memory_order_relaxed);
  while (most < held && !most_bytes_.compare_exchange_weak(most, held, std::memory_order_relaxed)) {
  }
  return {};
}

void EnsembleRun::free(OutputTensor& output) noexcept {
  if ((output.sink_data & kDirectBit) != 0) return free_direct(output);
  held_bytes_.fetch_sub(ensemble_.memory().free(output), std::memory_order_relaxed);
}

Status EnsembleRun::allocate_direct(Response& response, OutputTensor& output, uint32_t tensor,
                                    uint64_t size_bytes, MemoryKind kind, int64_t device_id) {
  std::scoped_lock lock(client_mutex_);
  Response* client = plan_->mode == ResponseMode::kOnce ? client_ : nullptr;
  for (const OutputTensor& before : response.outputs) {
    if (client != nullptr || (before.sink_data & kDirectBit) == 0) continue;
    client = reinterpret_cast<DirectOutput*>(before.sink_data & ~kDirectBit)->client;
  }
  if (client == nullptr) client = request_->sink->new_response();
  if (plan_->mode == ResponseMode::kOnce) client_ = client;
  discarded_ = nullptr;

  const RequestedOutput& wanted = request_->outputs[plan_->position[tensor]];
  const std::vector<int64_t>& dims = ensemble_.output_dims(graph_.tensors[tensor].output);
  OutputTensor& made = client->add_output(
      wanted, output.datatype,
      shape_for(output.shape, graph_.tensors[tensor].batched, ensemble_.batches(), dims, client->arena()));
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

/// The member's response is there: what it made of the output holds for the client's, too.
Response* EnsembleRun::take_direct(OutputTensor& output) {
  if ((output.sink_data & kDirectBit) == 0) return nullptr;  // it has no memory: as if it were left out
  const auto& direct = *reinterpret_cast<DirectOutput*>(output.sink_data & ~kDirectBit);
  std::scoped_lock lock(client_mutex_);
  OutputTensor& made = direct.client->outputs[direct.index];
  made.buffer.size_bytes = output.buffer.size_bytes;
  made.buffer.ready_after = output.buffer.ready_after;
  output.sink_data = 0;
  return direct.client;
}

/// The member dropped its response.
void EnsembleRun::free_direct(OutputTensor& output) noexcept {
  const auto& direct = *reinterpret_cast<DirectOutput*>(output.sink_data & ~kDirectBit);
  output.sink_data = 0;
  std::scoped_lock lock(client_mutex_);
  if (plan_->mode == ResponseMode::kOnce) {
    client_broken_ = true;
  } else if (direct.client != discarded_) {
    discarded_ = direct.client;
    request_->sink->discard(direct.client);
  }
}

// --- what is sent ---

bool EnsembleRun::is_due(uint64_t iteration) {
  if (plan_->mode != ResponseMode::kCopied || (iteration != 0 && !plan_->iterates)) return false;
  for (uint32_t tensor : plan_->outputs) {
    if (values_[tensor].find(iteration) == nullptr) return false;
  }
  return true;
}

void EnsembleRun::settle(std::unique_lock<std::mutex>& lock) {
  if (sending_) return;  // that thread looks again
  sending_ = true;
  send_due(lock);
  sending_ = false;
  if (in_flight_ != 0) return;
  is_over_ = true;
  lock.unlock();
  complete();
}

/// All but the last one, which says that it is.
void EnsembleRun::send_due(std::unique_lock<std::mutex>& lock) {
  while (failure_.ok() &&
         (is_due(responses_) || (plan_->mode == ResponseMode::kDirect && client_ != nullptr))) {
    if (in_flight_ == 0 && !is_due(responses_ + 1)) return;
    Response* response = std::exchange(client_, nullptr);
    Status status;
    if (response == nullptr) take_due_values();
    SequenceFields answered = answered_;
    const std::string text(answered.id.text);
    answered.id.text = text;
    lock.unlock();
    if (response == nullptr) status = make_copied(&response);
    if (status.ok()) {
      add_sequence_parameters(answered, *response);
      request_->sink->send(response, 0);
    }
    lock.lock();
    if (!status.ok() && failure_.ok()) failure_ = std::move(status);
    for (uint32_t tensor : plan_->outputs) use(tensor, responses_);
    ++responses_;
  }
}

void EnsembleRun::take_due_values() {
  due_values_.clear();
  for (uint32_t tensor : plan_->outputs) {
    Value* value = values_[tensor].find(responses_);
    due_values_.push_back(*value);
    if (value->kept != nullptr) note_answered(value->kept->sequence);
  }
}

Status EnsembleRun::make_copied(Response** response) {
  *response = request_->sink->new_response();
  Status status = copy_outputs(**response);
  if (!status.ok()) request_->sink->discard(std::exchange(*response, nullptr));
  return status;
}

Status EnsembleRun::copy_outputs(Response& response) {
  for (uint32_t i = 0; i < due_values_.size(); ++i) {
    if (plan_->direct[plan_->outputs[i]] != 0 || due_values_[i].empty) continue;
    ATOLL_RETURN_IF_ERROR(copy_output(response, i, due_values_[i]));
  }
  return {};
}

Status EnsembleRun::copy_output(Response& response, uint32_t position, const Value& value) {
  const StepGraph::Tensor& tensor = graph_.tensors[plan_->outputs[position]];
  OutputTensor& made = response.add_output(request_->outputs[position], value.datatype,
                                           shape_for(value.shape, tensor.batched, ensemble_.batches(),
                                                     ensemble_.output_dims(tensor.output), response.arena()));
  ATOLL_RETURN_IF_ERROR(response.allocate(made, value.size_bytes));
  return gather(made.buffer, value.buffers);
}

// --- the end ---

Status EnsembleRun::finish(Response** response) {
  if (plan_->mode == ResponseMode::kOnce) return finish_once(response);
  if (client_ != nullptr) {
    *response = std::exchange(client_, nullptr);
  } else if (is_due(responses_)) {
    take_due_values();
    ATOLL_RETURN_IF_ERROR(make_copied(response));
  }
  return {};
}

Status EnsembleRun::finish_once(Response** response) {
  due_values_.clear();
  for (uint32_t tensor : plan_->outputs) {
    Value* value = values_[tensor].find(0);
    if (value == nullptr) {
      return invalid_argument(graph_.failure_prefix(), "[request id: ",
                              request_->id.empty() ? std::string_view("<id_unknown>") : request_->id,
                              "] unexpected deadlock, at least one output is not set while no more ensemble "
                              "steps can be made");
    }
    due_values_.push_back(*value);
  }
  if (client_broken_) {
    return internal_error(graph_.failure_prefix(),
                          "a member dropped a response after it was given memory for it");
  }
  if (client_ == nullptr) client_ = request_->sink->new_response();
  ATOLL_RETURN_IF_ERROR(copy_outputs(*client_));
  *response = std::exchange(client_, nullptr);
  return {};
}

void EnsembleRun::drop_all() {
  for (TensorValues& values : values_) {
    values.for_each([this](Value& value) { let_go(value.kept); });
    values.clear();
  }
}

/// Nobody else uses the run any more.
void EnsembleRun::complete() noexcept {
  if (listening_) request_->cancellation.stop_listening();
  if (std::exchange(is_linked_, false)) request_->cancellation.unlink(link_);
  Request& request = *request_;
  ResponseSink& sink = *request.sink;
  Response* response = nullptr;
  Status failure = std::move(failure_);
  if (failure.ok()) failure = finish(&response);
  drop_all();
  if (client_ != nullptr) sink.discard(std::exchange(client_, nullptr));
  report(failure);
  if (!failure.ok()) {
    request.retry_after_ms = retry_after_ms_;
    response = sink.new_response();
    response->error = std::move(failure);
  } else if (response != nullptr) {
    add_sequence_parameters(answered_, *response);
  }
  const uint64_t most_bytes = most_bytes_.load(std::memory_order_relaxed);
  EnsembleScheduler& ensemble = ensemble_;
  sink.send(response, kFinal);
  (void)request.release().ok();
  ensemble.run_ended(*this, most_bytes);
}

/// The steps' times, as if they had followed each other from the start on.
void EnsembleRun::report(const Status& failure) noexcept {
  InferenceReporter& reporter = ensemble_.reporter();
  if (!failure.ok()) {
    const bool is_cancelled = failure.code() == Code::kCancelled;
    return reporter.report_failure(*request_,
                                   is_cancelled ? FailureReason::kCanceled : FailureReason::kOther);
  }
  ExecutionTimes times;
  times.execute_start_ns = start_ns_;
  times.compute_start_ns = start_ns_ + static_cast<int64_t>(input_ns_);
  times.compute_end_ns = times.compute_start_ns + static_cast<int64_t>(infer_ns_);
  times.execute_end_ns = times.compute_end_ns + static_cast<int64_t>(output_ns_);
  times.request_end_ns = ensemble_.clock().now_ns();
  reporter.report_request(*request_, true, times);
  reporter.report_batch(request_->batch_weight(), times);
}

}  // namespace atl::ensemble
