/// Options of pools/leases, read and checked.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "pools/leases/book/definitions.h"
#include "pools/leases/book/pool_context.h"
#include "pools/leases/servers/http_instance_models.h"
#include "pools/leases/servers/instance_tls.h"

namespace atl::pools {

struct PluginSettings {
  std::string state_directory;  ///< absolute
  PoolSettings pools;
  HttpModelHostSettings host;
  InstanceTlsSettings tls;
  UseSettings use;
  int64_t use_interval_ns = kNsPerSecond;  ///< between two looks at what leases are used for
  std::vector<PoolDefinition> declared;    ///< pools that are there from the start, by name

  /// Errors: INVALID_ARGUMENT names the option.
  static void check(OptionCheck& check);
  static Result<PluginSettings> read(const Options& options);
};

}  // namespace atl::pools
