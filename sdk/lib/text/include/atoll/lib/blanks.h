/// Blanks around texts.
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

}  // namespace atl
