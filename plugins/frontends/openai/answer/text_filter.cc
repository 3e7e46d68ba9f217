#include "frontends/openai/answer/text_filter.h"

#include <algorithm>
#include <utility>

#include "frontends/openai/answer/partial_match.h"

namespace atl::frontends::openai {
namespace {

/// Bytes at the end that begin a UTF-8 character and are not all of it.
size_t unfinished_character(std::string_view text) noexcept {
  const size_t most = std::min<size_t>(text.size(), 3);
  for (size_t size = 1; size <= most; ++size) {
    const auto byte = static_cast<unsigned char>(text[text.size() - size]);
    if ((byte & 0xC0u) == 0x80u) continue;  // not the first byte of one
    const size_t whole = byte >= 0xF0u ? 4 : byte >= 0xE0u ? 3 : byte >= 0xC0u ? 2 : 1;
    return whole > size ? size : 0;
  }
  return 0;
}

}  // namespace

std::string TextFilter::add(std::string_view piece) {
  if (is_stopped()) return {};
  held_ += piece;
  // Of several the one that is whole first, as if the text had come byte by byte.
  size_t begin = std::string::npos, end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t found = held_.find(stop);
    if (found == std::string::npos || std::pair(found + stop.size(), found) >= std::pair(end, begin))
      continue;
    begin = found;
    end = found + stop.size();
  }
  if (begin != std::string::npos) {
    stop_ = held_.substr(begin, end - begin);
    held_.resize(includes_stop_ ? end : begin);
    return std::exchange(held_, {});
  }
  size_t kept = unfinished_character(held_);
  for (const std::string& stop : stops_) kept = std::max(kept, partial_match(held_, stop));
  std::string out = held_.substr(0, held_.size() - kept);
  held_.erase(0, out.size());
  return out;
}

std::string TextFilter::finish() { return std::exchange(held_, {}); }

}  // namespace atl::frontends::openai
