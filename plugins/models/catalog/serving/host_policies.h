/// Host policies: which cores and NUMA node the instances use that name them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "atoll/core/status.h"

namespace atl::models {

struct HostPolicy {
  std::vector<uint32_t> cpu_cores;  ///< ascending; empty: all
  int32_t numa_node = -1;           ///< -1: any
};

/// By name: "cpu", "model" and "gpu_<id>" are those of instances that name none.
using HostPolicies = std::map<std::string, HostPolicy, std::less<>>;

/// From "<policy>.<setting>" = "<value>", with the settings "numa-node" (a number) and "cpu-cores"
/// ("0-3,8-11"; one core stands for itself). Errors: INVALID_ARGUMENT.
Result<HostPolicies> read_host_policies(const std::map<std::string, std::string>& settings);

}  // namespace atl::models
