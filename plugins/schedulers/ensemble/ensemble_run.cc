#include "schedulers/ensemble/ensemble_run.h"

#include <utility>

#include "schedulers/ensemble/ensemble_scheduler.h"
#include "schedulers/ensemble/sequence_parameters.h"

namespace atl::ensemble {
namespace {

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

void report(InferenceReporter& reporter, Request& request, const Status& failure,
            const ExecutionTimes& times) noexcept {
  if (!failure.ok()) {
    const bool is_cancelled = failure.code() == Code::kCancelled;
    return reporter.report_failure(request, is_cancelled ? FailureReason::kCanceled : FailureReason::kOther);
  }
  reporter.report_request(request, true, times);
  reporter.report_batch(request.batch_weight(), times);
}

}  // namespace

EnsembleRun::EnsembleRun(EnsembleScheduler& ensemble)
    : ensemble_(ensemble), values_(ensemble.graph(), ensemble.memory()), answer_(ensemble, values_) {}

EnsembleRun::~EnsembleRun() = default;

void EnsembleRun::take(Request& request) noexcept {
  request_ = &request;
  cancellation_.begin(request);
  values_.reset();
  times_ = StepTimes(request.times.queue_start_ns);
  in_flight_ = 1;  // until it has started
  sending_ = is_over_ = false;
}

void EnsembleRun::start(bool waited, StepList& due) noexcept {
  if (ensemble_.gates().are_limited()) (void)listen();
  cancellation_.link();
  std::unique_lock lock(mutex_);
  const Plan& plan = plan_.choose(ensemble_.graph(), ensemble_.full_plan(), *request_);
  values_.begin(plan, *request_);
  answer_.begin(*request_, plan);
  int64_t start_ns = request_->times.queue_start_ns;
  if (waited) {
    start_ns = ensemble_.clock().now_ns();
    times_ = StepTimes(start_ns);
  }
  const int64_t deadline_ns = request_->times.deadline_ns;
  if (deadline_ns != 0 && start_ns > deadline_ns) failure_.note(cancelled());
  for (uint32_t step = 0; step < ensemble_.graph().steps.size(); ++step) {
    if (values_.are_there_for(step)) make_step(step, 0, due);
  }
  --in_flight_;
  settle(lock);
}

void EnsembleRun::make_step(uint32_t step, uint64_t iteration, StepList& due) {
  if (request_->cancelled()) failure_.note(cancelled());
  if (!failure_.none()) return;
  StepRun& run = steps_.take(*this);
  run.begin(step, iteration, *request_, cancellation_.steps());
  values_.fill(run);
  ++in_flight_;
  if (ensemble_.gates().enter(run)) due.push_back(run);
}

// --- answers of steps ---

void EnsembleRun::step_answered(StepRun& step, Response& response) noexcept {
  const schedulers::Inside inside = ensemble_.stay();
  StepList due;
  {
    std::unique_lock lock(mutex_);
    add_response(step, response, due);
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
  const bool comes = !posted_.empty();
  add_response(step, response, running != nullptr ? *running : posted_, true);
  const bool posts = !comes && !posted_.empty();
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
  times_.add(step.times);
  if (Response* last = std::exchange(step.last_response, nullptr)) add_response(step, *last, due);
  StepValues::let_go(std::exchange(step.ahead, nullptr));
  values_.release_inputs(step);
  steps_.give(step);
  --in_flight_;
}

/// \param ahead  the member still writes to it, so it is kept until the step has ended
void EnsembleRun::add_response(StepRun& step, Response& response, StepList& due, bool ahead) {
  if (!response.error.ok()) note_failure(step, response.error);
  if (!failure_.none()) {
    if (ahead) {
      step.last_response = &response;
    } else {
      response.sink->discard(&response);
    }
    return;
  }
  const uint64_t iteration = values_.next_iteration(step);
  auto& kept = *response.arena().make<KeptResponse>();
  kept.response = &response;
  kept.sequence = step.sequence;
  if (!response.parameters.empty()) override_sequence(response, &kept.sequence);
  ++kept.values;  // until all of them are there
  const auto& outputs = ensemble_.graph().steps[step.step].outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint32_t tensor = outputs[i].tensor;
    OutputTensor* output = find_output(response, outputs[i].name, i);
    if (plan_->position[tensor] != kNone) answer_.note_sequence(kept.sequence);
    if (plan_->direct[tensor] != 0) {
      answer_.add(tensor, iteration, output);
    } else if (values_.add(tensor, iteration, output, kept)) {
      values_.for_each_due(tensor, iteration, [&](uint32_t reader) { make_step(reader, iteration, due); });
    }
  }
  answer_.note_response(step.step);
  if (ahead) {
    step.ahead = &kept;
  } else {
    StepValues::let_go(&kept);
  }
}

void EnsembleRun::note_failure(const StepRun& step, const Status& failure) {
  if (failure.code() == Code::kCancelled) return failure_.note(cancelled(), step.retry_after_ms);
  const StepGraph& graph = ensemble_.graph();
  const ModelInfo& model = graph.steps[step.step].model->info();
  failure_.note(make_status(failure.code(), graph.failure_prefix(), failure.message(), " (step ", step.step,
                            ", model '", model.name, "' version ", model.version, ")"),
                step.retry_after_ms);
}

/// Of a request that has failed nobody waits for what they answer.
void EnsembleRun::cancel_steps(std::unique_lock<std::mutex>& lock) {
  if (failure_.none() || in_flight_ == 0 || cancellation_.steps().cancelled()) return;
  ++in_flight_;  // nothing ends meanwhile
  lock.unlock();
  cancellation_.steps().cancel();
  lock.lock();
  --in_flight_;
}

// --- memory of the steps' outputs ---

Status EnsembleRun::allocate(StepRun& step, Response& response, OutputTensor& output, uint64_t size_bytes,
                             MemoryKind preferred_kind, int64_t preferred_device_id) noexcept {
  const StepGraph& graph = ensemble_.graph();
  bool ahead = false;
  for (const StepGraph::StepOutput& mapped : graph.steps[step.step].outputs) {
    if (!is_same_name(mapped.name, output.name)) continue;
    if (plan_->direct[mapped.tensor] != 0) {
      return answer_.allocate(response, output, mapped.tensor, size_bytes, preferred_kind,
                              preferred_device_id);
    }
    // A trace that has the tensors would wait for them.
    const Trace* trace = request_->trace;
    ahead = graph.tensors[mapped.tensor].device_ordered && (trace == nullptr || !trace->wants_tensors());
    // What is copied into a response as well is read by the CPU.
    if (plan_->position[mapped.tensor] != kNone) preferred_kind = MemoryKind::kCpu;
  }
  return values_.allocate(output, size_bytes, preferred_kind, preferred_device_id, ahead);
}

void EnsembleRun::free(OutputTensor& output) noexcept {
  if (EnsembleAnswer::has(output)) {
    answer_.free(output);
  } else {
    values_.free(output);
  }
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
    failure_.note(cancelled());
    if (waited) --in_flight_;
    for (const auto& step : steps_.all()) {
      if (!ensemble.gates().remove(*step)) continue;
      step->request.reset();  // it was never given away
      end_step(*step, due);
    }
    --in_flight_;
    settle(lock);
  }
  ensemble.drive(due);
}

