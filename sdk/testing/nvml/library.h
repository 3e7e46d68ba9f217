/// What the double is, between calls.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "atoll/gpu/nvml.h"
#include "atoll/testing/gpu/nvml_double.h"

namespace atl::nvml_double {

struct Gpu {
  std::string uuid;  ///< "GPU-…"
  std::string pci_id;
  uint64_t memory_bytes = 0;
  uint64_t values[test::kNvmlDoubleValues] = {};

  uint64_t value(test::NvmlDoubleValue which) const { return values[static_cast<uint32_t>(which)]; }
};

struct PlannedFailure {
  std::string function;
  uint64_t nth = 0;  ///< of those to come; 0: all
  NvmlResult code = NvmlResult::SUCCESS;
};

struct Library {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Gpu> gpus;
  bool is_read = false;  ///< the environment
  uint64_t initialised = 0;
  bool holds = false;
  std::vector<PlannedFailure> failures;
  std::map<std::string, uint64_t, std::less<>> calls;
  uint64_t all_calls = 0;
  std::set<std::string> misuses;
};

/// Never destroyed: threads may call while the process ends.
Library& library();

/// With the mutex held. Ends the process where a variable has no value that it may have.
NvmlResult read_environment(Library& all);

/// What tests script it with.
const test::NvmlDouble& control() noexcept;

}  // namespace atl::nvml_double
