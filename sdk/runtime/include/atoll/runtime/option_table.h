/// Option tables: what a plugin (or the kernel itself) says about the keys it takes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/abi/plugin.h"
#include "atoll/core/status.h"

namespace atl::runtime {

/// Keys of every [plugin.NAME] table that are the server's own: use, enabled, file, needs.
std::span<const atoll_option_v1> reserved_options();

/// Checks the table itself (defaults and bounds parse, keys unique and not reserved): a plugin's defect,
/// found when it is loaded. Every defect is in the message, one line each. Errors: INVALID_ARGUMENT.
Status check_option_table(std::span<const atoll_option_v1> table);

/// "duration"; "unknown" for a number that is no type.
std::string_view option_type_name(uint32_t type);

/// The row's choices: "text|json" -> text, json. They borrow from the row.
std::vector<std::string_view> choices_of(const atoll_option_v1& row);

/// "4KiB..2GiB", "at least 1", "text|json"; empty: any.
std::string range_text(const atoll_option_v1& row);

/// What the row takes: bytes ("64MiB"), 4KiB..2GiB.
std::string expected_text(const atoll_option_v1& row);

}  // namespace atl::runtime
