/// Collects everything that is wrong with what an operator or a plugin's author wrote, to be told at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/status.h"

namespace atl::runtime {

/// Where a key or value stands; line 0: not in a file (an override), then `file` says which ("--set
/// plugin.a.b").
struct SourceLocation {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
};

/// "FILE:LINE:COLUMN", or the override's own words.
std::string location_text(const SourceLocation& where);

/// One line each, safe to print: control characters are escaped, lines are cut at 500 bytes and only the
/// first 100 are kept.
class Problems {
 public:
  template <class... Parts>
  void add(const SourceLocation& where, const Parts&... parts) {
    add_at(where, cat(location_text(where), ": ", parts...));
  }
  void add_line(std::string_view line) { add_at({}, line); }
  /// One for each of the lines, after the prefix.
  void add_lines(const SourceLocation& where, std::string_view prefix, std::string_view lines);
  void add_all(const Problems& others) {
    lines_.insert(lines_.end(), others.lines_.begin(), others.lines_.end());
    count_ += others.count_;
  }
  bool empty() const { return count_ == 0; }
  /// \param code  of the failure
  /// \returns a failure with all lines, those of a file in its order and then the others; or OK
  Status status(Code code = Code::kInvalidArgument) const;

 private:
  struct Line {
    uint32_t line, column;
    std::string text;
  };
  void add_at(const SourceLocation& where, std::string_view text);

  std::vector<Line> lines_;
  size_t count_ = 0;
};

/// An error record for each line.
void log_lines(Log& log, std::string_view lines);
/// Each of the lines after the prefix.
std::string prefix_lines(std::string_view prefix, std::string_view lines);
/// The lines joined by "; ".
std::string on_one_line(std::string lines);

/// ", at most 2562047h" for a text that parse_duration_ns() has refused only because it is too long; else empty.
std::string_view duration_limit_text(std::string_view text);
/// ", at most 16777215TiB" for a text that parse_bytes() has refused only because it is too large; else empty.
std::string_view bytes_limit_text(std::string_view text);

/// The known word that a misspelt one is a few edits away from, or was cut short of; empty: there is none.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);
/// ", did you mean 'address'?" if there is such a word; else empty.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

}  // namespace atl::runtime
