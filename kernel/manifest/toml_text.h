/// Private to the manifest's sources: TOML text to a tree of values. The only part that knows the TOML
/// library.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "atoll/runtime/raw_value.h"

namespace atl::kernel {

/// Parses a whole document, after scan_text(). Null if there are problems, which are added.
std::optional<runtime::RawValue> parse_toml(std::string_view text, const std::string& file,
                                            runtime::Problems& problems);

/// Parses the text of one value ("[1, 2]"); null if it is none. Its places are all `where`.
std::optional<runtime::RawValue> parse_toml_value(std::string_view text,
                                                  const runtime::SourceLocation& where);

}  // namespace atl::kernel
