/// Processor and memory use of the machine and of this process.
#pragma once

#include <mutex>
#include <optional>
#include <string_view>

#include "frontends/metrics/page.h"
#include "frontends/metrics/proc_files.h"

namespace atl::frontends::metrics {

/// nv_cpu_*: sampled at intervals, shown as of the last sample. [any]
class HostLoad {
 public:
  /// Reads /proc/stat and /proc/meminfo.
  void sample();
  /// The same with given contents. What cannot be read is not shown until it can be again.
  void sample(std::string_view stat, std::string_view meminfo);
  /// The utilization is that between the last two samples, so there is none after the first.
  void write(Page& page) const;

 private:
  mutable std::mutex mutex_;
  std::optional<CpuTimes> times_;
  std::optional<double> utilization_;
  std::optional<MemoryInfo> memory_;
};

/// process_*, read now.
void write_process(Page& page);

}  // namespace atl::frontends::metrics
