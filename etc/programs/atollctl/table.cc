#include "table.h"

#include <algorithm>

#include "atoll/runtime/escape.h"

namespace atl::ctl {
namespace {

/// Characters, not bytes, of UTF-8.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string line;
  runtime::append_escaped(line, text);
  return line;
}

std::string bar(uint64_t used, uint64_t all, size_t width) {
  // Something is seen of whatever is used, and nothing looks full that is not.
  const double share = all == 0 ? 0 : static_cast<double>(std::min(used, all)) / static_cast<double>(all);
  auto filled = static_cast<size_t>(share * static_cast<double>(width));
  if (used > 0 && filled == 0) filled = 1;
  return '[' + std::string(filled, '#') + std::string(width - filled, '.') + ']';
}

void Table::print(std::ostream& out, Format format) const {
  std::vector<std::vector<std::string>> lines;
  if (format == Format::kTable) lines.push_back(header_);
  for (const std::vector<std::string>& row : rows_) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const std::string& text : row) line.push_back(escaped(text));
  }
  std::vector<size_t> widths(header_.size());
  for (const std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  for (const std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const bool is_last = i + 1 == line.size();
      out << line[i];
      if (is_last) continue;
      out << (format == Format::kTable ? std::string(widths[i] + 2 - width_of(line[i]), ' ') : "\t");
    }
    out << '\n';
  }
}

}  // namespace atl::ctl
