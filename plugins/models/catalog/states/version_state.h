/// The states of a model version and which may follow which.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/models/model.h"

namespace atl::models {

/// What clients and events see of it is to_model_state().
enum class VersionState : uint32_t {
  kUnknown,    ///< nothing has happened to it yet
  kLoading,    ///< for the first time, or after it was unloaded
  kRetrying,   ///< loading, after it failed: it counts as failed until it is READY
  kReady,      ///< served
  kUnloading,  ///< not served any more; its requests end
  kUnloaded,   ///< on purpose; readiness does not mind it
  kFailed,     ///< could not be loaded, or went with what it needs
};

std::string_view version_state_name(VersionState state) noexcept;
ModelState to_model_state(VersionState state) noexcept;

/// The life of a version as a table: may `from` be followed by `to`?
bool may_follow(VersionState from, VersionState to) noexcept;

}  // namespace atl::models
