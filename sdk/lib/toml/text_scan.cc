#include "text_scan.h"

#include <algorithm>
#include <vector>

#include "atoll/core/utf8.h"

namespace atl::lib {
namespace {

constexpr size_t kNestingMax = 64;
constexpr size_t kElementsMax = 4096;
constexpr size_t kBracketBytesMax = 64 * 1024;

/// What is wrong at `at`; empty: nothing, and `at` is the end.
std::string encoding_defect(std::string_view text, size_t& at) {
  while (at < text.size()) {
    size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0) return "found a byte that is not UTF-8, expected TOML in UTF-8";
    if (text[at] == '\0') return "found a NUL byte, expected TOML in UTF-8";
    at += length;
  }
  return "";
}

size_t end_of_string(std::string_view text, size_t at) {
  char quote = text[at];
  std::string quotes(3, quote);
  if (!text.substr(at).starts_with(quotes)) quotes.resize(1);
  for (at += quotes.size(); at < text.size(); ++at) {
    if (text.substr(at).starts_with(quotes) || (quotes.size() == 1 && text[at] == '\n')) break;
    if (quote == '"' && text[at] == '\\') ++at;
  }
  size_t end = std::min(at + quotes.size(), text.size());
  // A multi-line string may end in up to two quotes of its own.
  while (quotes.size() == 3 && end < text.size() && end < at + 5 && text[end] == quote) ++end;
  return end;
}

/// Knows strings and comments, and nothing else of TOML: a text it misreads is malformed, and the parser will
/// say so. Results are as those of encoding_defect().
std::string structure_defect(std::string_view text, size_t& at) {
  std::vector<size_t> depths = {0};  // of every open bracket
  size_t dots = 0;                   // since the last key began
  size_t outermost = 0;              // begin of the outermost open bracket,
  size_t elements = 0;               // and the elements in it
  while (at < text.size()) {
    char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (depths.size() > 1 && (elements > kElementsMax || at - outermost > kBracketBytesMax)) {
      return cat("found an array or inline table of more than ", kElementsMax,
                 " elements or 64 KiB, expected at most that much");
    }
    if (c == '[' || c == '{') {
      if (depths.size() == 1) outermost = at, elements = 1;
      depths.push_back(depths.back() + dots + 1);
    }
    if ((c == ']' || c == '}') && depths.size() > 1) depths.pop_back();
    if (c == ',') ++elements;
    dots = c == '.' ? dots + 1 : std::string_view("[]{},\n").find(c) != std::string_view::npos ? 0 : dots;
    if (depths.back() + dots > kNestingMax) {
      return cat("found nesting deeper than ", kNestingMax, " levels, expected at most that many");
    }
    ++at;
  }
  return "";
}

}  // namespace

bool scan_text(std::string_view text, const std::string& file, Problems& problems) {
  if (text.size() > kTomlBytesMax) {
    problems.add_line(cat(file, ": found more than 1 MiB of text, expected at most that much"));
    return false;
  }
  size_t at = 0;
  std::string defect = encoding_defect(text, at);
  if (defect.empty()) defect = structure_defect(text, at = 0);
  if (defect.empty()) return true;
  auto before = text.substr(0, at);
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  problems.add({file, static_cast<uint32_t>(line), static_cast<uint32_t>(column)}, defect);
  return false;
}

}  // namespace atl::lib
