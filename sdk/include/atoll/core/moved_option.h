/// Rows of option tables (option_table.h) for keys that belong to another plugin now.
///
///     constexpr OptionTable kOptions{
///         option_string("address", "127.0.0.1:8000").help("..."),
///         option_moved("max_requests", "admission/quotas"),
///     };
#pragma once

#include "atoll/core/option_table.h"

/// A value of atoll_option_v1::flags: the manifest must not set this key, and the row's `help` is
/// the name of the plugin that has the key now.
#define ATOLL_OPTION_MOVED 2u

namespace atl {

/// Keeps a manifest that was written for an earlier version from failing without a hint. The
/// manifest is refused with "unknown key 'max_requests' in [plugin.http], it is an option of
/// admission/quotas now". The row is no option: it appears in no reference of options, and the
/// plugin does not read it.
/// \param key  the option's former name here, which is still its name there
/// \param plugin  "role/name" of the plugin that has an option of this key
constexpr Option option_moved(const char* key, const char* plugin) {
  Option row = option_string(key).help(plugin);
  row.flags |= ATOLL_OPTION_MOVED;
  return row;
}

}  // namespace atl
