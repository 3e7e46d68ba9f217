/// The life of a plugin instance as a table.
#pragma once

#include <string_view>

#include "atoll/core/events.h"

namespace atl::runtime {

using InstanceState = PluginStateChanged::State;

/// "active"
std::string_view state_name(InstanceState state);
/// May `from` be followed by `to`?
bool may_follow(InstanceState from, InstanceState to);

}  // namespace atl::runtime
