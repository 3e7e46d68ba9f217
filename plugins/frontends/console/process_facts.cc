#include "frontends/console/process_facts.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "atoll/core/text.h"

namespace atl::frontends::console {

double cpu_seconds() noexcept {
  rusage used{};
  (void)getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

uint64_t resident_bytes() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

ProcessStart process_start(int64_t wall_ms) {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The name of the process, in parentheses, may have anything in it. Field 22 is the 20th behind it.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {cat(getpid()), 0};
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 19; ++i) fields >> field;
  int64_t ticks = 0;
  if (!(fields >> ticks)) return {cat(getpid()), 0};
  timespec up{};
  if (clock_gettime(CLOCK_BOOTTIME, &up) != 0) return {cat(getpid(), "-", ticks), 0};
  const int64_t up_ms = up.tv_sec * 1000 + up.tv_nsec / 1'000'000;
  const int64_t begun_ms = ticks * 1000 / sysconf(_SC_CLK_TCK);
  return {cat(getpid(), "-", ticks), wall_ms - (up_ms - begun_ms)};
}

}  // namespace atl::frontends::console
