#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "atoll/pools/placement.h"

namespace atl::placement {

/// The most room is left, so that leases disturb each other as little as the instances that run allow. Nothing is started for it, and
/// large leases find room less often than with best_fit.
class Spread final : public Placement {
 public:
  virtual ~Spread() = default;
  size_t choose(const PlacementLease& /*lease*/,
                std::span<const PlacementCandidate> candidates) const noexcept override {
    // Of equal ones the one with fewer leases, then the first, which has the lowest number.
    return static_cast<size_t>(std::ranges::min_element(candidates, has_more_room) - candidates.begin());
  }

 private:
  static bool has_more_room(const PlacementCandidate& left, const PlacementCandidate& right) noexcept {
    return left.free != right.free ? left.free > right.free : left.leases < right.leases;
  }
};

}  // namespace atl::placement
