#include "backends/llamacpp/text/stop_text.h"

#include <algorithm>

#include "atoll/core/utf8.h"

namespace atl::llamacpp {
namespace {

/// How many bytes at the end may be the beginning of a character that is not whole yet.
size_t open_bytes(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // not the first one of a character
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

/// If a stop string is whole, cuts what is held at its place.
bool StopText::find_stop() {
  // The one that is whole first counts, of those the longest.
  size_t first_end = std::string::npos, cut = 0;
  for (const std::string& stop : stops_) {
    const size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    const size_t end = at + stop.size();
    if (end > first_end || (end == first_end && at > cut)) continue;
    first_end = end;
    cut = at;
  }
  if (first_end == std::string::npos) return false;
  held_.resize(includes_stop_ ? first_end : cut);
  return true;
}

/// How many of the first bytes cannot be a part of a stop string or of a character that is not whole.
size_t StopText::releasable(bool looks_for_stops) const {
  size_t held_back = open_bytes(held_);
  if (!looks_for_stops) return held_.size() - held_back;
  for (const std::string& stop : stops_) {
    const size_t most = std::min(stop.size() - 1, held_.size());
    for (size_t length = most; length > held_back; --length) {
      if (held_.compare(held_.size() - length, length, stop, 0, length) == 0) {
        held_back = length;
        break;
      }
    }
  }
  return held_.size() - held_back;
}

std::string StopText::take(size_t size) {
  std::string taken = held_.substr(0, size);
  held_.erase(0, size);
  return is_utf8(taken) ? taken : replace_invalid_utf8(taken);
}

std::string StopText::add(std::string_view bytes, bool looks_for_stops) {
  if (is_stopped_) return {};
  held_ += bytes;
  if (looks_for_stops && !stops_.empty() && find_stop()) {
    is_stopped_ = true;
    return take(held_.size());
  }
  return take(releasable(looks_for_stops));
}

std::string StopText::finish() { return take(held_.size()); }

}  // namespace atl::llamacpp
