#pragma once

#include <cstddef>
#include <span>

#include "atoll/pools/placement.h"

namespace atl::placement {

/// The lowest number: instances that were started last are the first to become empty.
class FirstFit final : public Placement {
 public:
  virtual ~FirstFit() = default;
  size_t choose(const PlacementLease& /*lease*/,
                std::span<const PlacementCandidate> /*candidates*/) const noexcept override {
    return 0;
  }
};

}  // namespace atl::placement
