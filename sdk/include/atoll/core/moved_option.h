/// Rows of option tables for keys that are another plugin's now.
#pragma once

#include "atoll/core/option_table.h"

/// In atoll_option_v1::flags: the key is refused in a manifest, and `help` is the plugin that has it now.
#define ATOLL_OPTION_MOVED 2u

namespace atl {

/// Keeps a manifest that was written for an earlier version from failing without a hint. The row is no
/// option: it is in no reference, and the plugin does not read it.
/// \param plugin  which has an option of this key, such as "admission/quotas"
constexpr Option option_moved(const char* key, const char* plugin) {
  Option row = option_string(key).help(plugin);
  row.flags |= ATOLL_OPTION_MOVED;
  return row;
}

}  // namespace atl
