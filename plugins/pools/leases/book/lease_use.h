/// What leases are used for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace atl::pools {

/// What requests to a lease's models have taken, since the models were loaded on their present instance.
struct ObservedUse {
  uint64_t requests = 0;  ///< that have ended, failed ones too
  int64_t compute_ns = 0, queue_ns = 0;
  double busy = 0;  ///< seconds of execution in a second, in the last whole window; 0 before there was one
};

class LeaseUse {
 public:
  /// \returns when the last request to one of its models was seen, on the steady clock; nothing: none was
  virtual std::optional<int64_t> last_use_ns(std::string_view lease) const = 0;
  /// Null: it was not looked at.
  virtual const ObservedUse* observed(std::string_view lease) const = 0;

 protected:
  ~LeaseUse() = default;
};

}  // namespace atl::pools
