/// Names that become directory entries.
#pragma once

#include <string_view>

namespace atl {

/// Without the blanks at both ends; empty if it has nothing else. Borrowed from the text. [any]
constexpr std::string_view without_blanks(std::string_view text) noexcept {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

/// Whether a name leads to another directory than its own entry would be in: it has a '/', or is "." or "..". So are
/// these with blanks around them: no tool further down can then trim a name into a climb. [any]
constexpr bool leaves_directory(std::string_view name) noexcept {
  const std::string_view trimmed = without_blanks(name);
  return trimmed == "." || trimmed == ".." || name.find('/') != std::string_view::npos;
}

}  // namespace atl
