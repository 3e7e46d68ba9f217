/// The placement that tests of pools have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "atoll/pools/placement.h"

namespace atl::pools {

/// The least room is left; of equal ones the lowest number.
class BestFitPlacement final : public Placement {
 public:
  virtual ~BestFitPlacement() = default;
  size_t choose(const PlacementLease&,
                std::span<const PlacementCandidate> candidates) const noexcept override {
    return static_cast<size_t>(std::ranges::min_element(candidates, {}, &PlacementCandidate::free) -
                               candidates.begin());
  }
};

}  // namespace atl::pools
