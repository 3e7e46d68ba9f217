/// Rows of option tables (option_table.h) of special kinds: keys that belong to another plugin now, and values that nobody
/// is shown.
///
///     constexpr OptionTable kOptions{
///         option_string("address", "127.0.0.1:8000").help("..."),
///         option_secret(option_string("password", "").help("...")),
///         option_moved("max_requests", "admission/quotas"),
///     };
#pragma once

#include "atoll/core/option_table.h"

/// A value of atoll_option_v1::flags: the manifest must not set this key, and the row's `help` is
/// the name of the plugin that has the key now.
#define ATOLL_OPTION_MOVED 2u
/// A value of atoll_option_v1::flags: the option's value is a password, a token or a key.
#define ATOLL_OPTION_SECRET 32u

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

/// The server's pages and calls say of the option whether it is set, and never its value; so do messages about a value
/// of a wrong type. Of options without this, texts, lists and maps are hidden whose names say that they are secrets: those with
/// "password" or "token" as a word, for instance (core/kernel_control.h has all). A path of a file with a secret is none.
/// \param row  finished by help()
constexpr Option option_secret(Option row) {
  row.flags |= ATOLL_OPTION_SECRET;
  return row;
}

}  // namespace atl
