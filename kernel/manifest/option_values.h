/// An instance's options, checked against its plugin's option table.
#pragma once

#include <memory>
#include <span>

#include "atoll/runtime/option_table.h"
#include "atoll/runtime/option_values.h"
#include "kernel/manifest/manifest.h"

namespace atl::kernel {

using runtime::check_option_table;
using runtime::OptionValues;

/// Checks keys, types, ranges and choices. Each problem has the place in the manifest and, for an unknown key,
/// the nearest known one.
inline std::unique_ptr<OptionValues> check_options(const InstanceConfig& instance,
                                                   std::span<const atoll_option_v1> table,
                                                   runtime::Problems& problems) {
  return runtime::read_options(cat("plugin.", instance.name), instance.where, instance.options, table,
                               runtime::reserved_options(), problems);
}

}  // namespace atl::kernel
