#include "atoll/runtime/problems.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "atoll/runtime/escape.h"

namespace atl::runtime {
namespace {

constexpr size_t kLinesMax = 100;
constexpr size_t kLineBytesMax = 500;
constexpr size_t kWordBytesMax = 64;

/// Levenshtein's distance.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string location_text(const SourceLocation& where) {
  return where.line == 0 ? where.file : cat(where.file, ':', where.line, ':', where.column);
}

void Problems::add_line(std::string_view line) {
  if (++count_ > kLinesMax) return;
  if (!text_.empty()) text_.push_back('\n');
  append_escaped(text_, line.substr(0, kLineBytesMax));
  if (line.size() > kLineBytesMax) text_.append("...");
}

Status Problems::status() const {
  if (count_ == 0) return {};
  if (count_ <= kLinesMax) return invalid_argument(text_);
  return invalid_argument(text_, "\nand ", count_ - kLinesMax, " more problems");
}

void log_lines(Log& log, std::string_view lines) {
  for (size_t end = 0; !lines.empty(); lines.remove_prefix(std::min(end + 1, lines.size()))) {
    end = std::min(lines.find('\n'), lines.size());
    if (end > 0) log.error(lines.substr(0, end));
  }
}

std::string prefix_lines(std::string_view prefix, std::string_view lines) {
  std::string text(prefix);
  for (char c : lines) {
    text.push_back(c);
    if (c == '\n') text.append(prefix);
  }
  return text;
}

std::string on_one_line(std::string lines) {
  for (size_t at = 0; (at = lines.find('\n', at)) != std::string::npos;) lines.replace(at, 1, "; ");
  return lines;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kWordBytesMax) return "";
  std::string_view nearest;
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  for (auto candidate : known) {
    size_t distance = candidate.size() > kWordBytesMax ? best : edit_distance(word, candidate);
    // A word that shares nothing with a short candidate is within two edits of it, and no hint.
    if (distance < best && distance < candidate.size()) best = distance, nearest = candidate;
  }
  return nearest.empty() ? "" : cat(", did you mean '", nearest, "'?");
}

}  // namespace atl::runtime
