/// One instance of a plugin, run for a moment outside any server.
#pragma once

#include <string>
#include <vector>

#include "atoll/abi/plugin.h"

namespace atl::lint {

/// Creates an instance with the default options, starts it, stops and destroys it, and adds what went wrong:
/// a step that failed, a thread or a pass of its gate left behind. Options that the manifest must give leave
/// nothing to create, and a required service nothing to start: those steps are left out, without complaint.
void run_instance(const atoll_plugin_v1_t& descriptor, std::vector<std::string>& problems);

}  // namespace atl::lint
