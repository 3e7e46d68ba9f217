#include "schedulers/ensemble/ensemble_run.h"

#include <algorithm>
#include <utility>

#include "schedulers/ensemble/ensemble_scheduler.h"
#include "schedulers/ensemble/sequence_parameters.h"
#include "schedulers/ensemble/shapes.h"

namespace atl::ensemble {
namespace {

uint64_t elapsed_ns(int64_t from_ns, int64_t to_ns) noexcept {
  return to_ns > from_ns ? static_cast<uint64_t>(to_ns - from_ns) : 0;
}

Status cancelled() { return Status(Code::kCancelled, {}); }

/// Null: there is none. \param guess  position that is looked at first
OutputTensor* find_output(Response& response, std::string_view name, size_t guess) noexcept {
  if (guess < response.outputs.size() && is_same_name(response.outputs[guess].name, name))
    return &response.outputs[guess];
  for (OutputTensor& output : response.outputs) {
    if (is_same_name(output.name, name)) return &output;
  }
  return nullptr;
}

}  // namespace

EnsembleRun::EnsembleRun(EnsembleScheduler& ensemble)
    : ensemble_(ensemble),
      graph_(ensemble.graph()),
      values_(graph_.tensors.size()),
      missing_(graph_.steps.size()),
      iterations_(graph_.steps.size()) {}

EnsembleRun::~EnsembleRun() = default;

void EnsembleRun::take(Request& request) noexcept {
  request_ = &request;
  in_flight_ = 1;  // until it has started
  start_ns_ = request.times.queue_start_ns;
  sending_ = listening_ = client_broken_ = cancels_ = is_over_ = is_posted_ = false;
  responses_ = 0;
  retry_after_ms_ = 0;
  input_ns_ = infer_ns_ = output_ns_ = 0;
  answered_ = {request.sequence, request.sequence_flags, false};
  client_ = discarded_ = nullptr;
  held_bytes_.store(0, std::memory_order_relaxed);
  most_bytes_.store(0, std::memory_order_relaxed);
}

bool EnsembleRun::listen() noexcept {
  if (!listening_) listening_ = request_->cancellation.listen(this, nullptr);
  return listening_;
}

void EnsembleRun::start(bool waited, StepList& due) noexcept {
  if (ensemble_.gates().are_limited()) (void)listen();
  cancellation_.reset();
  link_.child = &cancellation_;
  request_->cancellation.link(link_);
  std::unique_lock lock(mutex_);
  is_linked_ = true;
  choose_plan();
  take_inputs();
  if (waited) start_ns_ = ensemble_.clock().now_ns();
  const int64_t deadline_ns = request_->times.deadline_ns;
  if (deadline_ns != 0 && start_ns_ > deadline_ns && failure_.ok()) failure_ = cancelled();
  for (uint32_t step = 0; step < graph_.steps.size(); ++step) {
    if (plan_->step_needed[step] != 0 && missing_[step] == 0) make_step(step, 0, due);
  }
  --in_flight_;
  settle(lock);
}

/// Most requests ask for all outputs, or none, which is all.
void EnsembleRun::choose_plan() {
  requested_.clear();
  bool all = request_->outputs.size() == graph_.outputs.size();
  for (size_t i = 0; i < request_->outputs.size(); ++i) {
    const RequestedOutput& output = request_->outputs[i];
    requested_.push_back(static_cast<uint32_t>(output.spec_index));
    all &= output.spec_index == static_cast<int32_t>(i);
  }
  plan_ = &ensemble_.full_plan();
  if (!all) {
    own_plan_.make(graph_, requested_);
    plan_ = &own_plan_;
  }
  std::copy(plan_->step_waits.begin(), plan_->step_waits.end(), missing_.begin());
  std::fill(iterations_.begin(), iterations_.end(), 0);
}

void EnsembleRun::take_inputs() {
  for (uint32_t tensor : graph_.inputs) {
    if (plan_->uses[tensor] == 0) continue;
    Value& value = values_[tensor].add(0);
    value.uses = plan_->uses[tensor];
    value.empty = true;
  }
  for (const InputTensor& input : request_->inputs) {
    Value* value = values_[graph_.inputs[static_cast<size_t>(input.spec_index)]].find(0);
    if (value == nullptr) continue;
    value->empty = false;
    value->datatype = input.datatype;
    value->flags = input.flags & InputTensor::kShared;
    value->shape = input.shape;
    value->buffers = input.buffers;
    value->size_bytes = input.size_bytes;
  }
}

StepRun& EnsembleRun::free_step() {
  if (StepRun* step = free_steps_.pop_front()) return *step;
  return *steps_.emplace_back(std::make_unique<StepRun>(*this));
}

void EnsembleRun::make_step(uint32_t step, uint64_t iteration, StepList& due) {
  if (failure_.ok() && request_->cancelled()) failure_ = cancelled();
  if (!failure_.ok()) return;
  StepRun& run = free_step();
  run.step = step;
  run.iteration = iteration;
  fill(run);
  ++in_flight_;
  if (ensemble_.gates().enter(run)) due.push_back(run);
}

void EnsembleRun::fill(StepRun& run) {
  const StepGraph::Step& step = graph_.steps[run.step];
  Request& request = run.request;
  run.of(*request_, cancellation_);
  run.times = {};
  run.last_response = nullptr;
  run.ahead = nullptr;
  run.retry_after_ms = 0;
  run.sequence = {request_->sequence, request_->sequence_flags, false};
  request.id = request_->id;
  request.timeout_us = request_->timeout_us;
  request.parameters = request_->parameters;
  request.execution_times = &run.times;
  for (const StepGraph::StepInput& input : step.inputs) {
    const Value& value = *values_[input.tensor].find(run.iteration);
    if (value.empty) continue;
    InputTensor& made = request.add_input();
    made.name = input.name;
    made.datatype = value.datatype;
    made.flags = value.flags;
    made.shape = shape_for(value.shape, graph_.tensors[input.tensor].batched, step.batches, input.spec->dims,
                           request.arena());
    made.buffers = value.buffers;
    made.size_bytes = value.size_bytes;
    if (value.kept != nullptr && value.kept->sequence.overridden) run.sequence = value.kept->sequence;
  }
  for (const StepGraph::StepOutput& output : step.outputs) {
    if (plan_->uses[output.tensor] == 0 && plan_->direct[output.tensor] == 0) continue;
    request.add_output().name = output.name;
  }
  request.sequence = run.sequence.id;
  request.sequence_flags = run.sequence.flags;
}

// --- answers of steps ---

void EnsembleRun::step_answered(StepRun& step, Response& response) noexcept {
  const schedulers::Inside inside = ensemble_.stay();
  StepList due;
  {
    std::unique_lock lock(mutex_);
    note_response(step, response, due);
    cancel_steps(lock);
    settle(lock);
  }
  ensemble_.drive(due);
}

/// Nothing is run here, where the member may hold its instance. On a thread that is running steps below that, they
/// follow when the member's call returns, else on one that is idle.
void EnsembleRun::step_answered_ahead(StepRun& step, Response& response) noexcept {
  const schedulers::Inside inside = ensemble_.stay();
  StepList* const running = ensemble_.running_here();
  std::unique_lock lock(mutex_);
  note_response(step, response, running != nullptr ? *running : posted_, true);
  const bool posts = !posted_.empty() && !std::exchange(is_posted_, true);
  if (posts) ++in_flight_;
  settle(lock);
  lock.unlock();
  if (!posts) return;
  ensemble_.answer_thread().post(Task{[](void* run) { static_cast<EnsembleRun*>(run)->run_posted(); }, this});
}

void EnsembleRun::run_posted() noexcept {
  EnsembleScheduler& ensemble = ensemble_;
  const schedulers::Inside inside = ensemble.stay();
  StepList due;
  {
    std::unique_lock lock(mutex_);
    while (StepRun* step = posted_.pop_front()) due.push_back(*step);
    is_posted_ = false;
    --in_flight_;
    settle(lock);
  }
  ensemble.drive(due);
}

void EnsembleRun::step_ended_elsewhere(StepRun& step) noexcept {
  EnsembleScheduler& ensemble = ensemble_;
  const schedulers::Inside inside = ensemble.stay();
  StepList due;
  step_ended(step, due);
  ensemble.drive(due);
}

void EnsembleRun::step_ended(StepRun& step, StepList& due) noexcept {
  if (StepRun* turn = ensemble_.gates().leave(step.step)) due.push_back(*turn);
  std::unique_lock lock(mutex_);
  end_step(step, due);
  cancel_steps(lock);
  settle(lock);
}

void EnsembleRun::end_step(StepRun& step, StepList& due) {
  const ExecutionTimes& times = step.times;
  input_ns_ += elapsed_ns(times.execute_start_ns, times.compute_start_ns);
  infer_ns_ += elapsed_ns(times.compute_start_ns, times.compute_end_ns);
  output_ns_ += elapsed_ns(times.compute_end_ns, times.execute_end_ns);
  if (Response* last = std::exchange(step.last_response, nullptr)) note_response(step, *last, due);
  let_go(std::exchange(step.ahead, nullptr));
  for (const StepGraph::StepInput& input : graph_.steps[step.step].inputs) use(input.tensor, step.iteration);
  free_steps_.push_back(step);
  --in_flight_;
}

/// \param ahead  the member still writes to it, so it is kept until the step has ended
void EnsembleRun::note_response(StepRun& step, Response& response, StepList& due, bool ahead) {
  if (!response.error.ok()) note_failure(step, response.error);
  if (!failure_.ok()) {
    if (ahead) {
      step.last_response = &response;
    } else {
      response.sink->discard(&response);
    }
    return;
  }
  const StepGraph::Step& made_by = graph_.steps[step.step];
  const uint64_t iteration = made_by.decoupled ? iterations_[step.step]++ : step.iteration;
  auto& kept = *response.arena().make<KeptResponse>();
  kept.response = &response;
  kept.sequence = step.sequence;
  if (!response.parameters.empty()) override_sequence(response, &kept.sequence);
  ++kept.values;  // until all of them are there
  for (size_t i = 0; i < made_by.outputs.size(); ++i) {
    add_output(iteration, made_by.outputs[i], kept, find_output(response, made_by.outputs[i].name, i), due);
  }
  // A response that has none of the outputs is one nevertheless.
  const bool is_answer = plan_->mode == ResponseMode::kDirect && step.step == plan_->answering_step;
  if (is_answer && client_ == nullptr) client_ = request_->sink->new_response();
  if (ahead) {
    step.ahead = &kept;
  } else {
    let_go(&kept);
  }
}

/// \param kept  null: nothing
void EnsembleRun::let_go(KeptResponse* kept) noexcept {
  if (kept != nullptr && --kept->values == 0) kept->response->sink->discard(kept->response);
}

/// \param output  null: the member left it out
void EnsembleRun::add_output(uint64_t iteration, const StepGraph::StepOutput& mapped, KeptResponse& kept,
                             OutputTensor* output, StepList& due) {
  const uint32_t tensor = mapped.tensor;
  if (plan_->position[tensor] != kNone) note_answered(kept.sequence);
  if (plan_->direct[tensor] != 0) {
    Response* written_to = output == nullptr ? nullptr : take_direct(*output);
    if (plan_->mode == ResponseMode::kOnce) {
      values_[tensor].add(iteration);
    } else if (written_to != nullptr) {
      client_ = written_to;
    }
    return;
  }
  const uint32_t uses = iteration == 0 ? plan_->uses[tensor] : plan_->later_uses[tensor];
  if (uses == 0) return;
  Value& value = values_[tensor].add(iteration);
  value.uses = uses;
  value.empty = output == nullptr;
  if (output != nullptr) {
    value.datatype = output->datatype;
    value.shape = output->shape;
    value.buffers = {&output->buffer, 1};
    value.size_bytes = output->buffer.size_bytes;
    value.kept = &kept;
    ++kept.values;
  }
  make_ready(tensor, iteration, due);
}

void EnsembleRun::note_answered(const SequenceFields& fields) {
  answered_ = fields;
  if (!fields.overridden) return;
  answered_text_ = fields.id.text;
  answered_.id.text = answered_text_;
}

/// The steps that have waited for this value, and for no other.
void EnsembleRun::make_ready(uint32_t tensor, uint64_t iteration, StepList& due) {
  uint32_t before = kNone;
  for (uint32_t step : graph_.tensors[tensor].consumers) {
    const bool again = std::exchange(before, step) == step;
    if (plan_->step_needed[step] == 0) continue;
    if (iteration == 0) {
      if (--missing_[step] == 0) make_step(step, 0, due);
      continue;
    }
    if (again) continue;
    const auto& inputs = graph_.steps[step].inputs;
    const bool all = std::all_of(inputs.begin(), inputs.end(), [&](const StepGraph::StepInput& input) {
      return values_[input.tensor].find(iteration) != nullptr;
    });
    if (all) make_step(step, iteration, due);
  }
}

void EnsembleRun::use(uint32_t tensor, uint64_t iteration) {
  Value* value = values_[tensor].find(iteration);
  if (value == nullptr || --value->uses != 0) return;
  KeptResponse* kept = value->kept;
  values_[tensor].drop(iteration);
  let_go(kept);
}

void EnsembleRun::note_failure(const StepRun& step, const Status& failure) {
  if (!failure_.ok()) return;
  retry_after_ms_ = step.retry_after_ms;
  if (failure.code() == Code::kCancelled) {
    failure_ = cancelled();
    return;
  }
  const ModelInfo& model = graph_.steps[step.step].model->info();
  failure_ = make_status(failure.code(), graph_.failure_prefix(), failure.message(), " (step ", step.step,
                         ", model '", model.name, "' version ", model.version, ")");
}

/// Of a request that has failed nobody waits for what they answer.
void EnsembleRun::cancel_steps(std::unique_lock<std::mutex>& lock) {
  if (failure_.ok() || cancels_ || in_flight_ == 0) return;
  cancels_ = true;
  ++in_flight_;  // nothing ends meanwhile
  lock.unlock();
  cancellation_.cancel();
  lock.lock();
  --in_flight_;
}

// --- cancellation while something waits ---

/// On the thread that cancels, which still uses the request.
void EnsembleRun::on_cancel(void*) noexcept {
  {
    std::scoped_lock lock(mutex_);
    if (is_over_) return;  // it ends by itself, and is the next request's soon
    ++in_flight_;
  }
  ensemble_.answer_thread().post(Task{[](void* run) { static_cast<EnsembleRun*>(run)->end_wait(); }, this});
}

void EnsembleRun::end_wait() noexcept {
  EnsembleScheduler& ensemble = ensemble_;
  const schedulers::Inside inside = ensemble.stay();
  StepList due;
  const bool waited = ensemble.entrance().remove(*this);
  {
    std::unique_lock lock(mutex_);
    if (failure_.ok()) failure_ = cancelled();
    if (waited) --in_flight_;
    for (const auto& step : steps_) {
      if (!ensemble.gates().remove(*step)) continue;
      step->request.reset();  // it was never given away
      end_step(*step, due);
    }
    --in_flight_;
    settle(lock);
  }
  ensemble.drive(due);
}

}  // namespace atl::ensemble
