/// Options of launchers/kubernetes, read and checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "launchers/common/instance_command.h"
#include "launchers/kubernetes/cluster_access.h"
#include "launchers/kubernetes/pod_spec.h"

namespace atl::launchers {

struct KubernetesSettings {
  std::string state_directory;
  ClusterAccess access;  ///< with a namespace
  PodSettings pods;      ///< without the keeper
  std::map<std::string, InstanceCommand> runtimes;
  std::string default_runtime;
  bool shared_memory = false;  ///< clients of servers may register regions
  bool keeper_lease = false;   ///< pods are made and ended by whoever holds a lease
  int64_t queue_timeout_ns = 0;
  int64_t call_timeout_ns = 0;
  int64_t watch_silence_ns = 0;

  /// Errors: INVALID_ARGUMENT names the option.
  static void check(OptionCheck& check);
  static Result<KubernetesSettings> read(const Options& options);
};

}  // namespace atl::launchers
