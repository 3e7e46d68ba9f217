/// What the double of OpenVINO has counted since it was opened.
#pragma once

#include <cstdint>

struct OvDoubleCounts {
  int64_t objects;       ///< that were made and not freed
  int64_t compilations;  ///< of models
  int64_t runs;
  int64_t runs_apart;  ///< of these, those that were started and waited for
};

extern "C" void ov_double_counts(OvDoubleCounts* counts);
