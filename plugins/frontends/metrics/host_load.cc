#include "frontends/metrics/host_load.h"

#include <sys/resource.h>

#include <limits>

namespace atl::frontends::metrics {

void HostLoad::sample() { sample(read_file("/proc/stat"), read_file("/proc/meminfo")); }

void HostLoad::sample(std::string_view stat, std::string_view meminfo) {
  const std::optional<CpuTimes> now = parse_cpu_times(stat);
  std::lock_guard lock(mutex_);
  memory_ = parse_memory_info(meminfo);
  if (!now || !times_) {
    utilization_.reset();
  } else {
    // The idle times of Linux may go back a little.
    const auto busy = now->busy > times_->busy ? static_cast<double>(now->busy - times_->busy) : 0.0;
    const auto idle = now->idle > times_->idle ? static_cast<double>(now->idle - times_->idle) : 0.0;
    if (busy + idle > 0) utilization_ = busy / (busy + idle);
  }
  times_ = now;
}

void HostLoad::write(Page& page) const {
  std::lock_guard lock(mutex_);
  if (utilization_) page.gauge("nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]", *utilization_);
  if (!memory_) return;
  page.gauge("nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes",
             static_cast<double>(memory_->total_bytes));
  page.gauge("nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes",
             static_cast<double>(memory_->used_bytes));
}

void write_process(Page& page) {
  const std::optional<uint64_t> boot_time = parse_boot_time(read_file("/proc/stat"));
  const std::optional<ProcessInfo> info =
      parse_process(read_file("/proc/self/stat"), boot_time.value_or(0), ProcUnits::of_this_machine());
  if (info) {
    page.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
                 info->cpu_seconds);
    page.gauge("process_resident_memory_bytes", "Resident memory size in bytes.",
               static_cast<double>(info->resident_bytes));
    page.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.",
               static_cast<double>(info->virtual_bytes));
    page.gauge("process_threads", "Number of OS threads in the process.", static_cast<double>(info->threads));
  }
  if (info && boot_time) {
    page.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
               info->start_time_sec);
  }
  if (const std::optional<uint64_t> open = count_open_descriptors()) {
    page.gauge("process_open_fds", "Number of open file descriptors.", static_cast<double>(*open));
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    page.gauge("process_max_fds", "Maximum number of open file descriptors.",
               limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<double>::infinity()
                                               : static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace atl::frontends::metrics
