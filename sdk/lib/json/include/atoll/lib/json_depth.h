/// How deep the objects and lists of a JSON text lie in each other.
#pragma once

#include <cstddef>
#include <string_view>

namespace atl {

/// Looks at brackets outside of strings only, so the text need not be JSON: to be asked before a parser is.
inline bool is_json_deeper_than(std::string_view json, size_t most) noexcept {
  size_t levels = 0;
  bool in_quotes = false;
  for (size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (in_quotes) {
      if (c == '\\') ++at;
      in_quotes = c != '"';
    } else if (c == '"') {
      in_quotes = true;
    } else if (c == '{' || c == '[') {
      if (++levels > most) return true;
    } else if ((c == '}' || c == ']') && levels > 0) {
      --levels;
    }
  }
  return false;
}

}  // namespace atl
