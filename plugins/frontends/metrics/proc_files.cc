#include "frontends/metrics/proc_files.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

namespace atl::frontends::metrics {
namespace {

/// The next number after blanks, taken from the text.
std::optional<uint64_t> take_number(std::string_view* text) noexcept {
  const size_t begin = text->find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  const char* last = text->data() + text->size();
  auto [end, error] = std::from_chars(text->data() + begin, last, value);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return value;
}

/// The rest of the first line that begins so.
std::optional<std::string_view> line_after(std::string_view text, std::string_view begin) noexcept {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(begin)) return line.substr(begin.size());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

std::optional<uint64_t> number_after(std::string_view text, std::string_view begin) noexcept {
  std::optional<std::string_view> rest = line_after(text, begin);
  return rest ? take_number(&*rest) : std::nullopt;
}

}  // namespace

ProcUnits ProcUnits::of_this_machine() noexcept {
  return {static_cast<double>(sysconf(_SC_CLK_TCK)), static_cast<uint64_t>(sysconf(_SC_PAGESIZE))};
}

std::optional<CpuTimes> parse_cpu_times(std::string_view text) noexcept {
  std::optional<std::string_view> line = line_after(text, "cpu ");
  if (!line) return std::nullopt;
  // user nice system idle iowait irq softirq steal
  uint64_t fields[8];
  for (uint64_t& field : fields) {
    std::optional<uint64_t> value = take_number(&*line);
    if (!value) return std::nullopt;
    field = *value;
  }
  return CpuTimes{fields[0] + fields[1] + fields[2] + fields[5] + fields[6] + fields[7],
                  fields[3] + fields[4]};
}

std::optional<uint64_t> parse_boot_time(std::string_view text) noexcept {
  return number_after(text, "btime ");
}

std::optional<MemoryInfo> parse_memory_info(std::string_view text) noexcept {
  constexpr uint64_t kMaxKib = UINT64_MAX / 1024;
  const std::optional<uint64_t> total = number_after(text, "MemTotal:");
  const std::optional<uint64_t> available = number_after(text, "MemAvailable:");
  if (!total || !available || *total > kMaxKib || *available > *total) return std::nullopt;
  return MemoryInfo{*total * 1024, (*total - *available) * 1024};
}

std::optional<ProcessInfo> parse_process(std::string_view text, uint64_t boot_time_sec,
                                         const ProcUnits& units) noexcept {
  // The second field is the program's name in parentheses, and may have any character in it.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 3 > text.size()) return std::nullopt;
  text.remove_prefix(name_end + 3);  // and the state, which is a letter
  uint64_t fields[25] = {};
  for (size_t i = 4; i < std::size(fields); ++i) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin);
    const size_t length = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, length);
    int64_t negative = 0;
    // Some fields can be negative; none that matters here.
    if (word.starts_with('-')) {
      if (std::from_chars(word.data(), word.data() + word.size(), negative).ec != std::errc())
        return std::nullopt;
    } else if (std::from_chars(word.data(), word.data() + word.size(), fields[i]).ec != std::errc()) {
      return std::nullopt;
    }
    text.remove_prefix(length);
  }
  // The numbers are those of proc(5).
  ProcessInfo info;
  info.cpu_seconds = static_cast<double>(fields[14] + fields[15]) / units.ticks_per_second;
  info.threads = fields[20];
  info.start_time_sec =
      static_cast<double>(boot_time_sec) + static_cast<double>(fields[22]) / units.ticks_per_second;
  info.virtual_bytes = fields[23];
  info.resident_bytes = fields[24] * units.page_bytes;
  return info;
}

std::string read_file(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::optional<uint64_t> count_open_descriptors() noexcept {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), &closedir);
  if (folder == nullptr) return std::nullopt;
  uint64_t count = 0;
  while (const dirent* entry = readdir(folder.get())) count += entry->d_name[0] != '.';
  return count - 1;  // without the folder's own
}

}  // namespace atl::frontends::metrics
