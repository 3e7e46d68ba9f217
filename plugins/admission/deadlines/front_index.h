/// The lines of a device by the deadline of their first request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "admission/deadlines/line.h"
#include "admission/deadlines/ordered_blocks.h"

namespace atl::deadlines {

struct FrontEntry {
  struct Summary {
    int64_t latest_ns = kNever;  ///< the earliest
    static Summary of(const std::vector<FrontEntry>& entries) noexcept {
      Summary summary;
      for (const FrontEntry& entry : entries)
        summary.latest_ns = std::min(summary.latest_ns, entry.latest_ns);
      return summary;
    }
  };
  FrontKey key;
  int64_t latest_ns;  ///< until when its first request must begin, were it alone; kNever: it is not bound
  Line* line;
};

using FrontIndex = OrderedBlocks<FrontEntry>;

}  // namespace atl::deadlines
