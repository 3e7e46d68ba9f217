/// One instance of a plugin, run for a moment outside any server.
#pragma once

#include "atoll/abi/plugin.h"
#include "atoll/runtime/raw_value.h"
#include "report.h"

namespace atl::lint {

/// Has the plugin check these options, else their defaults, creates an instance with them, asks it for all that it provides, starts,
/// stops and destroys it. Problems are a step that failed and a thread or a pass of its gate left behind.
/// Options that the manifest must give get made-up values; that a step fails with them, or that a required
/// service keeps the instance from being started, is a note.
void run_instance(const atoll_plugin_v1_t& descriptor, const runtime::RawValue::Table& settings,
                  Report& report);

}  // namespace atl::lint
