/// The places of one pool: how much quota is free on which instance, and which of them can host a lease.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/pools/placement.h"
#include "pools/leases/servers/backend_set.h"

namespace atl::pools {

struct PlacesRules {
  std::string pool;  ///< its name, for texts
  uint64_t capacity = 0;
  uint32_t instances_max = 0;
  bool enforce_backends = true;
  /// A lease whose backends are not known gets an instance that never hosted one only if that is new.
  bool unknown_needs_new_instance = false;
};

/// What a lease takes.
struct PlaceNeeds {
  uint64_t quota = 0;
  std::optional<BackendSet> backends;    ///< nothing: not known of all of its models
  std::vector<std::string_view> models;  ///< their names
};

/// What is known of an instance's backends.
enum class InstanceBackends : uint8_t {
  kBlank,    ///< it has hosted nothing
  kUnknown,  ///< its first lease's are being found out, or never were
  kKnown
};

/// One instance, as a plan shows it.
struct Place {
  uint32_t instance = 0;
  bool is_open = false;  ///< leases may be put on it
  uint64_t used = 0, free = 0;
  uint32_t leases = 0;
  InstanceBackends backends_state = InstanceBackends::kBlank;
  BackendSet backends;
};

/// An instance as clients and texts name it: "i3".
inline std::string name_of_instance(uint32_t number) { return cat("i", number); }

/// Pure book-keeping: it starts nothing, waits for nothing and keeps no time. Quota is taken when a lease is put on an
/// instance and is free again when it is taken off, whatever happens between. [one thread at a time]
class PoolPlaces {
 public:
  /// \param names  of the backends in the sets; outlives this
  PoolPlaces(PlacesRules rules, const BackendNames& names) : rules_(std::move(rules)), names_(names) {}

  const PlacesRules& rules() const noexcept { return rules_; }
  /// Instances are not taken away by it.
  void set_instances_max(uint32_t instances_max) noexcept { rules_.instances_max = instances_max; }

  // --- instances ---
  /// The lowest number that no instance has.
  uint32_t unused_number() const noexcept;
  /// A blank one that takes leases. No other one has the number.
  void add_instance(uint32_t instance);
  /// It hosts nothing.
  void remove_instance(uint32_t instance);
  /// \param open  false: it drains, has failed, or is being removed
  void set_open(uint32_t instance, bool open) { at(instance).is_open = open; }
  /// They have been found out, or were recorded.
  void set_backends(uint32_t instance, InstanceBackends state, const BackendSet& backends);
  uint32_t instance_count() const noexcept { return instance_count_; }
  const Place& place(uint32_t instance) const { return at(instance); }
  std::vector<Place> places() const;

  // --- leases ---
  struct Decision {
    enum class Kind : uint8_t { kInstance, kNewInstance, kRefused };
    Kind kind = Kind::kRefused;
    uint32_t instance = 0;  ///< of kInstance
    Status refusal;         ///< of kRefused
  };
  /// Where the lease would go now. Changes nothing.
  /// Refusals: INVALID_ARGUMENT no instance could ever hold it; RESOURCE_EXHAUSTED none can now, with the reason of
  /// each.
  Decision decide(const PlaceNeeds& needs, const Placement& placement);
  /// Whether it can be there as far as quota and names go.
  bool has_room(uint32_t instance, const PlaceNeeds& needs) const;
  /// Puts it there; decide() said so, or it was there before a restart.
  void put(uint32_t instance, const PlaceNeeds& needs);
  void take_off(uint32_t instance, const PlaceNeeds& needs);
  /// Why the lease cannot be on the instance, "free 3" or "free 8 (hosts model 'm')"; empty: it can.
  std::string why_not(const Place& place, const PlaceNeeds& needs) const;
  /// Of the largest lease that fits without another instance, by quota alone; 0: none.
  uint64_t largest_free() const noexcept;

 private:
  struct Slot : Place {
    bool exists = false;
    uint64_t clash = 0;  ///< the decision in which it was seen to host one of the models
  };

  Slot& at(uint32_t instance) { return slots_.at(instance); }
  const Slot& at(uint32_t instance) const { return slots_.at(instance); }
  bool backends_fit(const Place& place, const PlaceNeeds& needs) const noexcept;
  bool hosts(uint32_t instance, std::string_view model) const;
  void mark_clashes(const PlaceNeeds& needs);
  std::string refusal_text(const PlaceNeeds& needs) const;

  PlacesRules rules_;
  const BackendNames& names_;
  std::vector<Slot> slots_;  ///< by number
  uint32_t instance_count_ = 0;
  /// By model: the instances that host one of this name.
  std::unordered_map<std::string, std::vector<uint32_t>> hosts_;
  uint64_t decision_ = 0;                       ///< counts them
  std::vector<PlacementCandidate> candidates_;  ///< memory of decide()
};

}  // namespace atl::pools