// --- what is sent ---

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
  while (failure_.none() && answer_.is_due()) {
    if (in_flight_ == 0 && !answer_.is_followed()) return;
    EnsembleAnswer::Due due = answer_.take_due();
    lock.unlock();
    Status status = answer_.send(due);
    lock.lock();
    failure_.note(std::move(status));
    answer_.end_send();
  }
}

/// Nobody else uses the run any more.
void EnsembleRun::complete() noexcept {
  cancellation_.end();
  Request& request = *request_;
  ResponseSink& sink = *request.sink;
  Response* response = nullptr;
  uint32_t retry_after_ms = 0;
  Status failure = failure_.take(&retry_after_ms);
  if (failure.ok()) failure = answer_.finish(&response);
  values_.end();
  answer_.end();
  report(ensemble_.reporter(), request, failure, times_.total(ensemble_.clock().now_ns()));
  if (!failure.ok()) {
    request.retry_after_ms = retry_after_ms;
    response = sink.new_response();
    response->error = std::move(failure);
  } else if (response != nullptr) {
    add_sequence_parameters(answer_.sequence(), *response);
  }
  const uint64_t most_bytes = values_.most_bytes();
  EnsembleScheduler& ensemble = ensemble_;
  sink.send(response, kFinal);
  (void)request.release().ok();
  ensemble.run_ended(*this, most_bytes);
}

}  // namespace atl::ensemble
