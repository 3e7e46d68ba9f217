/// Bounds on numbers of a configuration, so that none of them can make the server hold or compute without
/// end. All are far above what a working model needs.
#pragma once

#include <cstdint>
#include <limits>

namespace atl::pbtxt {

/// Most inputs, and most outputs, of a model: what one request may carry.
inline constexpr int kTensorsMax = 1024;
inline constexpr size_t kNameBytesMax = 255;
/// Longest time a sequence batcher may be asked for: the clock's nanoseconds are signed 64-bit numbers.
inline constexpr uint64_t kMicrosecondsMax = std::numeric_limits<int64_t>::max() / 1000;
inline constexpr int kEnsembleStepsMax = 1000;
inline constexpr uint32_t kWarmupCountMax = 100'000;
/// Memory of one warm-up input, over its batch.
inline constexpr int64_t kWarmupBytesMax = int64_t{1} << 30;
inline constexpr int kWarmupSamplesMax = 1000;

}  // namespace atl::pbtxt
