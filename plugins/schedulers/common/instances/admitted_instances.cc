#include "schedulers/common/instances/admitted_instances.h"

namespace atl::schedulers {

bool AdmittedInstances::admit(uint32_t index, void* context, bool executed, bool insists) noexcept {
  AdmittedInstance& admission = *admissions_[index];
  bool admitted = true;
  switch (states_[index]) {
    case State::kIdle:
      admitted = admission.ask(listener_, context, insists);
      break;
    case State::kAdmitted:
      if (executed) admitted = admission.ask_again(listener_, context, insists);
      break;
    default:  // it has been waiting, and is here because it was admitted
      --waiting_;
      break;
  }
  states_[index] = admitted ? State::kAdmitted : State::kBeginsToWait;
  return admitted;
}

bool AdmittedInstances::let_go(uint32_t index, bool executed) noexcept {
  State& state = states_[index];
  switch (state) {
    case State::kIdle:
      return true;
    case State::kBeginsToWait:
      state = State::kWaiting;
      ++waiting_;
      return false;
    case State::kWaiting:  // admitted meanwhile, and no longer needed
      --waiting_;
      break;
    case State::kAdmitted:
      break;
  }
  bool was_waiting = state == State::kWaiting;
  state = State::kIdle;
  admissions_[index]->end(executed && !was_waiting);
  return true;
}

void AdmittedInstances::insist() noexcept {
  if (waiting_ == 0) return;
  for (uint32_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == State::kWaiting) return admissions_[i]->insist();
  }
}

}  // namespace atl::schedulers
