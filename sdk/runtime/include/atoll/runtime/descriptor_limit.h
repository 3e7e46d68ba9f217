/// The process's limit of open files.
#pragma once

#include <cstdint>

#include "atoll/core/status.h"

namespace atl::runtime {

/// Before and after, in descriptors.
struct DescriptorLimit {
  uint64_t soft_before = 0;
  uint64_t soft = 0;
};

/// Raises the soft limit to the hard one: shells and service managers start processes with a soft limit of
/// 1,024, made for programs that use select(), whatever the hard one is. Children inherit it. Errors:
/// UNAVAILABLE the system refuses.
Result<DescriptorLimit> raise_descriptor_limit() noexcept;

}  // namespace atl::runtime
