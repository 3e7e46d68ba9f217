/// Names that become directory entries.
#pragma once

#include <string_view>

#include "atoll/lib/blanks.h"

namespace atl {

/// Whether a name leads to another directory than its own entry would be in: it has a '/', or is "." or "..". So are
/// these with blanks around them: no tool further down can then trim a name into a climb. [any]
constexpr bool leaves_directory(std::string_view name) noexcept {
  const std::string_view trimmed = without_blanks(name);
  return trimmed == "." || trimmed == ".." || name.find('/') != std::string_view::npos;
}

}  // namespace atl
