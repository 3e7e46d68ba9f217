/// Which calls that were allowed are recorded, and of which others are told.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "atoll/frontend/audit.h"

namespace atl::audit {

/// Whether calls of the category change or show how the server is run: loads, regions, settings, pools, the console.
/// Those of categories that nobody knows count as such.
bool is_control(ApiCategory category, std::string_view category_name) noexcept;

/// Whether the call, which is_control(), tells the server to change something, as far as its method or its name says so.
/// gRPC's calls of settings count, though they may only read.
bool is_change(const AuditedCall& call) noexcept;

/// What others are told of such a call.
ControlCallEnded control_call(const AuditedCall& call);

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
