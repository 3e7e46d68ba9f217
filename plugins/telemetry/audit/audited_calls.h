/// Which calls that were allowed are recorded.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "atoll/frontend/access.h"

namespace atl::audit {

/// Whether calls of the category change or show how the server is run: loads, regions, settings, pools, the console.
/// Those of categories that nobody knows count as such.
bool is_control(ApiCategory category, std::string_view category_name) noexcept;

/// Lets an even share of calls through. [any]
class CallSample {
 public:
  /// \param share  0..1
  explicit CallSample(double share) noexcept;
  bool takes_next() noexcept;

 private:
  const uint64_t step_;  ///< in 2^-32
  std::atomic<uint64_t> sum_{0};
};

}  // namespace atl::audit
