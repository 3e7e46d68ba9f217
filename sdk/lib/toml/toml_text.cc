#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <toml.hpp>
#include <tuple>

#include "atoll/lib/toml.h"
#include "text_scan.h"

namespace atl::lib {
namespace {

/// The library reads a number that does not fit as the nearest one that does.
bool fits(const toml::value& value, const std::string& digits) {
  if (value.is_floating())
    return std::isfinite(std::strtod(digits.c_str(), nullptr)) || !std::isfinite(value.as_floating());
  char prefix = digits.size() > 2 && digits[0] == '0' ? digits[1] : '\0';
  int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
  errno = 0;
  (void)std::strtoll(digits.c_str() + (base == 10 ? 0 : 2), nullptr, base);
  return errno != ERANGE;
}

/// Turns the library's tree into ours. Its own line numbers are counted from the start of the text for each
/// value, so places are looked up in an index of lines instead.
class Converter {
 public:
  Converter(std::string_view text, const std::string& file, Problems& problems)
      : text_(text), file_(file), problems_(problems), line_begins_{0} {
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
      line_begins_.push_back(at + 1);
    }
  }
  /// All places are `where`.
  Converter(std::string_view text, const SourceLocation& where, Problems& problems)
      : text_(text), file_(where.file), problems_(problems) {}

  RawValue convert(const toml::value& value) {
    RawValue out;
    out.where = place(begin_of(value));
    switch (value.type()) {
      case toml::value_t::boolean:
        out.data = value.as_boolean();
        break;
      case toml::value_t::integer:
        out.data = static_cast<int64_t>(value.as_integer());
        check_number(value, out);
        break;
      case toml::value_t::floating:
        out.data = value.as_floating();
        check_number(value, out);
        break;
      case toml::value_t::string:
        out.data = value.as_string().str;
        break;
      case toml::value_t::array: {
        auto& array = out.data.emplace<RawValue::Array>();
        for (const auto& element : value.as_array()) array.push_back(convert(element));
        break;
      }
      case toml::value_t::table:
        convert_table(value.as_table(), out.data.emplace<RawValue::Table>());
        break;
      default:
        out.data = RawValue::Time{std::string(source_of(value))};
    }
    return out;
  }

  /// The text a value was parsed from; empty for the document itself.
  std::string_view source_of(const toml::value& value) const {
    const auto* region = region_of(value);
    return region == nullptr ? std::string_view() : text_.substr(begin_of(value), region->size());
  }

 private:
  static const toml::detail::region* region_of(const toml::value& value) {
    return dynamic_cast<const toml::detail::region*>(toml::detail::get_region(value));
  }

  size_t begin_of(const toml::value& value) const {
    const auto* region = region_of(value);
    return region == nullptr ? 0
                             : std::min(static_cast<size_t>(region->first() - region->begin()), text_.size());
  }

  SourceLocation place(size_t offset) const {
    if (line_begins_.empty()) return {file_, 0, 0};
    auto line = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset) - 1;
    return {file_, static_cast<uint32_t>(line - line_begins_.begin() + 1),
            static_cast<uint32_t>(offset - *line + 1)};
  }

  void convert_table(const toml::table& from, RawValue::Table& to) {
    for (const auto& [key, value] : from) to.push_back({key, place(begin_of_key(begin_of(value))), {}});
    std::sort(to.begin(), to.end(), [](const RawValue::Member& a, const RawValue::Member& b) {
      return std::tie(a.where.line, a.where.column, a.key) < std::tie(b.where.line, b.where.column, b.key);
    });
    // Only now, so that problems are told in the order of the text: the library's tables have none.
    for (RawValue::Member& member : to) member.value = convert(from.at(member.key));
  }

  /// The library does not tell where a key stands: walks back from its value over "key = ". A table's own
  /// region begins at its header or key already.
  size_t begin_of_key(size_t value_begin) const {
    std::string_view before = without_blanks(text_.substr(0, value_begin));
    if (!before.ends_with('=')) return value_begin;
    before = without_blanks(before.substr(0, before.size() - 1));
    if (before.ends_with('"') || before.ends_with('\'')) {
      size_t open = before.rfind(before.back(), before.size() - 2);
      return before.size() < 2 || open == std::string_view::npos ? value_begin : open;
    }
    return before.find_last_of(" \t\n.,{") + 1;  // npos + 1 is 0
  }

  static std::string_view without_blanks(std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \t") + 1);
  }

  void check_number(const toml::value& value, const RawValue& out) {
    std::string digits(source_of(value));
    std::erase(digits, '_');
    if (!fits(value, digits))
      problems_.add(out.where, "found number ", digits, ", expected one that fits in 64 bits");
  }

