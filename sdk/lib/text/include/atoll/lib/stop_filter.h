/// What of a text that is generated piece by piece may go to the client already.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/lib/partial_match.h"

namespace atl {

/// Bytes at the end of the text that begin a UTF-8 character and are not all of it.
inline size_t unfinished_utf8(std::string_view text) noexcept {
  const size_t most = std::min<size_t>(text.size(), 3);
  for (size_t size = 1; size <= most; ++size) {
    const auto byte = static_cast<unsigned char>(text[text.size() - size]);
    if ((byte & 0xC0u) == 0x80u) continue;  // not the first byte of one
    const size_t whole = byte >= 0xF0u ? 4 : byte >= 0xE0u ? 3 : byte >= 0xC0u ? 2 : 1;
    return whole > size ? size : 0;
  }
  return 0;
}

/// Holds back what may be the beginning of a stop string, or of a UTF-8 character that is not whole. Of several stop strings the one
/// that is whole first counts, as if the text had come byte by byte; of those the longest. Bytes that are no UTF-8 go out as they are.
class StopFilter {
 public:
  /// \param stops  none of them empty
  /// \param includes_stop  the stop string goes out, too; what is behind it never does
  explicit StopFilter(std::vector<std::string> stops, bool includes_stop = false)
      : stops_(std::move(stops)), includes_stop_(includes_stop) {}

  /// \param looks_for_stops  false: a stop string in what is held is text like any other
  /// \returns what may go out now
  std::string add(std::string_view piece, bool looks_for_stops = true) {
    if (is_stopped()) return {};
    held_ += piece;
    if (looks_for_stops && cut_at_stop()) return std::exchange(held_, {});
    size_t kept = unfinished_utf8(held_);
    for (const std::string& stop : stops_) {
      if (looks_for_stops) kept = std::max(kept, partial_match(held_, stop));
    }
    std::string out = held_.substr(0, held_.size() - kept);
    held_.erase(0, out.size());
    return out;
  }
  /// The end: what was held back and is no stop string.
  std::string finish() { return std::exchange(held_, {}); }
  /// A stop string has come: nothing more goes out.
  bool is_stopped() const noexcept { return !stop_.empty(); }
  /// The stop string that has come; empty: none.
  const std::string& stop() const noexcept { return stop_; }

 private:
  bool cut_at_stop() {
    size_t begin = std::string::npos, end = std::string::npos;
    for (const std::string& stop : stops_) {
      const size_t found = held_.find(stop);
      if (found == std::string::npos || std::pair(found + stop.size(), found) >= std::pair(end, begin))
        continue;
      begin = found;
      end = found + stop.size();
    }
    if (begin == std::string::npos) return false;
    stop_ = held_.substr(begin, end - begin);
    held_.resize(includes_stop_ ? end : begin);
    return true;
  }

  std::vector<std::string> stops_;
  const bool includes_stop_;
  std::string held_;
  std::string stop_;
};

}  // namespace atl
