#include "pools/leases/book/pool_places.h"

#include <algorithm>
#include <utility>

namespace atl::pools {
namespace {

constexpr size_t kReasonsMax = 8;  ///< instances that a refusal tells of, of maybe thousands

}  // namespace

// --- instances ---

uint32_t PoolPlaces::unused_number() const noexcept {
  return static_cast<uint32_t>(std::ranges::find(slots_, false, &Slot::exists) - slots_.begin());
}

void PoolPlaces::add_instance(uint32_t instance) {
  if (instance >= slots_.size()) slots_.resize(instance + 1);
  Slot& slot = at(instance);
  slot = {};
  slot.instance = instance;
  slot.exists = slot.is_open = true;
  slot.free = rules_.capacity;
  ++instance_count_;
}

void PoolPlaces::remove_instance(uint32_t instance) {
  at(instance) = {};
  --instance_count_;
  while (!slots_.empty() && !slots_.back().exists) slots_.pop_back();
}

void PoolPlaces::set_backends(uint32_t instance, InstanceBackends state, const BackendSet& backends) {
  at(instance).backends_state = state;
  at(instance).backends = backends;
}

std::vector<Place> PoolPlaces::places() const {
  std::vector<Place> places;
  for (const Slot& slot : slots_) {
    if (slot.exists) places.push_back(slot);
  }
  return places;
}

uint64_t PoolPlaces::largest_free() const noexcept {
  uint64_t largest = 0;
  for (const Slot& slot : slots_) {
    if (slot.is_open) largest = std::max(largest, slot.free);
  }
  return largest;
}

// --- leases ---

bool PoolPlaces::backends_fit(const Place& place, const PlaceNeeds& needs) const noexcept {
  if (!rules_.enforce_backends) return true;
  if (place.backends_state == InstanceBackends::kBlank)
    return needs.backends.has_value() || !rules_.unknown_needs_new_instance;
  return place.backends_state == InstanceBackends::kKnown && needs.backends.has_value() &&
         is_subset(*needs.backends, place.backends);
}

void PoolPlaces::mark_clashes(const PlaceNeeds& needs) {
  ++decision_;
  for (const std::string_view model : needs.models) {
    const auto hosts = hosts_.find(std::string(model));
    if (hosts == hosts_.end()) continue;
    for (const uint32_t instance : hosts->second) at(instance).clash = decision_;
  }
}

PoolPlaces::Decision PoolPlaces::decide(const PlaceNeeds& needs, const Placement& placement) {
  Decision decision;
  if (needs.quota > rules_.capacity) {
    decision.refusal = invalid_argument("lease asks for quota ", needs.quota, " but instances of pool '",
                                        rules_.pool, "' have ", rules_.capacity);
    return decision;
  }
  mark_clashes(needs);
  candidates_.clear();
  for (const Slot& slot : slots_) {
    if (!slot.is_open || slot.free < needs.quota || slot.clash == decision_) continue;
    if (backends_fit(slot, needs)) candidates_.push_back({slot.instance, slot.leases, slot.free});
  }
  if (!candidates_.empty()) {
    const size_t chosen = placement.choose({needs.quota, rules_.capacity}, candidates_);
    decision.kind = Decision::Kind::kInstance;
    decision.instance = candidates_[std::min(chosen, candidates_.size() - 1)].instance;
  } else if (instance_count_ < rules_.instances_max) {
    decision.kind = Decision::Kind::kNewInstance;
  } else {
    decision.refusal = Status(Code::kResourceExhausted, refusal_text(needs));
  }
  return decision;
}

bool PoolPlaces::hosts(uint32_t instance, std::string_view model) const {
  const auto hosts = hosts_.find(std::string(model));
  return hosts != hosts_.end() && std::ranges::find(hosts->second, instance) != hosts->second.end();
}

bool PoolPlaces::has_room(uint32_t instance, const PlaceNeeds& needs) const {
  return at(instance).free >= needs.quota &&
         std::ranges::none_of(needs.models, [&](std::string_view model) { return hosts(instance, model); });
}

void PoolPlaces::put(uint32_t instance, const PlaceNeeds& needs) {
  Slot& slot = at(instance);
  slot.used += needs.quota;
  slot.free -= needs.quota;
  ++slot.leases;
  for (const std::string_view model : needs.models) hosts_[std::string(model)].push_back(instance);
  if (slot.backends_state != InstanceBackends::kBlank) return;
  slot.backends_state = needs.backends ? InstanceBackends::kKnown : InstanceBackends::kUnknown;
  slot.backends = needs.backends.value_or(BackendSet());
}

void PoolPlaces::take_off(uint32_t instance, const PlaceNeeds& needs) {
  Slot& slot = at(instance);
  slot.used -= needs.quota;
  slot.free += needs.quota;
  --slot.leases;
  for (const std::string_view model : needs.models) {
    const auto hosts = hosts_.find(std::string(model));
    std::erase(hosts->second, instance);
    if (hosts->second.empty()) hosts_.erase(hosts);
  }
}

std::string PoolPlaces::why_not(const Place& place, const PlaceNeeds& needs) const {
  if (!place.is_open) return "takes no leases now";
  std::string reason;
  if (place.free >= needs.quota) {
    if (!backends_fit(place, needs)) {
      if (place.backends_state == InstanceBackends::kUnknown) {
        reason = "its backends are not known yet";
      } else if (!needs.backends) {
        reason = place.backends_state == InstanceBackends::kBlank
                     ? "is not new, and the lease's backends are not known"
                     : "in use, and the lease's backends are not known";
      } else {
        reason = cat("backends ", names_.text_of(place.backends), ", lease needs ",
                     names_.text_of(*needs.backends));
      }
    }
    for (const std::string_view model : needs.models) {
      if (reason.empty() && hosts(place.instance, model))
        reason = cat("hosts a model '", model, "' of another lease");
    }
    if (reason.empty()) return {};
  }
  return reason.empty() ? cat("free ", place.free) : cat("free ", place.free, " (", reason, ")");
}

std::string PoolPlaces::refusal_text(const PlaceNeeds& needs) const {
  std::string text = cat("pool '", rules_.pool, "' has no instance with ", needs.quota, " free: ");
  size_t told = 0;
  for (const Slot& slot : slots_) {
    if (!slot.exists) continue;
    if (told == kReasonsMax) {
      text += cat(", and ", instance_count_ - kReasonsMax, " more");
      break;
    }
    text += cat(told == 0 ? "" : ", ", name_of_instance(slot.instance), " ", why_not(slot, needs));
    ++told;
  }
  return text + cat("; at maximum ", rules_.instances_max);
}

}  // namespace atl::pools
