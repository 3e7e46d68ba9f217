/// Which instance of a pool gets a lease. Service "atoll.placement/1"; pools/leases uses it.
///
///     size_t choose(const PlacementLease& lease,
///                   std::span<const PlacementCandidate> candidates) const noexcept override {
///       auto emptiest = std::ranges::max_element(candidates, {}, &PlacementCandidate::free);
///       return static_cast<size_t>(emptiest - candidates.begin());
///     }
///
/// A pool is a set of equal servers, its instances. A lease takes part of one instance for some
/// models. The part is a number of quota, in a unit that the pool's creator has chosen: slots,
/// gigabytes, requests per second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace atl {

/// What is asked for.
struct PlacementLease {
  /// What the lease takes of one instance: 1 to capacity.
  uint64_t quota = 0;
  /// What each instance of the pool has.
  uint64_t capacity = 0;
};

/// An instance that can host the lease. The pool has checked that the instance takes leases now,
/// that its backends fit, that it has none of the lease's models already, and that it has enough
/// quota free.
struct PlacementCandidate {
  /// The instance's number in the pool, which it keeps as long as it lives.
  uint32_t instance = 0;
  /// How many leases it hosts now.
  uint32_t leases = 0;
  /// Its free quota before the lease has its part: the lease's quota to the pool's capacity.
  uint64_t free = 0;
};

/// A pure function: it keeps nothing and looks at nothing but its arguments. So a plan (the call
/// that asks where a lease would go) tells the truth. When no instance fits, the pool starts a new
/// one, or refuses the lease, without asking.
class Placement {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.placement/1";

  /// Chooses an instance. Called for each lease while others wait, so it should take microseconds
  /// with a thousand candidates. [any]
  /// \param candidates  at least one, in ascending order of their numbers; borrowed during the call
  /// \returns the index of one of them, not its number. An index that is too large is taken for the
  /// last one
  virtual size_t choose(const PlacementLease& lease,
                        std::span<const PlacementCandidate> candidates) const noexcept = 0;

 protected:
  ~Placement() = default;
};

}  // namespace atl
