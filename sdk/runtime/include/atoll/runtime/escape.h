/// Makes text from outside safe to print: one record stays one line and a terminal sees no commands.
#pragma once

#include <string>
#include <string_view>

namespace atl::runtime {

/// Appends `text` with control characters, Unicode line separators and direction overrides as \n, \t, \x1b or
/// \u2028, and bytes that are not UTF-8 as \xff. All else, a backslash too, is copied.
void append_escaped(std::string& out, std::string_view text);

/// Appends the inside of a JSON string; bytes that are not UTF-8 become U+FFFD.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace atl::runtime
