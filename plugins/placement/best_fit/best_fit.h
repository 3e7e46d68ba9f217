#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "atoll/pools/placement.h"

namespace atl::placement {

/// The least room is left, so that whole instances stay empty: for large leases, and to be stopped when the pool shrinks.
class BestFit final : public Placement {
 public:
  virtual ~BestFit() = default;
  size_t choose(const PlacementLease& /*lease*/,
                std::span<const PlacementCandidate> candidates) const noexcept override {
    // Of equal ones the first, which has the lowest number.
    return static_cast<size_t>(std::ranges::min_element(candidates, {}, &PlacementCandidate::free) -
                               candidates.begin());
  }
};

}  // namespace atl::placement
