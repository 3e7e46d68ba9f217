/// TOML text to a tree of values with their places, for the manifest and for plugins whose models bring TOML
/// files. The TOML library itself is seen by one source file of the whole tree, because its header takes
/// longer to compile than all that use it.
///
/// All functions: [any] thread; what is returned holds nothing of the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/runtime/problems.h"
#include "atoll/runtime/raw_value.h"

namespace atl::lib {

// The values are the runtime's, which checks options with them; a plugin finds them here.
using runtime::location_text;
using runtime::on_one_line;
using runtime::Problems;
using runtime::RawValue;
using runtime::SourceLocation;

/// Of a whole document. A document is also refused with nesting of brackets and dotted keys deeper than 64,
/// and with an outermost array or inline table of more than 4,096 elements (inner ones included) or 64 KiB.
inline constexpr size_t kTomlBytesMax = 1024 * 1024;

/// Reads a document's file, and of one that is too large a byte more than it may have, which parse_toml() then refuses.
/// Errors: NOT_FOUND no such file; INVALID_ARGUMENT it cannot be read.
Result<std::string> read_toml_file(const std::string& path);

/// Parses a whole document. Null if there are problems, which are added: FILE:LINE:COLUMN, what was found and
/// what was expected, one line each. Numbers that do not fit in 64 bits are problems.
/// \param file  for places and messages; nothing is opened
std::optional<RawValue> parse_toml(std::string_view text, const std::string& file, Problems& problems);

/// Parses the text of one value ("[1, 2]"); null if it is none. Its places are all `where`.
std::optional<RawValue> parse_toml_value(std::string_view text, const SourceLocation& where);

}  // namespace atl::lib
