#include "schedulers/ensemble/step_run.h"

#include "schedulers/ensemble/ensemble_run.h"

namespace atl::ensemble {

void StepRun::begin(uint32_t of_step, uint64_t of_iteration, Request& parent,
                    Cancellation& cancelled_with) noexcept {
  step = of_step;
  iteration = of_iteration;
  sequence = {parent.sequence, parent.sequence_flags, false};
  times = {};
  last_response = nullptr;
  ahead = nullptr;
  retry_after_ms = 0;
  of(parent, cancelled_with);
  request.id = parent.id;
  request.timeout_us = parent.timeout_us;
  request.parameters = parent.parameters;
  request.execution_times = &times;
}

/// What comes before the end, or ahead, goes on at once; what comes with it, when the member has released the request,
/// so that a step does not begin inside of the one before.
void StepRun::on_response(Response* response, uint32_t flags) noexcept {
  const bool is_final = (flags & kFinal) != 0;
  if (is_final && response != nullptr && !response->error.ok()) retry_after_ms = request.retry_after_ms;
  if (response == nullptr) return;
  keep();
  if (is_final && (flags & kAhead) != 0 && response->error.ok()) {
    run_.step_answered_ahead(*this, *response);
  } else if (is_final) {
    last_response = response;
  } else {
    run_.step_answered(*this, *response);
  }
}

void StepRun::on_end() noexcept { run_.step_ended_elsewhere(*this); }

Status StepRun::allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes,
                                MemoryKind preferred_kind, int64_t preferred_device_id) noexcept {
  return run_.allocate(*this, response, output, size_bytes, preferred_kind, preferred_device_id);
}

void StepRun::free_output(OutputTensor& output) noexcept { run_.free(output); }

}  // namespace atl::ensemble
