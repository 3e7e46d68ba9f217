/// Where a thread may run, applied to the calling thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/status.h"

namespace atl::runtime {

/// A ThreadPlacement that owns its cores.
struct OwnedPlacement {
  explicit OwnedPlacement(const ThreadPlacement& from)
      : nice(from.nice), cpu_cores(from.cpu_cores.begin(), from.cpu_cores.end()), numa_node(from.numa_node) {}
  int32_t nice;
  std::vector<uint32_t> cpu_cores;
  int32_t numa_node;
};

/// Names the calling thread (cut at 15 bytes) and moves it. A niced one without cores keeps off the first CPU
/// of the process, if there are others. Errors: INVALID_ARGUMENT nice outside 0..19, a core or node that does
/// not exist or may not be used.
Status place_this_thread(std::string_view name, const OwnedPlacement& placement);

}  // namespace atl::runtime
