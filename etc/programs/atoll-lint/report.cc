#include "report.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "atoll/core/text.h"

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

bool read_report(int descriptor, LintFindings& into, std::chrono::milliseconds hangs_after,
                 std::chrono::milliseconds step_most) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun = Clock::now();
  auto end_step = [&] {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
    const std::string step = into.last_step();
    const std::chrono::milliseconds most = step == "loading" ? kLoadingMost : step_most;
    begun = Clock::now();
    if (step.empty() || took <= most) return;
    into.problem(cat(step, " takes more than ", most.count(),
                     " ms, which is the limit: who loads it stands still meanwhile"));
  };
  auto take = [&](std::string_view line) {
    if (line[0] == 'P') into.problem(line.substr(1));
    if (line[0] == 'N') into.note(line.substr(1));
    if (line[0] != 'S') return;
    end_step();
    into.step(line.substr(1));
  };
  std::string text;
  char buffer[4096];
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(begun + hangs_after - Clock::now());
    pollfd ready{descriptor, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::max<int64_t>(0, left.count()))) == 0) return false;
    const ssize_t size = ::read(descriptor, buffer, sizeof buffer);
    if (size <= 0) break;
    text.append(buffer, static_cast<size_t>(size));
    const size_t whole = text.rfind('\n') + 1;  // 0: there is none
    each_line(std::string_view(text).substr(0, whole), take);
    text.erase(0, whole);
  }
  each_line(text, take);
  end_step();
  return true;
}

}  // namespace atl::lint
