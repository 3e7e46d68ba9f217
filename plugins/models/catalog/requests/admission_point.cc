#include "models/catalog/requests/admission_point.h"

#include <algorithm>

namespace atl::models {

std::vector<Service<RequestAdmission>> AdmissionPoint::find_active() {
  std::vector<ServiceInfo> listed = host_.registry().list(RequestAdmission::kInterfaceId);
  // Those of one rank stay in the order of their names.
  std::stable_sort(listed.begin(), listed.end(),
                   [](const ServiceInfo& a, const ServiceInfo& b) { return a.rank > b.rank; });
  std::vector<Service<RequestAdmission>> found;
  for (const ServiceInfo& info : listed) {
    auto service = host_.registry().find<RequestAdmission>(info.instance);
    if (service.ok() && (*service)->active()) found.push_back(std::move(service).value());
  }
  return found;
}

Status AdmissionPoint::follow() {
  std::vector<Service<RequestAdmission>> found = find_active();
  const size_t count = found.size();
  if (count > kAdmissionsMax) found.resize(kAdmissionsMax);
  Slot* before = current_.load(std::memory_order_relaxed);
  const bool is_same =
      before != nullptr && std::equal(before->held.begin(), before->held.end(), found.begin(), found.end(),
                                      [](const auto& a, const auto& b) { return a.get() == b.get(); });
  if (!is_same) {
    current_.store(found.empty() ? nullptr : open(std::move(found)), std::memory_order_release);
    if (before != nullptr) close(*before);
  }
  if (count <= kAdmissionsMax) return {};
  return Status(Code::kResourceExhausted, cat(count, " providers of request admission are enabled, at most ",
                                              kAdmissionsMax, " are asked: those of the highest ranks"));
}

/// \returns null if the plugin is to end.
AdmissionPoint::Slot* AdmissionPoint::open(std::vector<Service<RequestAdmission>> found) {
  Pass pass(host_.gate());
  if (!pass) return nullptr;
  Slot& slot = free_slot();
  slot.held = std::move(found);
  slot.services.clear();
  for (const auto& service : slot.held) slot.services.push_back(service.get());
  slot.pass = std::move(pass);
  slot.state.store(State::kOpen);
  slot.gate.open();
  return &slot;
}

void AdmissionPoint::leave() {
  if (Slot* before = current_.exchange(nullptr); before != nullptr) close(*before);
}

AdmissionPoint::Hold AdmissionPoint::hold() noexcept {
  // A slot whose providers have gone since it was read is closed, or has new ones, which are as good.
  Slot* slot = current_.load(std::memory_order_acquire);
  if (slot == nullptr || !slot->gate.enter()) return {};
  return {slot->services, &slot->gate};
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
  slot.held.clear();
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
