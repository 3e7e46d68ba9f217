/// Readings of Linux' /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atl::frontends::metrics {

/// Clock ticks of all processors together since the machine started.
struct CpuTimes {
  uint64_t busy = 0;  ///< user, nice, system, irq, softirq, steal
  uint64_t idle = 0;  ///< idle, iowait
};
/// The machine's memory, in bytes.
struct MemoryInfo {
  uint64_t total_bytes = 0;
  uint64_t used_bytes = 0;  ///< total without what is available
};
struct ProcessInfo {
  double cpu_seconds = 0;
  double start_time_sec = 0;  ///< Unix time
  uint64_t virtual_bytes = 0;
  uint64_t resident_bytes = 0;
  uint64_t threads = 0;
};

/// How the kernel counts; a parameter, so that texts of other machines can be read.
struct ProcUnits {
  double ticks_per_second;
  uint64_t page_bytes;
  static ProcUnits of_this_machine() noexcept;
};

// Nothing, if the text is not as expected.
/// \param text  of /proc/stat
std::optional<CpuTimes> parse_cpu_times(std::string_view text) noexcept;
/// When the machine started, Unix time. \param text  of /proc/stat
std::optional<uint64_t> parse_boot_time(std::string_view text) noexcept;
/// \param text  of /proc/meminfo
std::optional<MemoryInfo> parse_memory_info(std::string_view text) noexcept;
/// \param text  of /proc/<pid>/stat. \param boot_time_sec  see above
std::optional<ProcessInfo> parse_process(std::string_view text, uint64_t boot_time_sec,
                                         const ProcUnits& units) noexcept;

/// The whole file; empty if there is none.
std::string read_file(const char* path);
/// Nothing if the folder cannot be read.
std::optional<uint64_t> count_open_descriptors() noexcept;

}  // namespace atl::frontends::metrics
