/// Durations as messages name them.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl {

/// "2 s", "1500 ms", "20 ns": the largest of these units that leaves no fraction.
inline std::string duration_text(int64_t duration_ns) {
  if (duration_ns % kNsPerSecond == 0) return cat(duration_ns / kNsPerSecond, " s");
  if (duration_ns % kNsPerMs == 0) return cat(duration_ns / kNsPerMs, " ms");
  return cat(duration_ns, " ns");
}

}  // namespace atl
