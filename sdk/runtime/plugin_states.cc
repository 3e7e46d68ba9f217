#include "atoll/runtime/plugin_states.h"

#include <cstdint>

namespace atl::runtime {
namespace {

using enum PluginStateChanged::State;

constexpr std::string_view kStateNames[] = {"declared", "resolved", "loaded",    "created",  "active",
                                            "draining", "stopped",  "destroyed", "unloaded", "failed"};

}  // namespace

std::string_view state_name(InstanceState state) { return kStateNames[static_cast<uint32_t>(state)]; }

bool may_follow(InstanceState from, InstanceState to) {
  switch (to) {
    case kDeclared:
      return false;
    case kResolved:
      return from == kDeclared;
    case kLoaded:
      return from == kResolved;
    case kCreated:
      return from == kLoaded;
    case kActive:
      return from == kCreated;
    case kDraining:
      return from == kActive;
    case kStopped:
      return from == kDraining;
    case kDestroyed:
      return from == kStopped || from == kCreated;
    case kUnloaded:
      return from == kDestroyed || from == kLoaded;
    case kFailed:
      return from <= kCreated;
  }
  return false;
}

}  // namespace atl::runtime
