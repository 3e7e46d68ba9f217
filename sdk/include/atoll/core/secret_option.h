/// Rows of option tables (option_table.h) whose values nobody is shown.
///
///     constexpr OptionTable kOptions{
///         option_string("address", "127.0.0.1:6379").help("..."),
///         option_secret(option_string("password", "").help("...")),
///     };
#pragma once

#include "atoll/core/option_table.h"

/// A value of atoll_option_v1::flags: the option's value is a password, a token or a key.
#define ATOLL_OPTION_SECRET 32u

namespace atl {

/// The server's pages and calls say of the option whether it is set, and never its value; so do messages about a value
/// of a wrong type. Of options without this, strings are hidden whose name says that they are secrets: those with
/// "password" or "token" as a word, for instance (atoll/core/kernel_control.h). A path of a file with a secret is none.
constexpr Option option_secret(Option row) {
  row.flags |= ATOLL_OPTION_SECRET;
  return row;
}

}  // namespace atl