  std::string_view text_;
  std::string file_;
  Problems& problems_;
  std::vector<size_t> line_begins_;  // empty: the text has no places of its own
};

std::string_view trimmed(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(" \t\r"), text.size());
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

/// Whether it is probably a text whose quotes were left out: 8s, info, 127.0.0.1:8000, /srv/models.
bool is_bare_text(std::string_view value) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view kOthers = "0123456789_.:/%*@-";
  const bool is_number = value.starts_with("0x") || value.starts_with("0o") || value.starts_with("0b");
  const bool is_plain = std::ranges::all_of(value, [&](char c) {
    return kLetters.find(c) != std::string_view::npos || kOthers.find(c) != std::string_view::npos;
  });
  const bool has_letter = value.find_first_of(kLetters) != std::string_view::npos;
  return is_plain && !is_number && (has_letter || std::ranges::count(value, '.') > 1);
}

/// What the library's words do not say of the two mistakes that people make most; empty: it is another one.
std::string syntax_hint(std::string_view text, uint32_t line_number) {
  for (uint32_t number = 1; number < line_number && !text.empty(); ++number)
    text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  const std::string_view line = trimmed(text.substr(0, text.find('\n')));
  if (line.starts_with('[')) return line.find(']') == std::string_view::npos ? "; the ']' is missing" : "";
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return "";
  std::string_view value = trimmed(line.substr(equals + 1, line.find('#', equals) - equals - 1));
  // Of a list, its first element.
  if (value.starts_with('[')) value = trimmed(value.substr(1, value.find_first_of(",]", 1) - 1));
  return is_bare_text(value) ? cat("; texts are in quotes: \"", value, "\"") : "";
}

/// The library's report is a drawing of several lines; this makes "FILE:LINE:COLUMN: TITLE, DETAIL" of it.
///     [error] toml::parse_table: invalid line format
///      --> etc/atoll.toml
///        |
///      1 | a = 1 2
///        |       ^--- expected newline, but got '2'.
void add_syntax_problem(const std::string& report, std::string_view text, const std::string& file,
                        Problems& problems) {
  std::istringstream lines(report);
  std::string title, line, detail;
  std::getline(lines, title);
  SourceLocation where{file, 1, 1};
  uint32_t number = 0, first_number = 0;
  while (std::getline(lines, line) && !line.starts_with("Hint:")) {
    size_t bar = line.find(" | ");
    if (bar == std::string::npos) continue;
    if (auto shown = std::strtoul(line.c_str(), nullptr, 10); shown != 0) {
      number = static_cast<uint32_t>(shown);
    } else if (auto marker = line.find_first_of("^~", bar); marker != std::string::npos) {
      if (first_number == 0) first_number = number;
      where = {file, number, static_cast<uint32_t>(marker - bar - 2)};
      detail = line.substr(std::min(line.find_first_not_of("^~- ", marker), line.size()));
    }
  }
  // "[error] toml::parse_table: invalid line format": the function's name says nothing to a reader.
  if (title.starts_with("[error] ")) title.erase(0, 8);
  if (auto colon = title.find(": "); colon != std::string::npos && colon < title.find(' ')) {
    title.erase(0, colon + 2);
  } else if (title.starts_with("toml::")) {
    title = "invalid value";
  }
  title.erase(title.find_last_not_of('.') + 1);
  detail.erase(detail.find_last_not_of('.') + 1);
  if (!detail.empty() && detail != "here") title += cat(", ", detail);
  if (first_number != number) title += cat(" (see line ", first_number, ")");
  problems.add(where, title, syntax_hint(text, where.line));
}

}  // namespace

std::optional<RawValue> parse_toml(std::string_view text, const std::string& file, Problems& problems) {
  if (!scan_text(text, file, problems)) return std::nullopt;
  try {
    std::istringstream stream{std::string(text)};
    RawValue root = Converter(text, file, problems).convert(toml::parse(stream, file));
    return problems.empty() ? std::optional(std::move(root)) : std::nullopt;
  } catch (const std::exception& error) {
    add_syntax_problem(error.what(), text, file, problems);
    return std::nullopt;
  }
}

std::optional<RawValue> parse_toml_value(std::string_view text, const SourceLocation& where) {
  std::string document = cat("v=", text);
  Problems problems;
  if (!scan_text(document, where.file, problems)) return std::nullopt;
  try {
    std::istringstream stream(document);
    auto parsed = toml::parse(stream, where.file);
    Converter converter(document, where, problems);
    // "1 # x" and "1\nw=2" are documents, but not values.
    if (parsed.size() != 1 || converter.source_of(parsed.at("v")).size() != text.size()) return std::nullopt;
    RawValue value = converter.convert(parsed.at("v"));
    return problems.empty() ? std::optional(std::move(value)) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace atl::lib
