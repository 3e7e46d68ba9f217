/// What is wrong with the instances of a manifest beyond the types of their options: what plugins say
/// themselves, and what instances take from each other.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "atoll/abi/plugin.h"
#include "atoll/runtime/option_values.h"
#include "atoll/runtime/problems.h"
#include "atoll/runtime/raw_value.h"

namespace atl::runtime {

/// One [plugin.NAME] table whose plugin is known. It borrows everything.
struct ManifestEntry {
  std::string_view section;  ///< "plugin.grpc"
  const SourceLocation& where;
  const RawValue::Table& options;  ///< as written
  const OptionValues& values;      ///< as read
  const atoll_plugin_v1_t& plugin;
};

/// Asks the plugin, and checks the form of the addresses that the instance listens at. Each problem is told
/// with the place of its option, or of its element; that of the table, where the option is not written.
/// Nothing is said of options whose values were refused already.
void check_entry(const ManifestEntry& entry, Problems& problems);

/// Two instances that listen at one address.
void check_addresses(std::span<const ManifestEntry> entries, Problems& problems);

}  // namespace atl::runtime
