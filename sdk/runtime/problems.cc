#include "atoll/runtime/problems.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "atoll/core/quantity.h"
#include "atoll/runtime/escape.h"

namespace atl::runtime {
namespace {

constexpr size_t kLinesMax = 100;
constexpr size_t kLineBytesMax = 500;
constexpr size_t kWordBytesMax = 64;
constexpr size_t kCutBytesMin = 4, kStemBytesMin = 3;

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

/// Whether it is a number of any size with one of the units.
bool has_form(std::string_view text, std::span<const quantity_detail::Unit> units) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto is_unit = [&](const quantity_detail::Unit& unit) { return unit.name == text.substr(digits); };
  return digits > 0 && std::any_of(units.begin(), units.end(), is_unit);
}

size_t common_start(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

std::string location_text(const SourceLocation& where) {
  return where.line == 0 ? where.file : cat(where.file, ':', where.line, ':', where.column);
}

void Problems::add_at(const SourceLocation& where, std::string_view whole) {
  std::string text(whole);
  // "--set KEY: KEY: found ..." names the key once.
  const std::string key = cat(where.file.substr(where.file.rfind(' ') + 1), ": ");
  if (where.line == 0 && where.file.ends_with(' ' + key.substr(0, key.size() - 2)) &&
      text.starts_with(cat(where.file, ": ", key))) {
    text.erase(where.file.size() + 2, key.size());
  }
  if (++count_ > kLinesMax) return;
  constexpr uint32_t kLast = std::numeric_limits<uint32_t>::max();
  Line& line = lines_.emplace_back(Line{where.line == 0 ? kLast : where.line, where.column, {}});
  append_escaped(line.text, std::string_view(text).substr(0, kLineBytesMax));
  if (text.size() > kLineBytesMax) line.text.append("...");
}

void Problems::add_lines(const SourceLocation& where, std::string_view prefix, std::string_view lines) {
  for (size_t at = 0, end = 0; end != std::string_view::npos; at = end + 1) {
    end = lines.find('\n', at);
    add(where, prefix, lines.substr(at, end - at));
  }
}

Status Problems::status(Code code) const {
  if (count_ == 0) return {};
  std::vector<const Line*> ordered;
  for (const Line& line : lines_) ordered.push_back(&line);
  std::stable_sort(ordered.begin(), ordered.end(), [](const Line* a, const Line* b) {
    return std::tie(a->line, a->column) < std::tie(b->line, b->column);
  });
  std::string text;
  if (ordered.size() > kLinesMax) ordered.resize(kLinesMax);
  for (const Line* line : ordered) text += cat(text.empty() ? "" : "\n", line->text);
  if (count_ > kLinesMax) text += cat("\nand ", count_ - kLinesMax, " more problems");
  return Status(code, std::move(text));
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

std::string_view duration_limit_text(std::string_view text) {
  const bool is_too_long = !parse_duration_ns(text) && has_form(text, quantity_detail::kTimeUnits);
  return is_too_long ? ", at most 2562047h" : "";
}

std::string_view bytes_limit_text(std::string_view text) {
  const bool is_too_large = !parse_bytes(text) && has_form(text, quantity_detail::kByteUnits);
  return is_too_large ? ", at most 16777215TiB" : "";
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kWordBytesMax) return "";
  std::string_view nearest;
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  size_t best_start = 0;
  for (auto candidate : known) {
    if (candidate.size() > kWordBytesMax) continue;
    const size_t start = common_start(word, candidate);
    // What was cut short is a hint of one edit: "backends/onnx" for "backends/onnxruntime".
    const bool is_cut = start == word.size() && start >= kCutBytesMin && candidate.size() > start;
    // So is one with an ending: "loging" for "log".
    const bool is_longer =
        start == candidate.size() && start >= kStemBytesMin && word.size() <= 2 * candidate.size();
    const size_t distance = is_cut || is_longer ? 1 : edit_distance(word, candidate);
    // A word that shares nothing with a short candidate is within two edits of it, and no hint.
    if (distance >= candidate.size() || distance > best) continue;
    // Of several that are as near, the one that begins alike: TYPE_FP32 for TYPE_FLOAT32, not TYPE_UINT32.
    if (distance == best && (nearest.empty() || start <= best_start)) continue;
    best = distance, best_start = start, nearest = candidate;
  }
  return nearest;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view nearest = nearest_word(word, known);
  return nearest.empty() ? "" : cat(", did you mean '", nearest, "'?");
}

}  // namespace atl::runtime
