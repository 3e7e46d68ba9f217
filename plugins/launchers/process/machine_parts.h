/// Parts of the machine that servers have for themselves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/pools/launcher.h"

namespace atl::launchers {

struct MachineParts {
  std::vector<uint32_t> cpu_cores;
  std::vector<std::string> gpus;  ///< as CUDA_VISIBLE_DEVICES has them
  uint64_t memory_bytes = 0;
};

/// Who has what. [one thread at a time]
class MachineBook {
 public:
  explicit MachineBook(const MachineParts& all);

  /// The first ones that are free. Errors, after which nobody has more: RESOURCE_EXHAUSTED others have them;
  /// INVALID_ARGUMENT the machine has not as many.
  Result<MachineParts> take(const ServerSpec& server);
  /// Those of a server that runs already, whoever else has them.
  void take(const MachineParts& parts);
  void give_back(const MachineParts& parts);

 private:
  /// Parts of a kind, and how many servers have each.
  template <class Part>
  using Users = std::map<Part, uint32_t>;

  Users<uint32_t> cores_;
  Users<std::string> gpus_;
  const uint64_t memory_bytes_;
  uint64_t taken_bytes_ = 0;
};

}  // namespace atl::launchers
