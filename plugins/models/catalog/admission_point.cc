#include "admission_point.h"

namespace atl::models {

Status AdmissionPoint::follow() {
  Result<Service<RequestAdmission>> found = host_.registry().find<RequestAdmission>();
  Slot* before = current_.load(std::memory_order_relaxed);
  const bool wanted = found.ok() && found.value()->active();
  if (wanted && before != nullptr && before->service.get() == found.value().get()) return {};
  Slot* next = nullptr;
  if (wanted) {
    if (Pass pass(host_.gate()); pass) {
      next = &free_slot();
      next->service = std::move(found).value();
      next->pass = std::move(pass);
      next->state.store(State::kOpen);
      next->gate.open();
    }
  }
  current_.store(next, std::memory_order_release);
  if (before != nullptr) close(*before);
  const bool none = found.ok() || found.status().code() == Code::kNotFound;
  return none ? Status() : std::move(found).status();
}

void AdmissionPoint::leave() {
  if (Slot* before = current_.exchange(nullptr); before != nullptr) close(*before);
}

AdmissionPoint::Hold AdmissionPoint::hold() noexcept {
  // A slot whose provider has gone since it was read is closed, or has a new provider, which is as good.
  Slot* slot = current_.load(std::memory_order_acquire);
  if (slot == nullptr || !slot->gate.enter()) return {};
  return {slot->service.get(), &slot->gate};
}

void AdmissionPoint::close(Slot& slot) {
  slot.state.store(State::kDraining);
  slot.gate.close();
}

void AdmissionPoint::on_empty(void* context) {
  auto& slot = *static_cast<Slot*>(context);
  // Of a slot that is in its next use already there may still be calls that belong to the one before.
  if (slot.state.load() != State::kDraining || !slot.gate.closed() || slot.gate.count() != 0) return;
  State expected = State::kDraining;
  if (!slot.state.compare_exchange_strong(expected, State::kReleasing)) return;
  slot.service.reset();
  Pass pass = std::move(slot.pass);
  slot.state.store(State::kFree);
}

AdmissionPoint::Slot& AdmissionPoint::free_slot() {
  for (const auto& slot : slots_) {
    if (slot->state.load() == State::kFree) return *slot;
  }
  slots_.push_back(std::make_unique<Slot>());
  slots_.back()->gate.close();
  return *slots_.back();
}

}  // namespace atl::models
