/// Private to this folder: what must hold before a recursive parser may see the text.
#pragma once

#include <string>
#include <string_view>

#include "atoll/lib/toml.h"

namespace atl::lib {

/// Checks, in constant stack: size, UTF-8, nesting of brackets and dotted keys (64), and of each outermost
/// array or inline table the elements (4,096, inner ones included) and the text (64 KiB), because the
/// parser's time grows with their product. The first defect found is added to `problems`. \returns true if
/// there is none.
bool scan_text(std::string_view text, const std::string& file, Problems& problems);

}  // namespace atl::lib
