/// Which instance of a pool gets a lease. Service "atoll.placement/1"; used by the plugin that keeps the pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace atl {

/// What is asked for. Quota has the unit that the pool's creator gave it.
struct PlacementLease {
  uint64_t quota = 0;     ///< that the lease takes of one instance; 1 to capacity
  uint64_t capacity = 0;  ///< quota of each instance of the pool
};

/// An instance that can host the lease: it runs, its backends fit, and it has as much quota free.
struct PlacementCandidate {
  uint32_t instance = 0;  ///< its number in the pool, which it keeps as long as it lives
  uint32_t leases = 0;    ///< that it hosts
  uint64_t free = 0;      ///< quota before the lease has its part; the lease's quota to the pool's capacity
};

/// A pure function: it keeps nothing and looks at nothing but its arguments, so that a plan tells what a lease would
/// get. When no instance fits, a new one is started without asking.
class Placement {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.placement/1";

  /// Called for each lease while others wait, so in microseconds with a thousand instances. [any]
  /// \param candidates  at least one, in ascending order of their numbers
  /// \returns the index of one of them
  virtual size_t choose(const PlacementLease& lease,
                        std::span<const PlacementCandidate> candidates) const noexcept = 0;

 protected:
  ~Placement() = default;
};

}  // namespace atl
