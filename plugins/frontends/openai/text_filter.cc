#include "frontends/openai/text_filter.h"

#include <algorithm>
#include <utility>

namespace atl::frontends::openai {
namespace {

/// Bytes at the end that begin a stop string.
size_t possible_stop(std::string_view text, std::string_view stop) noexcept {
  for (size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size) {
    if (text.substr(text.size() - size) == stop.substr(0, size)) return size;
  }
  return 0;
}

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
  if (is_stopped_) return {};
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
    is_stopped_ = true;
    held_.resize(begin);
    return std::exchange(held_, {});
  }
  size_t kept = unfinished_character(held_);
  for (const std::string& stop : stops_) kept = std::max(kept, possible_stop(held_, stop));
  std::string out = held_.substr(0, held_.size() - kept);
  held_.erase(0, out.size());
  return out;
}

std::string TextFilter::finish() { return std::exchange(held_, {}); }

}  // namespace atl::frontends::openai
