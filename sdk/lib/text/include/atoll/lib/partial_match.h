/// What may become a word that is looked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace atl {

/// How many bytes at the end of the text begin the word; not all of it. \param word  not empty
inline size_t partial_match(std::string_view text, std::string_view word) noexcept {
  for (size_t size = std::min(text.size(), word.size() - 1); size > 0; --size) {
    if (text.substr(text.size() - size) == word.substr(0, size)) return size;
  }
  return 0;
}

}  // namespace atl
