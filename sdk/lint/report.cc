#include "report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace atl::lint {
namespace {

template <class Visit>
void each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

void LintFindings::add(std::vector<std::string>& lines, std::string_view text) {
  each_line(text, [&](std::string_view line) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.emplace_back(line);
  });
}

void PipeReport::write(char kind, std::string_view text) {
  each_line(text, [&](std::string_view line) {
    ::dprintf(descriptor_, "%c%.*s\n", kind, static_cast<int>(line.size()), line.data());
  });
}

void read_report(int descriptor, Report& into) {
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = ::read(descriptor, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  each_line(text, [&](std::string_view line) {
    if (line[0] == 'P') into.problem(line.substr(1));
    if (line[0] == 'N') into.note(line.substr(1));
    if (line[0] == 'S') into.step(line.substr(1));
  });
}

}  // namespace atl::lint
